"""Utility and leakage of a policy within a horizon: over every belief that can be reached, else simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt._labels import Label
from privopt.measures._sequence_walk import same_beliefs
from privopt.mechanisms._policy_part import Part
from privopt.mechanisms.sequence_policy import SequencePolicy
from privopt.problems._observation import Floats
from privopt.problems._sequence_releases import Release, releases

if TYPE_CHECKING:
    from privopt.problems.sequence_information_privacy import SequenceInformationPrivacy

Integers: TypeAlias = NDArray[np.int64]

QUICK = frozenset(
    (
        "closed-form",
        "constant",
        "published",
        "randomised-response",
        "randomised-response-double",
        "randomised-response-calibrated",
        "temporal-randomised-response",
        "threshold-smoothing",
    )
)
"""Rules that are formulas. Others solve a programme for every belief, so fewer beliefs are read."""

MAX_CELLS = 2**23
"""Of all kernels that are read together, about 3 s."""
MAX_BELIEFS = 100_000
SLOW_SECONDS = 3.0
USERS = 4096
SEED = 20260101


@dataclass
class Reading:
    """What was read so far; utility is minus the mean distortion of a letter."""

    utility: float = 0.0
    leakage: float = 0.0
    worst: tuple[Label, ...] = ()
    where: str = ""
    exact: bool = True
    standard_error: float = 0.0
    costs: list[float] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Table:
    """Kernels (M, n, m) in floats, the beliefs over what they read (M, n) and their output laws (M, m)."""

    release: Release
    part: Part
    inputs: Floats
    kernels: Floats
    law: Floats

    @property
    def distortion(self) -> Floats:
        """Expected distortion of a letter, for each belief."""
        return np.asarray(np.einsum("un,unm,nm->u", self.inputs, self.kernels, self.release.setting.cost))

    def note_leakage(self, reading: Reading) -> None:
        """Keep the worst pair if it is worse than what was known."""
        real = (self.inputs > 0)[:, :, None] & (self.law > 0)[:, None, :]
        over = np.where(self.law > 0, self.law, 1.0)[:, None, :]
        with np.errstate(divide="ignore"):
            told = np.where(real, np.abs(np.log(np.where(real, self.kernels, 1.0) / over)), 0.0)
        at = int(told.argmax())
        found = float(told.reshape(-1)[at]) / self.release.length
        if found > reading.leakage:
            _, x, y = np.unravel_index(at, told.shape)
            setting = self.release.setting
            reading.leakage = found
            reading.worst = (setting.inputs[int(x)], setting.outputs[int(y)])
            reading.where = f"released at letter {self.release.begin}"


def read(problem: SequenceInformationPrivacy, policy: SequencePolicy) -> Reading:
    """Utility and leakage: exact where few beliefs are in reach, else simulated with a fixed seed."""
    return _all_beliefs(problem, policy) or _simulated(problem, policy)


def _table(release: Release, policy: SequencePolicy, beliefs: Floats) -> Table:
    part = policy.part(release.length)
    inputs = part.filter.inputs(beliefs, release.begin)
    inputs = inputs / inputs.sum(axis=1, keepdims=True)
    weights = part.weights(beliefs, release.begin)
    kernels = weights / float(weights[0, 0].sum())
    return Table(release, part, inputs, kernels, np.asarray((inputs[:, None, :] @ kernels)[:, 0]))


def affordable(policy: SequencePolicy, cells: int) -> int:
    """How many beliefs to ask a rule about: as many as take about 3 s where it solves a programme of so many cells.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> affordable(SequencePolicy(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1.0), 4)
    100000
    """
    if policy.rule in QUICK:
        return max(1, min(MAX_BELIEFS, MAX_CELLS // cells))
    return max(4, min(600, int(SLOW_SECONDS / (0.005 + 4e-5 * cells + 8e-9 * cells**2))))


def _cells(release: Release) -> int:
    return len(release.setting.inputs) * len(release.setting.outputs)


def _all_beliefs(problem: SequenceInformationPrivacy, policy: SequencePolicy) -> Reading | None:
    """Breadth first, beliefs that agree to 13 digits made one; None if there are too many."""
    reading, seen = Reading(), 0
    most = affordable(policy, _cells(next(releases(problem))))
    beliefs: Floats = np.array([policy.start().belief])
    mass: Floats = np.ones(1)
    for release in releases(problem):
        seen += len(beliefs)
        if seen > most:
            return None
        table = _table(release, policy, beliefs)
        table.note_leakage(reading)
        reading.costs.append(release.length * float(mass @ table.distortion))
        if release.begin + release.length < problem.horizon:
            users, outputs = np.nonzero(table.law > 0)
            if len(users) * _cells(release) > 8 * MAX_CELLS:
                return None
            share = mass[users] * table.law[users, outputs]
            moved = _moved(table, beliefs, users, outputs)
            first, which = same_beliefs(moved)
            beliefs = moved[first]
            mass = np.bincount(which, weights=share).astype(np.float64)
    reading.utility = -math.fsum(reading.costs) / problem.horizon
    return reading


def _moved(table: Table, beliefs: Floats, users: Integers, outputs: Integers) -> Floats:
    columns = table.kernels[users, :, outputs]
    return table.part.filter.after(beliefs[users], columns, table.release.begin)


def _simulated(problem: SequenceInformationPrivacy, policy: SequencePolicy) -> Reading:
    """Releases drawn from their own law; the distortion of each is its mean at the belief."""
    reading, rng = Reading(exact=False), np.random.default_rng(SEED)
    users = _users(problem, policy)
    beliefs, total = np.repeat([policy.start().belief], users, axis=0), np.zeros(users)
    for table in _walk(problem, policy, beliefs, rng):
        table.note_leakage(reading)
        total += table.release.length * table.distortion
    total /= problem.horizon
    reading.utility = -float(total.mean())
    reading.standard_error = float(total.std(ddof=1) / math.sqrt(users))
    return reading


def _walk(
    problem: SequenceInformationPrivacy, policy: SequencePolicy, beliefs: Floats, rng: np.random.Generator
) -> Iterator[Table]:
    everybody: Integers = np.arange(len(beliefs), dtype=np.int64)
    for release in releases(problem):
        table = _table(release, policy, beliefs)
        yield table
        if release.begin + release.length < problem.horizon:
            sums = np.cumsum(table.law, axis=1)
            drawn = (sums <= (rng.random(len(beliefs)) * sums[:, -1])[:, None]).sum(axis=1)
            beliefs = _moved(table, beliefs, everybody, drawn)


def _users(problem: SequenceInformationPrivacy, policy: SequencePolicy) -> int:
    """How many sequences to simulate: bounded in memory and in work."""
    cells = _cells(next(releases(problem)))
    count = -(-problem.horizon // problem.batch)
    most = USERS if policy.rule in QUICK else affordable(policy, cells) // count
    return max(2, min(most, 2**20 // cells, max(8, MAX_CELLS // (count * cells))))

"""Utility and leakage of a policy as releases that are drawn with a fixed seed show them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privopt.arrays import Floats
from privopt.files.labels import Label
from privopt.mechanisms.policy.fixed import means, total
from privopt.mechanisms.policy.part import Part
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy.data import Release, SequenceData
from privopt.problems.sequence_information_privacy.reach import affordable, cells_of

USERS = 4096
DRAWN_CELLS = 2**19
"""Cells of all kernels that are drawn from, about 0.4 s; of large ones at most so many times :data:`LEAST_USERS`."""
LEAST_USERS, LEAST_DRAWN = 8, 16
LETTERS = 192
"""Releases of a chain with equal steps that are drawn at most."""
SEED = 20260101


@dataclass
class Reading:
    """What was read; utility is minus the mean distortion of a letter."""

    utility: float = 0.0
    leakage: float = 0.0
    worst: tuple[Label, ...] = ()
    where: str = ""
    exact: bool = True
    standard_error: float = 0.0


def asked(problem: SequenceData, policy: SequencePolicy) -> tuple[float, float]:
    """How many beliefs a rule that solves a program is asked about until its kernels are written down, and simulated.

    The second number is 0 where the first kernels are all that there are; both are where the rule is quick.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
    >>> problem = SequenceInformationPrivacy(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.5, horizon=6)
    >>> asked(problem, problem.answer("closed-form")), asked(problem, SequencePolicy(problem.chain, 0.5, rule="structure-lp"))
    ((0.0, 0.0), (63.0, 0.0))
    """
    if policy.cost.quick:
        return 0.0, 0.0
    release = next(problem.releases())
    cells, outputs = cells_of(release), len(release.setting.outputs)
    releases = -(-problem.span // problem.batch)
    beliefs = sum(float(outputs) ** min(i, 20) for i in range(min(releases, 20)))
    most = affordable(policy, cells)
    if beliefs <= most:
        return beliefs, 0.0
    return float(most), float(_users(problem, policy) * min(releases, _drawn(problem, policy)))


@dataclass(frozen=True, eq=False)
class Table:
    """Kernels (M, n, m) in floats, the beliefs over what they read (M, n) and their output distributions (M, m)."""

    release: Release
    part: Part
    inputs: Floats
    kernels: Floats
    marginal: Floats

    @property
    def distortion(self) -> Floats:
        """Expected distortion of a letter, for each belief."""
        return total(self.inputs * total(self.kernels * self.release.setting.cost))

    def note_leakage(self, reading: Reading) -> None:
        """Keep the worst pair if it is worse than what was known."""
        real = (self.inputs > 0)[:, :, None] & (self.marginal > 0)[:, None, :]
        over = np.where(self.marginal > 0, self.marginal, 1.0)[:, None, :]
        with np.errstate(divide="ignore"):
            sizes = np.where(real, np.abs(np.log(np.where(real, self.kernels, 1.0) / over)), 0.0)
        at = int(sizes.argmax())
        leakage = float(sizes.reshape(-1)[at]) / self.release.length
        if leakage > reading.leakage:
            _, x, y = np.unravel_index(at, sizes.shape)
            setting = self.release.setting
            reading.leakage = leakage
            reading.worst = (setting.inputs[int(x)], setting.outputs[int(y)])
            reading.where = f"released at letter {self.release.begin}"


def _table(release: Release, policy: SequencePolicy, beliefs: Floats) -> Table:
    part = policy.part(release.length)
    inputs = part.filter.inputs(beliefs, release.begin)
    inputs = inputs / total(inputs)[:, None]
    weights = part.weights(beliefs, release.begin)
    kernels = weights / float(weights[0, 0].sum())
    return Table(release, part, inputs, kernels, means(inputs, kernels))


@lru_cache(maxsize=8)
def simulated(problem: SequenceData, policy: SequencePolicy) -> Reading:
    """Releases drawn from their own distribution; the distortion of each is its mean at the belief.

    Of a long horizon with equal steps a beginning is drawn, whose second half stands for what follows.
    """
    reading, rng = Reading(exact=False), np.random.default_rng(SEED)
    users = _users(problem, policy)
    beliefs, spent = np.repeat([policy.start().belief], users, axis=0), np.zeros(users)
    drawn_letters = problem.span
    if problem.chain.homogeneous:
        drawn_letters = min(drawn_letters, _drawn(problem, policy) * problem.batch)
    later = (problem.span - drawn_letters) / (drawn_letters - drawn_letters // 2)
    for release in problem.releases():
        if release.begin >= drawn_letters:
            break
        table = _table(release, policy, beliefs)
        table.note_leakage(reading)
        settled = release.begin >= drawn_letters // 2
        share = float(settled) if problem.lasting else 1.0 + later * settled
        spent += share * release.length * table.distortion
        if release.begin + release.length < drawn_letters:
            sums = np.cumsum(table.marginal, axis=1)
            drawn = (sums <= (rng.random(users) * sums[:, -1])[:, None]).sum(axis=1)
            columns = table.kernels[np.arange(users), :, drawn]
            beliefs = table.part.filter.after(beliefs, columns, release.begin)
    spent /= drawn_letters - drawn_letters // 2 if problem.lasting else problem.horizon
    reading.utility = -float(spent.mean())
    reading.standard_error = float(spent.std(ddof=1) / math.sqrt(users))
    return reading


def _drawn(problem: SequenceData, policy: SequencePolicy) -> int:
    """How many releases of a chain with equal steps are drawn."""
    cells = cells_of(next(problem.releases()))
    if policy.cost.quick:
        return min(LETTERS, max(LEAST_DRAWN, DRAWN_CELLS // cells))
    return max(LEAST_DRAWN, affordable(policy, cells) // 2)


def _users(problem: SequenceData, policy: SequencePolicy) -> int:
    """How many sequences to simulate: bounded in memory and in work."""
    cells = cells_of(next(problem.releases()))
    count = -(-problem.span // problem.batch)
    count = min(count, _drawn(problem, policy)) if problem.chain.homogeneous else count
    most = USERS if policy.cost.quick else affordable(policy, cells) // count
    return max(2, min(most, 2**20 // cells, max(LEAST_USERS, DRAWN_CELLS // (count * cells))))

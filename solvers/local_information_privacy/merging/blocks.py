"""Blocks of merged observations: what they say of the secret, whether that is allowed, what they are worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.core.exact import exp_at_least
from privopt.core.solver import Proposal
from privopt.errors import InvalidMechanism
from privopt.mechanisms import Merging
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.data import CURVED, FURTHER_ROWS
from privopt.problems.local_information_privacy.divergences import Column, of_moves
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import ANALYTIC

HANDLED = frozenset({FURTHER_ROWS, CURVED})
"""What mergings take beyond two bounds on all lifts: each block is judged by itself."""

BAND = 1e-12
"""Lifts within this of a limit, relatively, are compared with it in integers."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of the n observations of positive probability, each a row of booleans, shape (m, n)."""

    problem: LocalInformationPrivacy

    @cached_property
    def support(self) -> NDArray[np.int64]:
        """Positions of the observations."""
        return self.problem.observation.support

    @cached_property
    def size(self) -> int:
        """Number n of observations."""
        return len(self.support)

    @cached_property
    def joint(self) -> Floats:
        """P(w, s), shape (n, n_s), without impossible secrets."""
        table = self.problem.observation.leaking.table[:, self.support]
        return np.ascontiguousarray(table[table.sum(axis=1) > 0].T)

    @cached_property
    def seen(self) -> Floats:
        """P(w, x), shape (n, n_x); one column P(w) where W is X, whose blocks are worth -P ln P."""
        observed = self.problem.observation
        if observed.useful is None:
            return observed.p_w[self.support][:, None]
        table = observed.useful.table[:, self.support]
        return np.ascontiguousarray(table[table.sum(axis=1) > 0].T)

    @cached_property
    def _prior(self) -> Floats:
        return np.asarray(self.joint.sum(axis=0))

    @cached_property
    def _useful(self) -> Floats:
        return np.asarray(self.seen.sum(axis=0))

    @cached_property
    def singles(self) -> Bools:
        """Every observation on its own, shape (n, n)."""
        return np.eye(self.size, dtype=bool)

    @cached_property
    def _weights(self) -> NDArray[np.object_]:
        """Integers proportional to the distribution, shape (n, n_s)."""
        joint = self.problem.observation.leaking
        table = np.array(joint.exact.weights, dtype=object).reshape(joint.table.shape)[:, self.support]
        return np.asarray(table[[sum(row) > 0 for row in table.tolist()]].T)

    @cached_property
    def _totals(self) -> tuple[list[int], int]:
        """Their sums by secret, and in all."""
        rows = [int(w) for w in self._weights.sum(axis=0)]
        return rows, sum(rows)

    @cached_property
    def _levels(self) -> Floats:
        """(lower, upper) of the possible secrets, shape (n_s, 2)."""
        problem = self.problem
        return np.array([problem.levels(s) for s, row in enumerate(problem.table) if any(row)])

    def worth_of(self, sums: Floats) -> Floats:
        """What blocks add to I(X;Y), nats, from their P(B, x), shape (m, n_x)."""
        mass = sums.sum(axis=1)
        if self.problem.observation.useful is None:
            return np.asarray(-mass * np.log(np.where(mass > 0, mass, 1.0)))
        product = mass[:, None] * self._useful[None, :]
        logs = np.log(np.where(sums > 0, sums, 1.0) / np.where(sums > 0, product, 1.0))
        return np.asarray((sums * logs).sum(axis=1))

    def worth(self, members: Bools) -> Floats:
        """What blocks add to I(X;Y), nats, shape (m,)."""
        return self.worth_of(sums(members, self.seen))

    def excess_of(self, sums: Floats) -> Floats:
        """By how much the cells of blocks exceed a limit, relatively (> 0: broken), from their P(B, s), (m, n_s).

        For LDP one column: the spread of each block.
        """
        problem = self.problem
        expected = np.maximum(sums.sum(axis=1), 1e-300)[:, None] * self._prior[None, :]
        lifts = np.divide(sums, expected, out=np.zeros_like(sums), where=expected > 0)
        if problem.notion == "ldp":
            return _spread(lifts, problem.budget)
        if problem.measured and problem.beyond:
            prior, mass = self._prior[:, None] / self._prior.sum(), np.maximum(sums.sum(axis=1), 1e-300)
            moved = (sums / mass[:, None]).T - prior
            return np.asarray(of_moves(problem.notion, moved, prior[:, 0]) / problem.budget - 1.0)[:, None]
        excess = np.full(sums.shape, -1.0)
        lower, upper = self._levels.T
        if min(upper) < math.inf:
            excess = lifts * np.exp(-upper) - 1.0
        if min(lower) < math.inf:
            with np.errstate(over="ignore"):  # -inf is far within a limit
                below = 1.0 - lifts * np.exp(np.minimum(lower, 700.0))
            excess = np.maximum(excess, np.where(lower < math.inf, below, -1.0))
        return excess

    def broken(self, members: Bools) -> Bools:
        """Which cells of blocks exceed a limit, decided in integers where floats do not tell; as ``excess_of``."""
        return self._decided(sums(members, self.joint), lambda row: np.flatnonzero(members[row]))

    @cached_property
    def broken_alone(self) -> Bools:
        """Which cells of single observations exceed a limit; as ``broken``."""
        return self._decided(self.joint, lambda row: np.array([row]))

    def broken_groups(self, groups: Sequence[NDArray[np.int64]]) -> Bools:
        """As ``broken``, for blocks given by the places of their observations."""
        return self._decided(summed(groups, self.joint), lambda row: groups[row])

    def _decided(self, table: Floats, members: Callable[[int], NDArray[np.int64]]) -> Bools:
        """Which cells of blocks with these P(B, s) exceed a limit."""
        excess = self.excess_of(table)
        broken = np.asarray(excess > BAND)
        for row in np.flatnonzero((np.abs(excess) <= BAND).any(axis=1)).tolist():
            weights = [int(w) for w in self._weights[members(row)].sum(axis=0)]
            near = np.flatnonzero(np.abs(excess[row]) <= BAND).tolist()
            for s in near:
                broken[row, s] = self._breaks(weights, s)
        return broken

    def allowed(self, members: Bools) -> Bools:
        """Which blocks keep every bound, shape (m,); some at a time, as there may be thousands of secrets."""
        step = max(1, CELLS // self.joint.shape[1])
        parts = [self.broken(members[i : i + step]).any(axis=1) for i in range(0, len(members), step)]
        return np.asarray(~np.concatenate([np.zeros(0, dtype=bool), *parts]))

    def broken_mass(self, members: Bools) -> Floats:
        """Probability of the pairs (s, block) that break the bounds ("lip" only), shape (m,)."""
        return np.asarray(np.where(self.broken(members), sums(members, self.joint), 0.0).sum(axis=1))

    def keep(self, members: Bools) -> bool:
        """Whether a partition keeps the bounds but for probability delta, exactly."""
        return self._keeps([(self.broken(members), lambda row: members[row])])

    def keep_one(self, block: Bools) -> bool:
        """Whether one block (n,) and all other observations as they are keep the bounds but for probability delta."""
        rest = np.flatnonzero(~block)
        parts = [(self.broken_alone[rest], lambda row: rest[row : row + 1])]
        if block.any():
            parts.append((self.broken(block[None, :]), lambda row: np.flatnonzero(block)))
        return self._keeps(parts)

    def _keeps(self, parts: Sequence[tuple[Bools, Callable[[int], NDArray[Any]]]]) -> bool:
        if self.problem.delta == 0:
            return not any(bool(broken.any()) for broken, _ in parts)
        mass = 0
        for broken, members in parts:
            for row in np.flatnonzero(broken.any(axis=1)).tolist():
                mass += int(self._weights[members(row)].sum(axis=0)[broken[row]].sum())
        return mass <= Fraction(self.problem.delta) * self._totals[1]

    def _breaks(self, sums: Sequence[int], s: int) -> bool:
        if self.problem.notion == "ldp":
            return self._ldp_breaks(sums)
        rows, total = self._totals
        if self.problem.measured:
            return (
                Column(tuple(sums), tuple(rows)).keeps(self.problem.notion, self.problem.budget) is not True
            )
        up, down = sums[s] * total, rows[s] * sum(sums)
        lower, upper = self._levels[s].tolist()
        return (exp_at_least(upper, up, down), exp_at_least(lower, down, up)) != (True, True)

    def _ldp_breaks(self, sums: Sequence[int]) -> bool:
        rows, _ = self._totals
        lifts = sorted((Fraction(a, r), a, r) for a, r in zip(sums, rows, strict=True))
        (_, a, r), (_, b, t) = lifts[-1], lifts[0]
        return exp_at_least(self.problem.budget, a * t, b * r) is not True


def _spread(lifts: Floats, level: float) -> Floats:
    """Largest lift over e^level times the least, minus 1; shape (m, 1)."""
    high, low = lifts.max(axis=1), lifts.min(axis=1)
    if level == math.inf:
        return np.full((len(lifts), 1), -1.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 for an empty block
        ratio = high * math.exp(-level) / low
    return np.where(high > 0, ratio - 1.0, -1.0)[:, None]


Stats = Mapping[str, float | int | str]


def refusal(problem: LocalInformationPrivacy) -> str | None:
    """Why a merging solver does not take a problem, or None."""
    if problem.matrix is not None:
        return "it maximises mutual information, this problem has a distortion"
    if problem.cost is not None:
        return "it maximises mutual information, this problem has a cost of its own"
    return None


DENSE, FULL = 1_000_000, 0.1
"""Entries of a table of blocks up to which it is multiplied as it is, or share of them beyond which a larger one is."""

CELLS = 4_000_000
"""Pairs of a block and a secret that are looked at together."""


def sums(members: Bools, table: Floats) -> Floats:
    """Sums of the rows of a table (n, k) over blocks (m, n), shape (m, k)."""
    if members.size <= DENSE or np.count_nonzero(members) > FULL * members.size:
        return np.asarray(members.astype(np.float64) @ table)
    block, row = np.nonzero(members)
    return _added(block, table[row], len(members))


def summed(groups: Sequence[NDArray[np.int64]], table: Floats) -> Floats:
    """As :func:`sums`, for blocks given by the places of their observations."""
    block = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    return _added(block, table[np.concatenate(groups)], len(groups))


def _added(block: NDArray[np.int64], rows: Floats, count: int) -> Floats:
    added = np.zeros((count, rows.shape[1]))
    np.add.at(added, block, rows)
    return added


def merging(blocks: Blocks, parts: Bools) -> Release:
    """The merging with these blocks, shape (m, n); see :func:`merged`."""
    return merged(blocks, [np.flatnonzero(part) for part in parts])


def merged(blocks: Blocks, groups: Sequence[NDArray[np.int64]]) -> Release:
    """The merging with blocks given by the places of their observations; impossible ones join the most probable block.

    A matrix of zeros and ones where two blocks would be released under one name.
    """
    problem = blocks.problem
    labels = problem.observation.observed
    mass = blocks.joint.sum(axis=1)
    likely = int(np.argmax([mass[group].sum() for group in groups]))
    named = [[labels[w] for w in blocks.support[group].tolist()] for group in groups]
    block_of = np.full(len(labels), likely)
    for i, group in enumerate(groups):
        block_of[blocks.support[group]] = i
    if len(blocks.support) < len(labels):
        named[likely] = [labels[w] for w in np.flatnonzero(block_of == likely).tolist()]
    try:
        return Merging(named, labels)
    except InvalidMechanism:
        return problem.answer(np.eye(len(groups))[block_of])


def proposed(blocks: Blocks, release: Release, stats: Stats) -> Proposal:
    """A proposal with the analytic bound."""
    return Proposal(release, analytic_bound(blocks.problem), ANALYTIC, stats=stats)

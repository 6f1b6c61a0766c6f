"""Candidates for both sides together: local minima over shares of the budget, and pairs of first distances.

Two sides that release the same label early share the budget of the other direction: a share is searched by table, then
solved exactly. Two that release different labels are each left with what the other does not spend: nothing to search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.solvers.redaction.optimal.arms import Answer, Arm
from privopt.solvers.redaction.optimal.plans import GRID, Plan, Trace, crossings, curve_between, pin, scale
from privopt.solvers.redaction.optimal.tables import Table

_COARSE = (1 - np.cos(np.linspace(0, np.pi, 65))) / 2
_FINE = np.linspace(0, 1, 33)
_OFF = 1e-3
_KEPT = 3
_CELLS = 1 << 22  # of a matrix of costs in memory


@dataclass(frozen=True)
class Split:
    """A local minimum over shares: distances, the left side's budget, and how far the minimum may be off."""

    estimate: float
    firsts: tuple[int, int]
    share: float
    low: float
    high: float
    branch: int


def splits(
    left: Arm, right: Arm, tables: tuple[Table, Table], epsilon: float, limit: float, branch: int
) -> Iterator[Split]:
    """Local minima, by table, over all pairs of first distances that just fit the direction spent."""
    dl = np.arange(1, left.count + 1)
    rest = epsilon - left.leaks[0]
    dr = right.first(rest)
    newest = np.concatenate(([True], dr[1:] < dr[:-1]))
    fits = (rest >= 0) & (dr <= right.count) & newest
    for i in np.flatnonzero(fits).tolist():
        pair = (int(dl[i]), int(dr[i]))
        if left.known.spent[pair[0] - 1] + right.known.spent[pair[1] - 1] < limit:
            yield from _minima(left, right, tables, epsilon, pair, branch)


def _total(
    arms: tuple[Arm, Arm],
    tables: tuple[Table, Table],
    epsilon: float,
    pair: tuple[int, int],
    shares: Floats,
) -> Floats:
    costs = []
    for arm, table, first, budget in zip(arms, tables, pair, (shares, epsilon - shares), strict=True):
        cost = arm.cost(table, first, budget)
        # At the very end of the range rounding must not decide whether a side may release everything.
        costs.append(np.where(budget >= arm.leaks[1][first - 1], arm.known.spent[first - 1], cost))
    return costs[0] + costs[1]


def _span(left: Arm, right: Arm, epsilon: float, pair: tuple[int, int]) -> tuple[float, float]:
    """Shares at which neither side has more than it needs to release everything."""
    low = max(0.0, epsilon - float(right.leaks[1][pair[1] - 1]))
    return low, min(epsilon, float(left.leaks[1][pair[0] - 1]))


def _minima(
    left: Arm, right: Arm, tables: tuple[Table, Table], epsilon: float, pair: tuple[int, int], branch: int
) -> Iterator[Split]:
    low, high = _span(left, right, epsilon, pair)
    if low >= high:  # both may release everything: a window
        return
    jumps = (left.jumps(tables[0], pair[0]), epsilon - right.jumps(tables[1], pair[1]))
    grid = np.unique(np.concatenate((low + (high - low) * _COARSE, [high], *jumps)))
    grid = grid[(grid >= low) & (grid <= high)]
    value = _total((left, right), tables, epsilon, pair, grid)
    padded = np.concatenate(([np.inf], value, [np.inf]))
    for i in np.flatnonzero((value <= padded[:-2]) & (value < padded[2:])).tolist():
        a, b = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, len(grid) - 1)])
        finer = np.append(a + (b - a) * _FINE, grid[i])
        fine = _total((left, right), tables, epsilon, pair, finer)
        at = int(np.argmin(fine))
        yield Split(float(fine[at]), pair, float(finer[at]), a, b, branch)


def refine(left: Arm, right: Arm, epsilon: float, split: Split) -> Answer:
    """Solve both sides exactly at a share, then make their marginal costs equal."""
    answer = _at(left, right, epsilon, split)
    changing = max(arm.walk.length - arm.walk.period for arm in (left, right)) == 0
    if changing and split.estimate < answer.cost - _OFF * max(scale(left.walk), scale(right.walk)):
        split = _scan(left, right, epsilon, split)
        answer = _at(left, right, epsilon, split)
    plans, branches = (answer.left, answer.right), answer.branches
    if not (plans[0].probabilities and plans[1].probabilities):
        return answer
    follow = (_Follow(left, plans[0]), _Follow(right, plans[1]))
    share = _balance(follow, epsilon, split)
    if not (follow[0].reaches(share) and follow[1].reaches(epsilon - share)):
        return answer  # pinned at a jump, on the wrong side of it by rounding
    traces = (follow[0].at(share), follow[1].at(epsilon - share))
    better = Answer(follow[0].plan(traces[0]), follow[1].plan(traces[1]), branches)
    return better if better.cost <= answer.cost else answer


def _at(left: Arm, right: Arm, epsilon: float, split: Split) -> Answer:
    plans = (_plan(left, split.firsts[0], split.share), _plan(right, split.firsts[1], epsilon - split.share))
    return Answer(*plans, (split.branch, split.branch))


def _scan(left: Arm, right: Arm, epsilon: float, split: Split) -> Split:
    """Look again over the whole range, exactly: weights that differ much make for steep curves and poor tables."""
    low, high = _span(left, right, epsilon, split.firsts)
    for _ in range(2):
        shares = np.append(np.linspace(low, high, 25), split.share)
        tried = [replace(split, share=float(share)) for share in np.sort(shares)]
        costs = [_at(left, right, epsilon, one).cost for one in tried]
        i = int(np.argmin(costs))
        low, high = tried[max(i - 1, 0)].share, tried[min(i + 1, len(tried) - 1)].share
        split = replace(tried[i], low=low, high=high)
    return split


def _plan(arm: Arm, first: int, budget: float) -> Plan:
    if budget >= arm.leaks[1][first - 1]:
        return Plan(float(arm.known.spent[first - 1]), first)
    return arm.plan(first, budget)


class _Follow:
    """One side's extremal as its budget moves, the distances of its plan held."""

    def __init__(self, arm: Arm, plan: Plan) -> None:
        self._arm, self._first, self._last = arm, plan.first, plan.last
        self._curve = curve_between(arm.walk, plan.first, plan.last, GRID)

    def reaches(self, budget: float) -> bool:
        """Whether the distances of the plan are possible within a budget."""
        return float(self._arm.known.start(self._first, budget)) <= float(self._curve.state.max())

    def at(self, budget: float) -> Trace:
        """The extremal; past the end of the curve the last one, whose costate is huge."""
        state = max(float(self._arm.known.start(self._first, budget)), 1e-13)
        at = crossings(self._curve, state)
        if len(at) == 0:
            at = np.array([0 if state < self._curve.state[0] else len(GRID) - 2])
        i = int(at[np.argmin(self._curve.cost[at])])
        return pin(self._arm.walk, self._first, self._last, float(GRID[i]), float(GRID[i + 1]), state)

    def slope(self, budget: float) -> float:
        return self.at(budget).costate * self._arm.known.start_slope(self._first, budget)

    def plan(self, trace: Trace) -> Plan:
        return Plan(
            float(self._arm.known.spent[self._first - 1]) + trace.cost, self._first, trace.probabilities
        )


def _balance(follow: tuple[_Follow, _Follow], epsilon: float, split: Split) -> float:
    from scipy.optimize import minimize_scalar, root_scalar

    def slope(share: float) -> float:
        return follow[0].slope(share) - follow[1].slope(epsilon - share)

    for part in (1 / 16, 1.0):
        half = (split.high - split.low) * part
        low, high = max(split.low, split.share - half), min(split.high, split.share + half)
        if slope(low) < 0 < slope(high):
            return float(root_scalar(slope, bracket=(low, high), method="brentq", xtol=1e-13).root)

    def total(share: float) -> float:
        return follow[0].at(share).cost + follow[1].at(epsilon - share).cost

    return float(minimize_scalar(total, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).x)


@dataclass(frozen=True)
class Pair:
    """First distances of a left and a right arm, and what they cost by table."""

    estimate: float
    firsts: tuple[int, int]
    branch: int


def pairs(
    left: Arm,
    right: Arm,
    tables: tuple[Table, Table],
    epsilon: float,
    limit: float,
    branch: int,
    deadline: Callable[[], float],
) -> Iterator[Pair]:
    """For every left distance the best right ones, in blocks, to bound the memory, until time is up.

    The left arm's first release leaves the right arm ``epsilon - leak`` of the direction it controls, and the
    other way round.
    """
    after_left, after_right = epsilon - left.leaks[0], epsilon - right.leaks[0]
    lefts = np.flatnonzero((after_left >= 0) & (left.known.spent[:-1] < limit)) + 1
    rights = np.flatnonzero((after_right >= 0) & (right.known.spent[:-1] < limit)) + 1
    if not len(lefts) or not len(rights):
        return
    rows = max(1, _CELLS // len(rights))
    for begin in range(0, len(lefts), rows):
        block = lefts[begin : begin + rows]
        spent = left.known.spent[block - 1][:, None] + right.known.spent[rights - 1]
        if not (spent < limit).any():
            return
        cost = np.full(spent.shape, np.inf)
        for i, d in enumerate(block.tolist()):
            cost[i] = left.cost(tables[0], d, after_right[rights - 1])
            if deadline() <= 0:
                return
        for j, d in enumerate(rights.tolist()):
            cost[:, j] += right.cost(tables[1], d, after_left[block - 1])
            if deadline() <= 0:
                return
        cost[spent >= limit] = np.inf
        yield from _cheapest(cost, block, rights, branch)


def _cheapest(cost: Floats, lefts: NDArray[np.intp], rights: NDArray[np.intp], branch: int) -> Iterator[Pair]:
    for i, row in enumerate(cost):
        for j in np.argsort(row)[:_KEPT].tolist():
            if np.isfinite(row[j]):
                yield Pair(float(row[j]), (int(lefts[i]), int(rights[j])), branch)


def solve_pair(left: Arm, right: Arm, epsilon: float, pair: Pair, branches: tuple[int, int]) -> Answer:
    """Both sides exactly."""
    dl, dr = pair.firsts
    lefts = left.plan(dl, epsilon - float(right.leaks[0][dr - 1]))
    return Answer(lefts, right.plan(dr, epsilon - float(left.leaks[0][dl - 1])), branches)

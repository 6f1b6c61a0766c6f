"""Both sides release the same label early: how to share the other direction's budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from privopt.solvers.redaction._arms import Answer, Arm
from privopt.solvers.redaction._golden import golden_minimum
from privopt.solvers.redaction._one_side import Plan, crossings, pin
from privopt.solvers.redaction._sweep import GRID, Curve, Trace, curve_between, scale
from privopt.solvers.redaction._tables import Table

_COARSE = (1 - np.cos(np.linspace(0, np.pi, 65))) / 2
_FINE = np.linspace(0, 1, 33)
_OFF = 1e-3


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
    shares: np.ndarray,
) -> np.ndarray:
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
        self._curve: Curve = curve_between(arm.walk, plan.first, plan.last, GRID)

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
    from scipy.optimize import root_scalar

    def slope(share: float) -> float:
        return follow[0].slope(share) - follow[1].slope(epsilon - share)

    for part in (1 / 16, 1.0):
        half = (split.high - split.low) * part
        low, high = max(split.low, split.share - half), min(split.high, split.share + half)
        if slope(low) < 0 < slope(high):
            return float(root_scalar(slope, bracket=(low, high), method="brentq", xtol=1e-13).root)

    def total(share: float) -> float:
        return follow[0].at(share).cost + follow[1].at(epsilon - share).cost

    return golden_minimum(total, low, high, 1e-9)

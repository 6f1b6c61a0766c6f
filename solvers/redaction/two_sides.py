"""The optimal local redaction mechanism of a binary chain with one private record.

Given the private record, the two sides' outputs are independent, so their leakages add by direction: a left side
with budgets (c0, c1) leaves (epsilon - c0, epsilon - c1) to the right. A side releases one label early, from a
distance that spends a fixed part of one direction. Either one side is redacted for good, or both release the
same label early (share the other direction), or they release different labels (each is left with what the other
does not spend: nothing to search). The published mechanism is 3R: Massny, Bitar, Ye, El Rouayheb, "Between Close
Enough to Reveal and Far Enough to Protect", Section IV; different labels on the two sides are not considered there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.problems.redaction.side import Side, Walk, relabel
from privopt.solvers.redaction._arms import Answer, Arm, prepare
from privopt.solvers.redaction._golden import golden_minimum
from privopt.solvers.redaction._one_side import Plan, crossings, pin, redact_all
from privopt.solvers.redaction._sweep import GRID, Curve, Trace, curve_between, scale
from privopt.solvers.redaction._tables import Table, tabulate

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


_KEPT = 3
_CELLS = 1 << 22  # of a matrix of costs in memory


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


Arms = tuple[tuple[Arm, Arm], tuple[Arm, Arm]]
_POLISHED = 40
_STALLED = 6


@dataclass(frozen=True)
class Stats:
    """How the answer was found.

    Parameters
    ----------
    cost
        Expected weighted redactions on both sides.
    form
        See :attr:`Answer.form`.
    candidates, polished
        Candidates ranked by table, and how many of them were solved exactly.
    complete
        Whether every candidate was looked at in time.
    """

    cost: float
    form: str
    candidates: int = 0
    polished: int = 0
    complete: bool = True


def best_mechanism(
    left: Side, right: Side, epsilon: float, deadline: Callable[[], float]
) -> tuple[Floats, Floats, Stats]:
    """Redaction probabilities by distance and value that cost least while leaking at most ``epsilon``.

    Parameters
    ----------
    left, right
        The two sides of the private record.
    epsilon
        Budget in nats, at least 0.
    deadline
        Seconds left; once it is not positive, the best mechanism so far is returned.
    """
    walks = (relabel(left), relabel(right))
    if epsilon == np.inf:
        answer, stats = Answer(Plan(0.0, 1), Plan(0.0, 1)), Stats(0.0, "window")
    elif epsilon == 0:
        answer = Answer(redact_all(walks[0]), redact_all(walks[1]))
        stats = Stats(answer.cost, "window")
    else:
        answer, stats = _search(walks, epsilon, deadline)
    chosen = [walk.flipped() if branch else walk for walk, branch in zip(walks, answer.branches, strict=True)]
    return spread(chosen[0], answer.left, left.length), spread(chosen[1], answer.right, right.length), stats


def spread(walk: Walk, plan: Plan, length: int) -> Floats:
    """Redaction probabilities ``(length, 2)`` of a plan, in the original labels."""
    redaction = np.zeros((length, 2))
    redaction[: min(plan.last, walk.length)] = 1
    for distance, probability in enumerate(plan.probabilities, plan.first):
        redaction[distance - 1, int(walk.swapped[walk.index(distance)])] = probability
    return redaction


def _search(walks: tuple[Walk, Walk], epsilon: float, deadline: Callable[[], float]) -> tuple[Answer, Stats]:
    near, best = prepare(walks, epsilon)
    arms = ((near[0], near[0].flipped()), (near[1], near[1].flipped()))
    best = min((best, *_one_sided(arms, epsilon, best.cost)), key=lambda answer: answer.cost)
    if min(walk.length for walk in walks) == 0 or best.cost <= 0:
        return best, Stats(best.cost, best.form)
    candidates, complete = _ranked(arms, epsilon, best.cost, deadline)
    polished, worst, stalled = 0, 1e-9, 0
    for candidate in candidates:
        # Neighbouring first distances lead to one mechanism (starting early is allowed to do nothing), so
        # several that bring nothing are the same answer again.
        if candidate.estimate - 2 * worst >= best.cost or stalled >= _STALLED:
            break
        if polished >= _POLISHED or deadline() <= 0:
            complete = False
            break
        answer = _solve(arms, epsilon, candidate)
        polished, worst = polished + 1, max(worst, candidate.estimate - answer.cost)
        stalled = 0 if answer.cost < best.cost * (1 - 1e-11) else stalled + 1
        best = min(best, answer, key=lambda known: known.cost)
    return best, Stats(best.cost, best.form, len(candidates), polished, complete)


def _one_sided(arms: Arms, epsilon: float, limit: float) -> Iterator[Answer]:
    """One side is redacted for good, the other may spend everything in both directions."""
    for side in (0, 1):
        other = redact_all(arms[1 - side][0].walk)
        for branch, arm in enumerate(arms[side]):
            first = int(arm.first(epsilon))
            if first <= arm.count and other.cost + arm.known.spent[first - 1] < limit:
                plan = arm.plan(first, epsilon, limit - other.cost)
                plans = (plan, other) if side == 0 else (other, plan)
                limit = min(limit, plan.cost + other.cost)
                yield Answer(*plans, (branch, branch))


def _ranked(
    arms: Arms, epsilon: float, limit: float, deadline: Callable[[], float]
) -> tuple[list[Split | Pair], bool]:
    tables = _tables(arms, limit, deadline)
    found: list[Split | Pair] = []
    for branch in (0, 1):
        same = (tables[0][branch], tables[1][branch])
        different = (tables[0][branch], tables[1][1 - branch])
        found += _in_time(splits(arms[0][branch], arms[1][branch], same, epsilon, limit, branch), deadline)
        found += _in_time(
            pairs(arms[0][branch], arms[1][1 - branch], different, epsilon, limit, branch, deadline), deadline
        )
    complete = deadline() > 0 and all(table.complete for side in tables for table in side)
    return sorted(found, key=lambda candidate: candidate.estimate), complete


def _in_time(
    found: Iterator[Split] | Iterator[Pair], deadline: Callable[[], float]
) -> Iterator[Split | Pair]:
    return takewhile(lambda _: deadline() > 0, found)


def _tables(arms: Arms, limit: float, deadline: Callable[[], float]) -> list[list[Table]]:
    """Tables by side and branch; sides with the same steps and weights share those of the longer one."""
    long, short = sorted((0, 1), key=lambda side: -arms[side][0].walk.length)
    tables = {long: [tabulate(arm.walk, limit, deadline) for arm in arms[long]]}
    if _alike(arms[long][0].walk, arms[short][0].walk) and tables[long][0].by_rest:
        tables[short] = tables[long]
    else:
        tables[short] = [tabulate(arm.walk, limit, deadline) for arm in arms[short]]
    return [tables[0], tables[1]]


def _alike(one: Walk, other: Walk) -> bool:
    """Whether rows by rest of one are rows by rest of the other."""
    if one.period != 1 or other.period != 1:
        return False
    same_steps = bool(one.cross == other.cross) and bool(one.back == other.back)
    return same_steps and np.array_equal(one.weights, other.weights)


def _solve(arms: Arms, epsilon: float, candidate: Split | Pair) -> Answer:
    branch = candidate.branch
    if isinstance(candidate, Split):
        return refine(arms[0][branch], arms[1][branch], epsilon, candidate)
    return solve_pair(arms[0][branch], arms[1][1 - branch], epsilon, candidate, (branch, 1 - branch))

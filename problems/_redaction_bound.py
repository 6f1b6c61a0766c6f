"""A proven lower bound on the cost of local redaction in a binary chain with one private record.

Every mechanism costs at least one of finitely many candidates (which side releases which label early, from which
distances), and each candidate at least what tables of :mod:`privopt.problems._redaction_tables` say. Budgets are
enlarged by 1e-12 and states lowered by 1e-12 (relative), so that rounding can only loosen the bound. Nothing here
relies on a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from privopt.problems._redaction_side import Floats, Reach, Side, Walk, relabel
from privopt.problems._redaction_tables import LowerTable, lower_table
from privopt.problems._redaction_window import look_far

Dual = dict[str, float]
_SLACK = 1e-12
_PARTS = 200_000
_CELLS = 1 << 22  # of a matrix of costs in memory
_SECONDS_A_ROW = 4e-3  # of the smallest tables, four of them


@dataclass(frozen=True, eq=False)
class _Arm:
    """One branch of one side, with its table."""

    walk: Walk
    known: Reach
    table: LowerTable

    def cost(self, first: int, budgets: Floats) -> Floats:
        """Lower bound on the side's cost by the budget in the direction that this branch controls."""
        states = self.known.start(first, budgets)
        return float(self.known.spent[first - 1]) + self.table.row(self.walk, first).at(states)


def lower_cost(
    left: Side, right: Side, epsilon: float, target_gap: float, deadline: Callable[[], float]
) -> tuple[float, Dual]:
    """A lower bound on the expected weighted redactions, and what :func:`check` needs to find it again.

    Parameters
    ----------
    left, right, epsilon
        The question.
    target_gap
        Tables are refined until the bound is estimated to be this close to the optimum.
    deadline
        Seconds left; the next refinement is not started when it would not fit.
    """
    rows = int(np.clip(deadline() / 2 / _SECONDS_A_ROW, 20, 2000))
    best, dual = 0.0, Dual(nodes=64, rows=1, share=target_gap / 4)
    previous, size = -np.inf, 128
    while True:
        before = deadline()
        attempt = Dual(nodes=size, rows=rows, share=target_gap / 4)
        try:
            bound = check(left, right, epsilon, attempt, deadline)
        except TimeoutError:
            return best, dual
        if bound > best:
            best, dual = bound, attempt
        # Errors fall with the square of the size, so the last change tells what is left.
        if (
            (bound - previous) / 15 < target_gap / 2
            or size >= 32768
            or deadline() < 5 * (before - deadline())
        ):
            return best, dual
        previous, size = bound, 4 * size


def check(
    left: Side,
    right: Side,
    epsilon: float,
    dual: Dual,
    deadline: Callable[[], float] = lambda: np.inf,
) -> float:
    """The bound that tables of the given size prove.

    Raises
    ------
    TimeoutError
        When no seconds are left by ``deadline`` before it is done.
    """
    walks = (relabel(left), relabel(right))
    if epsilon == np.inf:
        return 0.0
    if epsilon == 0:
        return (walks[0].total + walks[1].total) * (1 - _SLACK)
    epsilon += _SLACK * max(1.0, epsilon)
    known, window = look_far(walks, epsilon)
    arms = tuple(
        tuple(
            _arm(walk, near, dual, window.cost, deadline)
            for walk, near in ((w, k), (w.flipped(), k.flipped()))
        )
        for w, k in zip(walks, known, strict=True)
    )
    best = window.cost
    for side in (0, 1):
        best = min(best, *(walks[1 - side].total + _alone(arm, epsilon) for arm in arms[side]))
    for branch in (0, 1):
        best = min(best, _different(arms[0][branch], arms[1][1 - branch], epsilon, best, deadline))
    for v in (0, 1):
        for part in _same(arms[0][v], arms[1][v], epsilon, best, dual["share"]):
            best = min(best, part)
            if deadline() <= 0:
                raise TimeoutError
    return max(0.0, best * (1 - _SLACK))


def _arm(walk: Walk, known: Reach, dual: Dual, cap: float, deadline: Callable[[], float]) -> _Arm:
    return _Arm(walk, known, lower_table(walk, int(dual["nodes"]), cap, int(dual["rows"]), deadline))


def _alone(arm: _Arm, epsilon: float) -> float:
    first = int(np.searchsorted(-arm.known.leaks[0], -epsilon)) + 1
    if first > len(arm.known.cross):
        return float(arm.known.spent[-1])  # nothing is released among the distances known
    return float(arm.cost(first, np.array([epsilon]))[0])


def _reachable(arm: _Arm, epsilon: float, limit: float) -> list[int]:
    near = (arm.known.leaks[0] <= epsilon) & (arm.known.spent[:-1] < limit)
    return (np.flatnonzero(near) + 1).tolist()


def _different(left: _Arm, right: _Arm, epsilon: float, limit: float, deadline: Callable[[], float]) -> float:
    """Each side is left what the other's first release does not spend; in blocks, to bound the memory."""
    lefts, rights = _reachable(left, epsilon, limit), _reachable(right, epsilon, limit)
    if not (lefts and rights):
        return limit
    after_left = epsilon - left.known.leaks[0][np.array(lefts) - 1]
    after_right = epsilon - right.known.leaks[0][np.array(rights) - 1]
    rows = max(1, _CELLS // len(rights))
    for begin in range(0, len(lefts), rows):
        first = _stack((left.cost(d, after_right) for d in lefts[begin : begin + rows]), deadline)
        part = after_left[begin : begin + rows]
        limit = min(limit, float((first + _stack((right.cost(d, part) for d in rights), deadline).T).min()))
    return limit


def _stack(rows: Iterator[Floats], deadline: Callable[[], float]) -> Floats:
    found = []
    for row in rows:
        found.append(row)
        if deadline() <= 0:
            raise TimeoutError
    return np.array(found)


def _same(left: _Arm, right: _Arm, epsilon: float, limit: float, tolerance: float) -> Iterator[float]:
    """A share of the other direction's budget is split; the pairs that just fit the direction spent suffice."""
    reference, previous = limit, -1
    for dl in _reachable(left, epsilon, limit):
        rest = epsilon - float(left.known.leaks[0][dl - 1])
        dr = int(np.searchsorted(-right.known.leaks[0], -rest)) + 1
        if dr > len(right.known.cross) or dr == previous:
            continue
        previous = dr
        if float(left.known.spent[dl - 1] + right.known.spent[dr - 1]) < reference:
            low = max(0.0, epsilon - float(right.known.leaks[1][dr - 1]))
            high = min(epsilon, float(left.known.leaks[1][dl - 1]))
            bound, reference = _shared((left, right), (dl, dr), epsilon, (low, high), reference, tolerance)
            yield bound


def _shared(
    arms: tuple[_Arm, _Arm],
    firsts: tuple[int, int],
    epsilon: float,
    span: tuple[float, float],
    reference: float,
    tolerance: float,
) -> tuple[float, float]:
    """Least cost over shares in a span, by halving intervals: more budget on either side never costs more.

    Returns the bound and the reference lowered by values met on the way; an interval above it by no more than the
    tolerance below is left alone.
    """
    if span[0] >= span[1]:
        return float(arms[0].known.spent[firsts[0] - 1] + arms[1].known.spent[firsts[1] - 1]), reference
    low, high = np.array([span[0]]), np.array([span[1] + _SLACK])
    settled = np.inf
    while True:
        mine = arms[0].cost(firsts[0], high) + arms[1].cost(firsts[1], epsilon - low + _SLACK)
        middle = (low + high) / 2
        value = arms[0].cost(firsts[0], middle) + arms[1].cost(firsts[1], np.maximum(epsilon - middle, 0.0))
        reference = min(reference, float(value.min()))
        again = (mine < reference - tolerance) & (high - low > 1e-11)
        settled = min(settled, float(mine[~again].min(initial=np.inf)))
        if not again.any() or again.sum() > _PARTS:
            return min(settled, float(mine[again].min(initial=np.inf))), reference
        low, middle, high = low[again], middle[again], high[again]
        low, high = np.concatenate((low, middle)), np.concatenate((middle, high))

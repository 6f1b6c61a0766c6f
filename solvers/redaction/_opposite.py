"""The two sides release different labels early: both budgets are pinned by the two first distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.solvers.redaction._arms import Answer, Arm
from privopt.solvers.redaction._tables import Table

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

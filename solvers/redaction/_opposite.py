"""The two sides release different labels early: both budgets are pinned by the two first distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privopt.solvers.redaction._arms import Answer, Arm
from privopt.solvers.redaction._tables import Table

_KEPT = 3


@dataclass(frozen=True)
class Pair:
    """First distances of a left and a right arm, and what they cost by table."""

    estimate: float
    firsts: tuple[int, int]
    branch: int


def pairs(
    left: Arm, right: Arm, tables: tuple[Table, Table], epsilon: float, limit: float, branch: int
) -> Iterator[Pair]:
    """For every left distance the best right ones.

    The left arm's first release leaves the right arm ``epsilon - leak`` of the direction it controls, and the
    other way round.
    """
    after_left, after_right = epsilon - left.leaks[0], epsilon - right.leaks[0]
    allowed = np.flatnonzero((after_right >= 0) & (right.known.spent[:-1] < limit)) + 1
    for dl in (np.flatnonzero((after_left >= 0) & (left.known.spent[:-1] < limit)) + 1).tolist():
        spent = float(left.known.spent[dl - 1])
        dr = allowed[right.known.spent[allowed - 1] + spent < limit]
        if len(dr) == 0:
            return
        cost = left.cost(tables[0], np.full(len(dr), dl), after_right[dr - 1])
        cost = cost + right.cost(tables[1], dr, np.full(len(dr), after_left[dl - 1]))
        for i in np.argsort(cost)[:_KEPT].tolist():
            yield Pair(float(cost[i]), (dl, int(dr[i])), branch)


def solve_pair(left: Arm, right: Arm, epsilon: float, pair: Pair, branches: tuple[int, int]) -> Answer:
    """Both sides exactly."""
    dl, dr = pair.firsts
    lefts = left.plan(dl, epsilon - float(right.leaks[0][dr - 1]))
    return Answer(lefts, right.plan(dr, epsilon - float(left.leaks[0][dl - 1])), branches)

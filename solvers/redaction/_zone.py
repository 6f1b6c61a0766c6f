"""Which records the joint search changes, and what it may do with each."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._joint import HIDDEN, PARTIAL, WHOLE, Support
from privopt.solvers.redaction._reach import both_sides, influences, possible_values

MAX_RECORDS = 60
"""Most records near the private ones for which a local search is worth its time."""
MAX_OUTSIDE = 200
"""Most records outside the search that a start may leave in sight."""


@dataclass(frozen=True, eq=False)
class Zone:
    """Records whose choice is searched, and the choices of a record."""

    records: list[int]
    choices: list[Support]

    @classmethod
    def of(cls, problem: Redaction, records: list[int]) -> Self:
        """Every set of values where there are few, else single values, all but one, and all."""
        k = problem.chain.k
        sizes = range(1, k + 1) if k <= 4 else (1, k - 1, k)
        sets = [list(s) for size in sizes for s in itertools.combinations(range(k), size)]
        choices = [np.full(k, HIDDEN, np.int8), np.full(k, WHOLE, np.int8)]
        for values in sets:
            choice = np.full(k, HIDDEN, np.int8)
            choice[values] = PARTIAL
            choices.append(choice)
        return cls(records, choices)

    def sees_too_far(self, visible: NDArray[np.bool_]) -> bool:
        """Whether a start hides so much of a long side that every look would walk far along it."""
        outside = visible.copy()
        outside[self.records] = False
        return int(np.count_nonzero(outside)) > MAX_OUTSIDE


def near_records(problem: Redaction, budget: float) -> list[int]:
    """Records that can tell more than a budget of some private one, until there are too many."""
    near: set[int] = set()
    for p in problem.private:
        for side, steps in enumerate(both_sides(problem, p)):
            walk = itertools.islice(steps, MAX_RECORDS + 1)
            told = influences(walk, possible_values(problem, p), budget)
            distances = np.flatnonzero(told.max(axis=1, initial=0.0) > budget) + 1
            near.update((p + distances if side else p - distances).tolist())
        if len(near.difference(problem.private)) > MAX_RECORDS:
            break
    return sorted(near.difference(problem.private))


def searched_records(problem: Redaction) -> list[int]:
    """Records to search: some that may be released whole at first are among them, unless they are too many."""
    widths = (near_records(problem, problem.epsilon / part) for part in (16, 8, 4))
    return next(
        (near for near in widths if len(near) <= MAX_RECORDS), near_records(problem, problem.epsilon / 2)
    )

"""Rows beside what is known of their question: the best objective, the best checked bound, who reached it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from privopt.benchmarks._rows import Row

TOLERANCE = 1e-6
"""An objective counts as the best one if it is within this of it, relative to max(1, |best|)."""
LEAST_GAP = 1e-9
"""Gaps and differences below this are drawn at it."""


class Case(NamedTuple):
    """An instance with a budget: objectives and bounds of one case are comparable."""

    suite: str
    question: str
    instance: str
    budget: float


class Task(NamedTuple):
    """A case asked under the same conditions: times of one task are comparable."""

    case: Case
    seed: int
    time_limit: float


@dataclass(frozen=True)
class Judged:
    """A row with what its case knows.

    Parameters
    ----------
    row : Row
    best : float or None
        Largest objective that a verified row of the case has.
    bound : float or None
        Least finite checked bound that any row of the case has.
    gap : float or None
        The row's own gap; without one, ``bound`` minus the objective; None where nothing bounds the case.
    """

    row: Row
    best: float | None
    bound: float | None
    gap: float | None

    @property
    def case(self) -> Case:
        """Its instance with its budget."""
        return case_of(self.row)

    @property
    def task(self) -> Task:
        """Its case under its conditions."""
        return Task(self.case, self.row.seed, self.row.time_limit)

    @property
    def reached(self) -> bool:
        """Whether it is verified and its objective is at least best − 1e-6 max(1, |best|)."""
        found, best = self.row.objective, self.best
        if not self.row.verified or found is None or best is None:
            return False
        return found >= best - TOLERANCE * max(1.0, abs(best))


def case_of(row: Row) -> Case:
    """The instance and budget of a row."""
    return Case(row.suite, row.question, row.instance, row.budget)


def judged(rows: Sequence[Row]) -> tuple[Judged, ...]:
    """Every row beside what its case knows, in the order given."""
    best = _extreme(((r, r.objective) for r in rows if r.verified), max)
    bound = _extreme(((r, r.bound) for r in rows), min)
    return tuple(
        Judged(r, best.get(case_of(r)), bound.get(case_of(r)), _gap(r, bound.get(case_of(r)))) for r in rows
    )


def _extreme(
    pairs: Iterable[tuple[Row, float | None]], choose: Callable[[float, float], float]
) -> dict[Case, float]:
    found: dict[Case, float] = {}
    for row, value in pairs:
        if value is not None and math.isfinite(value):
            found[case_of(row)] = choose(found.get(case_of(row), value), value)
    return found


def _gap(row: Row, bound: float | None) -> float | None:
    if not row.ok or row.objective is None:
        return None
    if row.gap is not None:
        return row.gap
    return None if bound is None else bound - row.objective


def questions(rows: Iterable[Judged]) -> tuple[str, ...]:
    """The kinds of question, in order of appearance."""
    return tuple(dict.fromkeys(j.row.question for j in rows))


def solvers(rows: Iterable[Judged]) -> tuple[str, ...]:
    """The names of solvers, sorted."""
    return tuple(sorted({j.row.solver for j in rows}))

"""Rows judged against each other, what they violate, and the fields that figures read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from privopt.benchmarks.runner.rows import Row, beyond_rounding

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
        ``bound`` minus the objective of the row: of all solvers of a case to the same bound, whichever of them proved it. The row's own
        gap, to its own bound, is ``row.gap``. None where nothing bounds the case, or the row has no objective.
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
        objective, best = self.row.objective, self.best
        if not self.row.verified or objective is None or best is None:
            return False
        return objective >= best - TOLERANCE * max(1.0, abs(best))


def case_of(row: Row) -> Case:
    """The instance and budget of a row."""
    return Case(row.suite, row.question, row.instance, row.budget)


def judged(rows: Sequence[Row]) -> tuple[Judged, ...]:
    """Every row beside what its case knows, in the order given."""
    best = _extreme(((r, r.objective) for r in rows if r.verified), max)
    bound = _extreme(((r, r.bound) for r in rows if not r.broken), min)
    return tuple(
        Judged(r, best.get(case_of(r)), bound.get(case_of(r)), _gap(r, bound.get(case_of(r)))) for r in rows
    )


def _extreme(
    pairs: Iterable[tuple[Row, float | None]], choose: Callable[[float, float], float]
) -> dict[Case, float]:
    extremes: dict[Case, float] = {}
    for row, value in pairs:
        if value is not None and math.isfinite(value):
            extremes[case_of(row)] = choose(extremes.get(case_of(row), value), value)
    return extremes


def _gap(row: Row, bound: float | None) -> float | None:
    if not row.ok or row.objective is None or bound is None:
        return None
    return bound - row.objective


def excess(one: Judged) -> float:
    """By how much the proposal missed its budget; minus infinity where it was not measured."""
    return -math.inf if one.row.raw_violation is None else one.row.raw_violation


def leaks(one: Judged) -> bool:
    """Whether what came out is over its budget beyond rounding, or a certified claim about it failed."""
    row = one.row
    return row.broken or (row.ok and beyond_rounding(row.violation, row.budget))


Value = str | int | float | bool | None


@dataclass(frozen=True)
class Dataset:
    """Records under names of columns; ``rows`` are the places in the run they were read from, None for others."""

    columns: tuple[str, ...]
    records: tuple[tuple[Value, ...], ...]
    rows: tuple[int, ...] | None = None

    def dictionaries(self) -> list[dict[str, Value]]:
        """As Vega-Lite takes it; infinities become None, because JSON has none."""
        return [
            {name: _finite(value) for name, value in zip(self.columns, record, strict=True)}
            for record in self.records
        ]


def finite(value: float | None) -> bool:
    """Whether there is a number that can be drawn."""
    return value is not None and math.isfinite(value)


def _finite(value: Value) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def encode(value: Value) -> Any:
    """A value for the page's JSON: infinities by name, NaN as None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value

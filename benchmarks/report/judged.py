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
    if not row.ok or row.objective is None:
        return None
    if row.gap is not None:
        return row.gap
    return None if bound is None else bound - row.objective


def questions(rows: Iterable[Judged]) -> tuple[str, ...]:
    """The kinds of problem, in order of appearance."""
    return tuple(dict.fromkeys(j.row.question for j in rows))


def solvers(rows: Iterable[Judged]) -> tuple[str, ...]:
    """The names of solvers, sorted."""
    return tuple(sorted({j.row.solver for j in rows}))


@dataclass(frozen=True)
class Violations:
    """Counts and worst cases of one solver on one problem.

    Parameters
    ----------
    proposed : int
        Mechanisms that were measured before repair.
    over : int
        Those that missed the budget beyond rounding; ``worst`` is the largest violation, None without one.
    withheld : int
        Those that could not be repaired: no mechanism came out.
    after : int
        Mechanisms that came out and are over the budget, or whose certificate failed: must be zero.
    repaired : int
        Mechanisms that were changed; ``lost`` is the largest utility this took, None where none is known.
    """

    question: str
    solver: str
    proposed: int
    over: int
    worst: float | None
    withheld: int
    after: int
    repaired: int
    lost: float | None


def excess(one: Judged) -> float:
    """By how much the proposal missed its budget; minus infinity where it was not measured."""
    return -math.inf if one.row.raw_violation is None else one.row.raw_violation


def leaks(one: Judged) -> bool:
    """Whether what came out is over its budget beyond rounding, or a certified claim about it failed."""
    row = one.row
    return row.broken or (row.ok and beyond_rounding(row.violation, row.budget))


def violations(rows: Sequence[Judged]) -> tuple[Violations, ...]:
    """A line a problem and solver that proposed a mechanism."""
    by_solver: dict[tuple[str, str], list[Judged]] = {}
    for j in rows:
        if j.row.ok or j.row.raw_violation is not None:
            by_solver.setdefault((j.row.question, j.row.solver), []).append(j)
    return tuple(_line(*key, own) for key, own in sorted(by_solver.items()))


def _line(question: str, solver: str, own: Sequence[Judged]) -> Violations:
    over = [j for j in own if j.row.over_budget]
    lost = [j.row.utility_lost for j in own if j.row.utility_lost is not None]
    return Violations(
        question,
        solver,
        proposed=sum(j.row.raw_violation is not None for j in own),
        over=len(over),
        worst=max((excess(j) for j in over), default=None),
        withheld=sum(not j.row.ok for j in over),
        after=sum(leaks(j) for j in own),
        repaired=sum(j.row.repaired for j in own),
        lost=max(lost, default=None),
    )


Value = str | int | float | bool | None

FIELDS: dict[str, Callable[[Judged], Value]] = {
    "question": lambda j: j.row.question,
    "family": lambda j: j.row.family,
    "instance": lambda j: j.row.instance,
    "size": lambda j: j.row.size,
    "solver": lambda j: j.row.solver,
    "budget": lambda j: j.row.budget,
    "seed": lambda j: j.row.seed,
    "time_limit": lambda j: j.row.time_limit,
    "suite": lambda j: j.row.suite,
    "objective": lambda j: j.row.objective,
    "best": lambda j: j.best,
    "bound": lambda j: j.bound,
    "gap": lambda j: j.gap,
    "drawn_gap": lambda j: None if j.gap is None else max(j.gap, LEAST_GAP),
    "own_bound": lambda j: j.row.gap is not None,
    "verified": lambda j: j.row.verified,
    "reached": lambda j: j.reached,
    "seconds": lambda j: j.row.seconds,
    "peak_memory": lambda j: j.row.peak_memory,
    "leakage": lambda j: j.row.leakage,
    "raw_leakage": lambda j: j.row.raw_leakage,
    "raw_violation": lambda j: j.row.raw_violation,
    "repaired": lambda j: j.row.repaired,
    "utility_lost": lambda j: j.row.utility_lost,
    "attack_accuracy": lambda j: j.row.attack_accuracy,
}
"""Columns that a figure may read off a row."""


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


def of_rows(rows: Sequence[Judged], keep: Callable[[Judged], bool], columns: Iterable[str]) -> Dataset:
    """Columns of the rows that are kept.

    Parameters
    ----------
    rows : sequence of Judged
        All rows of the run: places are counted in it.
    keep : callable
    columns : iterable of str
        Keys of :data:`FIELDS`.
    """
    names = tuple(columns)
    places = tuple(i for i, j in enumerate(rows) if keep(j))
    records = tuple(tuple(FIELDS[name](rows[i]) for name in names) for i in places)
    return Dataset(names, records, places)


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

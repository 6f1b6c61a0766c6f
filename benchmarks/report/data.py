"""The data of figures: columns of the run's rows, or records of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from privopt.benchmarks.report.judged import LEAST_GAP, Judged

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

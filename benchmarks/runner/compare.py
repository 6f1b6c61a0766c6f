"""What changed between two runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from privopt.benchmarks.runner.folder import read_run
from privopt.benchmarks.runner.rows import Row
from privopt.cli.show import emit, table
from privopt.files.text import number

TOLERANCE = 1e-9
"""Objectives and gaps that differ by less, relative to max(1, |objective|), are alike."""

Identity: TypeAlias = tuple[str, str, float, str, int, float]


def identity(row: Row) -> Identity:
    """What was asked, whatever the version: problem, problem, budget, solver, seed, time limit."""
    return (
        row.question,
        row.fingerprint or row.instance,
        row.budget,
        row.solver,
        row.seed,
        row.time_limit,
    )


@dataclass(frozen=True)
class Change:
    """One row in two runs that differ; ``lost`` says that the second is worse."""

    before: Row
    after: Row
    what: str
    lost: bool


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of seconds after / seconds before, over the pairs that both solved."""

    solver: str
    ratio: float
    pairs: int


@dataclass(frozen=True)
class Comparison:
    """What differs between two runs.

    Parameters
    ----------
    pairs : int
        Rows that both have.
    changes : tuple of Change
    ratios : tuple of Ratio
        By solver, in the order of names.
    only_before, only_after : tuple of Row
        Rows that one of them has.
    """

    pairs: int
    changes: tuple[Change, ...]
    ratios: tuple[Ratio, ...]
    only_before: tuple[Row, ...]
    only_after: tuple[Row, ...]

    @property
    def lost(self) -> tuple[Change, ...]:
        """Changes for the worse: a certified answer that is gone, or an objective that fell."""
        return tuple(change for change in self.changes if change.lost)


def compare_rows(before: Iterable[Row], after: Iterable[Row]) -> Comparison:
    """Match the rows of two runs by what was asked."""
    first, second = _by_identity(before), _by_identity(after)
    pairs = [(row, second[key]) for key, row in first.items() if key in second]
    changes = [Change(a, b, what, _lost(a, b)) for a, b in pairs if (what := _difference(a, b))]
    return Comparison(
        len(pairs),
        tuple(changes),
        ratios(pairs),
        tuple(row for key, row in first.items() if key not in second),
        tuple(row for key, row in second.items() if key not in first),
    )


def _by_identity(rows: Iterable[Row]) -> Mapping[Identity, Row]:
    return {identity(row): row for row in rows}


def _difference(a: Row, b: Row) -> str:
    """What changed, in words; empty if nothing did."""
    parts = [f"status {a.status} to {b.status}"] if a.status != b.status else []
    parts += [
        f"{name} {number(x)} to {number(y)}"
        for name, x, y in (("objective", a.objective, b.objective), ("gap", a.gap, b.gap))
        if not _alike(x, y)
    ]
    parts += [
        f"{name} {'lost' if x else 'gained'}"
        for name, x, y in (("certificate", a.certified, b.certified), ("proof", a.verified, b.verified))
        if x != y
    ]
    return ", ".join(parts)


def _alike(x: float | None, y: float | None) -> bool:
    if x is None or y is None:
        return x is y
    return x == y or abs(x - y) <= TOLERANCE * max(1.0, abs(x))


def _lost(a: Row, b: Row) -> bool:
    """Whether a certified answer was lost, or the objective fell."""
    if (a.certified and not b.certified) or (a.verified and not b.verified):
        return True
    if a.objective is None or b.objective is None:
        return a.objective is not None
    return b.objective < a.objective and not _alike(a.objective, b.objective)


def ratios(pairs: Sequence[tuple[Row, Row]]) -> tuple[Ratio, ...]:
    """Time ratios by solver, over pairs in which both have a mechanism and a time."""
    logs: dict[str, list[float]] = defaultdict(list)
    for a, b in pairs:
        if a.ok and b.ok and a.seconds and b.seconds:
            logs[a.solver].append(math.log(b.seconds / a.seconds))
    return tuple(
        Ratio(solver, math.exp(math.fsum(values) / len(values)), len(values))
        for solver, values in sorted(logs.items())
    )


def compare_command(before: Path, after: Path, as_json: bool) -> bool:
    """Print what differs between two runs; True if nothing got worse."""
    comparison = compare_rows(read_run(before)[1], read_run(after)[1])
    if as_json:
        emit(_document(comparison))
    else:
        _print(comparison, before, after)
    return not comparison.lost


def _document(comparison: Comparison) -> dict[str, Any]:
    return {
        "pairs": comparison.pairs,
        "worse": len(comparison.lost),
        "changes": [
            {"before": c.before.to_dict(), "after": c.after.to_dict(), "what": c.what, "worse": c.lost}
            for c in comparison.changes
        ],
        "seconds": [{"solver": r.solver, "ratio": r.ratio, "pairs": r.pairs} for r in comparison.ratios],
        "only_before": [row.to_dict() for row in comparison.only_before],
        "only_after": [row.to_dict() for row in comparison.only_after],
    }


def _print(comparison: Comparison, before: Path, after: Path) -> None:
    print(
        f"{comparison.pairs} rows in both runs; {len(comparison.changes)} differ, {len(comparison.lost)} of them for the worse."
    )
    if comparison.changes:
        table(
            [(*_names(c.before), c.what, "worse" if c.lost else "") for c in comparison.changes],
            ("instance", "budget", "solver", "seed", "change", ""),
        )
    if comparison.ratios:
        print(f"Seconds in {after} over seconds in {before}, geometric means:")
        table(
            [(r.solver, number(r.ratio, 3), r.pairs) for r in comparison.ratios], ("solver", "ratio", "pairs")
        )
    for run, rows in ((before, comparison.only_before), (after, comparison.only_after)):
        if rows:
            print(f"{len(rows)} rows only in {run}: {_sample(rows)}")


def _names(row: Row) -> tuple[object, ...]:
    return row.instance, number(row.budget), row.solver, row.seed


def _sample(rows: Sequence[Row], most: int = 3) -> str:
    said = [f"{r.instance}, budget {number(r.budget)}, {r.solver}, seed {r.seed}" for r in rows[:most]]
    return "; ".join(said) + (" ..." if len(rows) > most else "")

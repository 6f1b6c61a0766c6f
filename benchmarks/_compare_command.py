"""The command that compares two runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privopt._cli_show import emit, table
from privopt._text import number
from privopt.benchmarks._compare import Comparison, compare_rows
from privopt.benchmarks._folder import read_run
from privopt.benchmarks._rows import Row


def compare_command(before: Path, after: Path, as_json: bool) -> bool:
    """Print what differs between two runs; True if nothing got worse."""
    found = compare_rows(read_run(before)[1], read_run(after)[1])
    if as_json:
        emit(_document(found))
    else:
        _print(found, before, after)
    return not found.lost


def _document(found: Comparison) -> dict[str, Any]:
    return {
        "pairs": found.pairs,
        "worse": len(found.lost),
        "changes": [
            {"before": c.before.to_dict(), "after": c.after.to_dict(), "what": c.what, "worse": c.lost}
            for c in found.changes
        ],
        "seconds": [{"solver": r.solver, "ratio": r.ratio, "pairs": r.pairs} for r in found.ratios],
        "only_before": [row.to_dict() for row in found.only_before],
        "only_after": [row.to_dict() for row in found.only_after],
    }


def _print(found: Comparison, before: Path, after: Path) -> None:
    print(
        f"{found.pairs} rows in both runs; {len(found.changes)} differ, {len(found.lost)} of them for the worse."
    )
    if found.changes:
        table(
            [(*_names(c.before), c.what, "worse" if c.lost else "") for c in found.changes],
            ("instance", "budget", "solver", "seed", "change", ""),
        )
    if found.ratios:
        print(f"Seconds in {after} over seconds in {before}, geometric means:")
        table([(r.solver, number(r.ratio, 3), r.pairs) for r in found.ratios], ("solver", "ratio", "pairs"))
    for run, rows in ((before, found.only_before), (after, found.only_after)):
        if rows:
            print(f"{len(rows)} rows only in {run}: {_sample(rows)}")


def _names(row: Row) -> tuple[object, ...]:
    return row.instance, number(row.budget), row.solver, row.seed


def _sample(rows: Sequence[Row], most: int = 3) -> str:
    said = [f"{r.instance}, budget {number(r.budget)}, {r.solver}, seed {r.seed}" for r in rows[:most]]
    return "; ".join(said) + (" ..." if len(rows) > most else "")

"""The table of every run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privopt._solution import Status
from privopt.benchmarks._cells import Cell, Head, Table, quantity, text
from privopt.benchmarks.reporting._judged import Judged
from privopt.benchmarks.reporting._tables import INSTANCE, QUESTION, SOLVER, Line, heads

_NAMES = (
    "size", "budget", "seed", "time limit", "status", "objective", "utility", "leakage", "bound", "gap", "certified", "repaired",
    "utility lost", "s", "cold s", "MiB", "iterations", "stopped because", "libraries",
)  # fmt: skip
_ONCE = ("seed", "time limit")
"""Said once, in the caption, where all runs share them."""


def runs(rows: Sequence[Judged]) -> Table:
    """Every run with why it stopped."""
    header: tuple[Head, ...] = (QUESTION, INSTANCE, SOLVER, *heads(*_NAMES))
    lines = [_line(j) for j in rows]
    same = {i: {text(line[i]) for line in lines} for i in range(len(header))}
    said = [i for i in same if header[i].text in _ONCE and len(same[i]) == 1]
    kept = [i for i in same if i not in said]
    common = "".join(f", {header[i].text} {text(lines[0][i])}" for i in said)
    return Table(
        "runs",
        f"Every run: {len(rows)}{common}",
        tuple(header[i] for i in kept),
        tuple(tuple(line[i] for i in kept) for line in lines),
    )


def _line(j: Judged) -> Line:
    r = j.row
    return (
        r.question,
        r.instance,
        r.solver,
        quantity(r.size, 9),
        quantity(r.budget),
        quantity(r.seed, 9),
        quantity(r.time_limit),
        r.status,
        quantity(r.objective),
        quantity(r.utility),
        quantity(r.leakage),
        quantity(r.bound),
        Cell("no bound", math.nan) if r.ok and r.gap is None else quantity(r.gap, 2),
        _proof(j),
        "yes" if r.repaired else "no",
        quantity(r.utility_lost, 2),
        quantity(r.seconds, 3),
        quantity(r.cold_seconds, 3),
        quantity(r.peak_memory, 4),
        quantity(r.iterations, 9),
        r.reason or Status[r.status].value,
        r.libraries,
    )


def _proof(j: Judged) -> Cell:
    if j.row.broken:
        return Cell("FAILED", kind="bad")
    if not j.row.ok:
        return Cell("")
    return Cell("yes") if j.row.verified else Cell("no", kind="bad")

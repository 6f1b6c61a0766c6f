"""Tables of a report, as HTML."""

from __future__ import annotations

import html
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from privopt._solution import Status
from privopt.benchmarks._cells import Cell, quantity, table
from privopt.benchmarks._folder import Released
from privopt.benchmarks._rows import Row


def results(rows: Iterable[Row]) -> str:
    """Every run that gave a mechanism."""
    header = (
        "instance", "ε", "solver", "status", "utility", "leakage", "of ε used", "gap", "certified", "repaired", "seconds",
    )  # fmt: skip
    return table(header, [_result(r) for r in rows if r.ok], "Runs that gave a mechanism")


def _result(r: Row) -> tuple[Cell | str, ...]:
    used = None if r.leakage is None or not 0 < r.budget < float("inf") else 100 * r.leakage / r.budget
    proof = (
        Cell("FAILED", kind="bad")
        if r.broken
        else Cell("yes" if r.verified else "no", kind="" if r.verified else "bad")
    )
    gap = Cell("no bound", float("inf")) if r.gap is None else quantity(r.gap, 2)
    return (
        r.instance,
        quantity(r.budget),
        r.solver,
        r.status,
        quantity(r.utility),
        quantity(r.leakage),
        quantity(used, 4, " %"),
        gap,
        proof,
        "yes" if r.repaired else "no",
        quantity(r.seconds, 3),
    )


def side_by_side(rows: Sequence[Row]) -> str:
    """The objective of every solver for each instance and budget, with the best checked bound."""
    solvers = sorted({r.solver for r in rows if r.ok})
    keys = list(dict.fromkeys(_key(r) for r in rows if r.ok))
    found = {(_key(r), r.solver): r.objective for r in rows}
    lines: list[tuple[Cell | str, ...]] = []
    for key in keys:
        bound = min((r.bound for r in rows if _key(r) == key and r.bound is not None), default=None)
        values = [quantity(found.get((key, solver))) for solver in solvers]
        lines.append((key[0], quantity(key[1]), *values, quantity(bound)))
    return table(("instance", "ε", *solvers, "checked bound"), lines, "Objective by solver")


def by_solver(rows: Sequence[Row]) -> str:
    """One line a solver: how often it answered, was certified, was best, and how long it took."""
    header = (
        "solver",
        "runs",
        "mechanisms",
        "certified",
        "best",
        "gap closed",
        "repaired",
        "over ε as proposed",
        "median s",
    )
    top = {
        key: max((r.objective for r in rows if _key(r) == key and r.objective is not None), default=None)
        for key in {_key(r) for r in rows}
    }
    return table(header, [_solver(s, rows, top) for s in sorted({r.solver for r in rows})], "Solvers")


def _key(r: Row) -> tuple[str, float]:
    return r.instance, r.budget


def _solver(
    solver: str, rows: Sequence[Row], top: Mapping[tuple[str, float], float | None]
) -> tuple[Cell | str, ...]:
    own = [r for r in rows if r.solver == solver]
    best = [r for r in own if r.objective is not None and r.objective >= (top[_key(r)] or 0.0) - 1e-6]
    seconds = [r.seconds for r in own if r.ok and r.seconds is not None]
    figures = (
        len(own),
        sum(r.ok for r in own),
        sum(r.verified for r in own),
        len(best),
        sum(Status[r.status] is Status.OPTIMAL for r in own),
        sum(r.repaired for r in own),
        sum(r.over_budget for r in own),
    )
    median = quantity(statistics.median(seconds) if seconds else None, 3)
    return (solver, *(quantity(n) for n in figures), median)


def refusals(rows: Iterable[Row]) -> str:
    """Runs without a mechanism, alike ones together."""
    found = Counter((r.solver, r.instance, r.status, r.reason) for r in rows if not r.ok)
    lines = [
        (solver, name, status, quantity(n), why) for (solver, name, status, why), n in sorted(found.items())
    ]
    return (
        table(("solver", "instance", "status", "runs", "reason"), lines, "Refusals and failures")
        if lines
        else ""
    )


def released_list(released: Released) -> str:
    """The data as released, a box a record; a hidden one says so."""
    boxes = [_box(line[0], line[-1]) for line in released.lines]
    return f'<ol class="records" aria-label="Released records">{"".join(boxes)}</ol>'


def _box(label: str, cell: str) -> str:
    kind, shown = (' class="hidden"', "hidden") if cell == "" else ("", html.escape(cell))
    return f"<li{kind}><small>{html.escape(label)}</small> {shown}</li>"


def facts(pairs: Mapping[str, str]) -> str:
    """Names with their values."""
    return table(("what", "version"), list(pairs.items()), "Environment", sortable=False)

"""Tables of a report, as HTML."""

from __future__ import annotations

import html
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from privopt._solution import Status
from privopt._text import number
from privopt.benchmarks._folder import Released
from privopt.benchmarks._rows import Row


@dataclass(frozen=True)
class Cell:
    """A cell whose text differs from what it sorts by; a key that is a number sits to the right."""

    text: str
    key: float | str | None = None
    kind: str = ""


def quantity(value: float | None, digits: int = 5, suffix: str = "") -> Cell:
    """A number, or an empty cell that sorts last.

    Examples
    --------
    >>> quantity(0.123456789)
    Cell(text='0.12346', key=0.123456789, kind='')
    """
    return Cell("" if value is None else number(value, digits) + suffix, float("-inf") if value is None else value)


def table(header: Sequence[str], rows: Iterable[Sequence[Cell | str]], caption: str, *, sortable: bool = True) -> str:
    """A captioned HTML table; everything in it is escaped."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(caption)}"><table{kind}>'
        f"<caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(cell: Cell | str) -> str:
    given = cell if isinstance(cell, Cell) else Cell(cell)
    kinds = [given.kind] if given.kind else []
    key = ""
    if given.key is not None:
        key = f' data-key="{html.escape(str(given.key))}"'
        kinds += [] if isinstance(given.key, str) else ["number"]
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return f"<td{kind}{key}>{html.escape(given.text)}</td>"


def results(rows: Iterable[Row]) -> str:
    """Every run that gave a mechanism."""
    header = (
        "instance", "ε", "solver", "status", "utility", "leakage", "of ε used", "gap", "certified", "repaired", "seconds",
    )  # fmt: skip
    return table(header, [_result(r) for r in rows if r.ok], "Runs that gave a mechanism")


def _result(r: Row) -> tuple[Cell | str, ...]:
    used = None if r.leakage is None or not 0 < r.budget < float("inf") else 100 * r.leakage / r.budget
    proof = Cell("FAILED", kind="bad") if r.broken else Cell("yes" if r.verified else "no", kind="" if r.verified else "bad")
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


def by_solver(rows: Sequence[Row]) -> str:
    """One line a solver: how often it answered, was certified, was best, and how long it took."""
    header = ("solver", "runs", "mechanisms", "certified", "best", "gap closed", "repaired", "over ε as proposed", "median s")
    top = {
        key: max((r.objective for r in rows if _key(r) == key and r.objective is not None), default=None)
        for key in {_key(r) for r in rows}
    }
    return table(header, [_solver(s, rows, top) for s in sorted({r.solver for r in rows})], "Solvers")


def _key(r: Row) -> tuple[str, float]:
    return r.instance, r.budget


def _solver(solver: str, rows: Sequence[Row], top: Mapping[tuple[str, float], float | None]) -> tuple[Cell | str, ...]:
    own = [r for r in rows if r.solver == solver]
    best = [r for r in own if r.objective is not None and r.objective >= (top[_key(r)] or 0.0) - 1e-6]
    leaky = sum(r.raw_leakage is not None and r.raw_leakage > r.budget for r in own)
    seconds = [r.seconds for r in own if r.ok]
    figures = (
        len(own),
        sum(r.ok for r in own),
        sum(r.verified for r in own),
        len(best),
        sum(Status[r.status] is Status.OPTIMAL for r in own),
        sum(r.repaired for r in own),
        leaky,
    )
    median = quantity(statistics.median(seconds) if seconds else None, 3)
    return (solver, *(quantity(n) for n in figures), median)


def refusals(rows: Iterable[Row]) -> str:
    """Runs without a mechanism, alike ones together."""
    found = Counter((r.solver, r.instance, r.status, r.reason) for r in rows if not r.ok)
    lines = [(solver, name, status, quantity(n), why) for (solver, name, status, why), n in sorted(found.items())]
    return table(("solver", "instance", "status", "runs", "reason"), lines, "Refusals and failures") if lines else ""


def released_table(released: Released) -> str:
    """The data as released; a hidden cell says so."""
    lines = [tuple(Cell("hidden", kind="hidden") if cell == "" else cell for cell in line) for line in released.lines]
    return table(released.header, lines, "Released records", sortable=False)


def facts(pairs: Mapping[str, str]) -> str:
    """Names with their values."""
    return table(("what", "version"), list(pairs.items()), "Environment", sortable=False)

"""The table of solvers, and how often each was the fastest."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from privopt.benchmarks.report.cells import Cell, Head, Table, quantity, text
from privopt.benchmarks.report.judged import Case, Judged, Task, questions, violations
from privopt.benchmarks.report.profiles import time_costs
from privopt.benchmarks.report.scaling import growths
from privopt.core.solution import Status

QUESTION, INSTANCE, SOLVER = (
    Head("question", "question"),
    Head("instance", "instance"),
    Head("solver", "solver"),
)
Line = tuple[Cell | str, ...]


def heads(*names: str) -> tuple[Head, ...]:
    """Plain columns."""
    return tuple(map(Head, names))


def objectives(rows: Sequence[Judged]) -> Iterator[Table]:
    """A table a problem: the objective of every solver for each instance and budget, with the best checked bound."""
    for place, question in enumerate(questions(rows), 1):
        own = [j for j in rows if j.row.question == question and j.row.ok]
        if own:
            names = sorted({j.row.solver for j in own})
            header = (
                QUESTION,
                INSTANCE,
                Head("budget"),
                *(Head(n, solver=n) for n in names),
                Head("checked bound"),
            )
            yield Table(
                f"objectives-{place}",
                f"{question}: objective by solver",
                header,
                tuple(_objectives(own, names)),
            )


def _objectives(own: Sequence[Judged], names: Sequence[str]) -> Iterator[Line]:
    """The best of several seeds or limits stands for a solver."""
    by_case: dict[Case, dict[str, float]] = {}
    for j in own:
        if j.row.objective is not None:
            values = by_case.setdefault(j.case, {})
            values[j.row.solver] = max(j.row.objective, values.get(j.row.solver, j.row.objective))
    bounds = {j.case: j.bound for j in own}
    for case, values in by_case.items():
        shown = (quantity(values.get(name)) for name in names)
        yield (case.question, case.instance, quantity(case.budget), *shown, quantity(bounds[case]))


def slopes(rows: Sequence[Judged]) -> Table:
    """The fitted growth of every family, solver and measure."""
    fitted = (*growths(rows, "seconds"), *growths(rows, "peak_memory"))
    lines = tuple(
        (
            g.question,
            g.family,
            g.solver,
            g.measure.replace("_", " "),
            quantity(g.slope, 3),
            quantity(g.error, 2),
            quantity(len(g.points)),
            quantity(len({size for size, _ in g.points})),
        )
        for g in fitted
    )
    header = (QUESTION, Head("family"), SOLVER, *heads("measure", "slope", "standard error", "runs", "sizes"))
    return Table("slopes", "Growth with size", header, lines)


def privacy(rows: Sequence[Judged]) -> Table:
    """What was proposed over the budget, and what came out."""
    lines = tuple(
        (
            v.question,
            v.solver,
            quantity(v.proposed),
            quantity(v.over),
            quantity(v.worst, 3),
            quantity(v.withheld),
            Cell(str(v.after), v.after, "bad" if v.after else ""),
            quantity(v.repaired),
            quantity(v.lost, 3),
        )
        for v in violations(rows)
    )
    names = ("proposals", "over before repair", "worst excess", "withheld", "over after repair", "repaired")
    header = (QUESTION, SOLVER, *heads(*names, "most utility lost"))
    return Table("privacy", "Privacy by solver: raw answers and what repair made of them", header, lines)


def refusals(rows: Sequence[Judged]) -> Table:
    """Runs without a mechanism, alike ones together."""
    counts: Mapping[tuple[str, ...], int] = Counter(
        (j.row.question, j.row.solver, j.row.instance, j.row.status, j.row.reason)
        for j in rows
        if not j.row.ok
    )
    lines: tuple[Line, ...] = tuple((*key[:4], quantity(n), key[4]) for key, n in sorted(counts.items()))
    header = (QUESTION, SOLVER, INSTANCE, *heads("status", "runs", "reason"))
    return Table("refusals", "Refusals and failures", header, lines)


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


def solver_table(rows: Sequence[Judged]) -> Table:
    """One line a problem and solver: how often it answered, was best and fastest, and how long it took."""
    names = (
        "runs",
        "mechanisms",
        "certified",
        "best",
        "fastest",
        "gap closed",
        "repaired",
        "over as proposed",
    )
    lines = []
    for question in questions(rows):
        own = [j for j in rows if j.row.question == question]
        first = fastest(own)
        for solver in sorted({j.row.solver for j in own}):
            lines.append(
                (question, solver, *_solver([j for j in own if j.row.solver == solver], first[solver]))
            )
    header = (QUESTION, SOLVER, *heads(*names, "median s", "median cold s"))
    return Table("solvers", "Solvers", header, tuple(lines))


def fastest(rows: Sequence[Judged]) -> Counter[str]:
    """On how many tasks each solver was the fastest to reach the best objective known; ties count for all."""
    costs = time_costs(rows)
    best: dict[Task, float] = {}
    for own in costs.values():
        for task, seconds in own.items():
            best[task] = min(seconds, best.get(task, seconds))
    return Counter({s: sum(t == best[task] for task, t in own.items()) for s, own in costs.items()})


def _solver(own: Sequence[Judged], first: int) -> Line:
    counts = (
        len(own),
        sum(j.row.ok for j in own),
        sum(j.row.verified for j in own),
        sum(j.reached for j in own),
        first,
        sum(Status[j.row.status] is Status.OPTIMAL for j in own),
        sum(j.row.repaired for j in own),
        sum(j.row.over_budget for j in own),
    )
    warm = [j.row.seconds for j in own if j.row.ok and j.row.seconds is not None]
    cold = [j.row.cold_seconds for j in own if j.row.ok and j.row.cold_seconds is not None]
    medians = (quantity(statistics.median(times) if times else None, 3) for times in (warm, cold))
    return (*(quantity(n) for n in counts), *medians)

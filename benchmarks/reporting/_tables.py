"""Tables of a report that compare: objectives side by side, slopes, privacy, refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from privopt.benchmarks._cells import Cell, Head, Table, quantity
from privopt.benchmarks.reporting._judged import Case, Judged, questions
from privopt.benchmarks.reporting._scaling import growths
from privopt.benchmarks.reporting._violations import violations

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
    """A table a question: the objective of every solver for each instance and budget, with the best checked bound."""
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
    found: dict[Case, dict[str, float]] = {}
    for j in own:
        if j.row.objective is not None:
            values = found.setdefault(j.case, {})
            values[j.row.solver] = max(j.row.objective, values.get(j.row.solver, j.row.objective))
    bounds = {j.case: j.bound for j in own}
    for case, values in found.items():
        shown = (quantity(values.get(name)) for name in names)
        yield (case.question, case.instance, quantity(case.budget), *shown, quantity(bounds[case]))


def slopes(rows: Sequence[Judged]) -> Table:
    """The fitted growth of every family, solver and measure."""
    found = (*growths(rows, "seconds"), *growths(rows, "peak_memory"))
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
        for g in found
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
    found: Mapping[tuple[str, ...], int] = Counter(
        (j.row.question, j.row.solver, j.row.instance, j.row.status, j.row.reason)
        for j in rows
        if not j.row.ok
    )
    lines: tuple[Line, ...] = tuple((*key[:4], quantity(n), key[4]) for key, n in sorted(found.items()))
    header = (QUESTION, SOLVER, INSTANCE, *heads("status", "runs", "reason"))
    return Table("refusals", "Refusals and failures", header, lines)

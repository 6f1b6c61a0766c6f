"""The first screen of a report as a table and sentences: a line a problem, and what was found over all."""

from __future__ import annotations

import math
from collections.abc import Iterator

from privopt.benchmarks.manuscript.cells import Number, Table, Text
from privopt.benchmarks.report.board import Board, ProblemLine
from privopt.benchmarks.report.entries import percent

NAME = "scoreboard"
"""The stem of the table's files."""
CAPTION = (
    "Best: certified, proved again, and within 1e−6 of the best such answer to the case. By name: the fewest solvers "
    "that are best in every case, without reference implementations. Change: what the best answers make of the quantity, from a simple "
    "method; a minus is a gain where less is better."
)


def scoreboard(told: Board) -> Table:
    """A line a problem."""
    heads = (
        "problem",
        "cases",
        "solve() best",
        "loses elsewhere",
        "best by name",
        "change",
        "from",
        "proved",
        "s",
    )
    return Table(NAME, CAPTION, tuple(map(Text, heads)), tuple(map(_line, told.problems)))


def sentences(told: Board) -> Iterator[str]:
    """The finding, and the four numbers."""
    finding, counts = told.finding, told.counts
    yield f"{finding.headline.replace('`', '')}. {finding.detail}"
    yield (
        f"{counts.answered} of {counts.cases} cases have a certified answer; {counts.held} of {counts.certificates} "
        f"certificates held when they were proved again; {counts.over} proposals were over their budget, of which "
        f"{counts.withheld} were withheld and {counts.repaired} repaired."
    )


def _line(line: ProblemLine) -> tuple[Text | Number, ...]:
    names = ", ".join(f"{n.solver} ({n.adds})" for n in line.named)
    by_oracle = f"an oracle alone ({len(line.by_oracle)})" if line.by_oracle else ""
    return (
        Text(line.words.title),
        Number(line.cases),
        Text("" if line.auto is None else f"{line.auto.won} of {line.auto.cases}"),
        Text(_worst(line.worst)),
        Text(", ".join(filter(None, (names, by_oracle)))),
        Text("" if line.gain is None else line.gain.amount),
        Text("" if line.gain is None else line.gain.reference.does),
        Text(f"{line.proved} of {line.cases}"),
        Number(line.seconds),
    )


def _worst(loss: float | None) -> str:
    if loss is None:
        return ""
    return "no answer" if math.isinf(loss) else f"up to {percent(loss)} %"

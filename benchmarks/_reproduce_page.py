"""The page of everything the papers print, computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privopt.benchmarks._paper_page import KINDS, exhibit_body
from privopt.benchmarks._papers import Finding
from privopt.benchmarks._reproduction import SOURCES, Item, Reproduced, counts
from privopt.benchmarks.report.cells import Cell, quantity, table
from privopt.benchmarks.report.document import Section, document, facts, paragraphs, result

_COLUMNS = ("item", "place", "what", "printed", "ours", "verdict", "why", "seconds")
_ABOUT = (
    "One row for every figure, table, algorithm, testable statement and printed number of the papers. The verdict says "
    "whether the printed value was found again, up to rounding or exactly; whether a statement held on every instance that "
    "was tried; whether the paper is off, with the counter-example; or that what it rests on is not available, with what "
    "was computed instead."
)

Found = Sequence[tuple[Item, Reproduced]]


def sentences(found: Found) -> tuple[str, ...]:
    """How many items there are of each verdict."""
    listed = ", ".join(f"{count} × {verdict}" for verdict, count in counts(one for _, one in found).items())
    return (f"{len(found)} printed items: {listed}.",)


def page(found: Found, begun: str, seconds: float, environment: Mapping[str, str]) -> str:
    """The page as text: style, script and figures are inside."""
    worst = {one.finding for _, one in found} & {Finding.FAILED, Finding.OPEN}
    sections = [Section("summary", "Summary", paragraphs([_ABOUT]) + result(sentences(found), not worst))]
    for letter, (authors, title) in SOURCES.items():
        rows = [(item, one) for item, one in found if item.source == letter]
        if rows:
            sections.append(Section(f"source{letter}", title, _source(authors, title, rows)))
    sections.append(Section("environment", "Environment", facts(environment)))
    return document(
        "The papers, computed again",
        "Every item that the papers print, with ours beside it.",
        f"Run of {begun}, {seconds:.0f} s.",
        sections,
    )


def _source(authors: str, title: str, rows: Found) -> str:
    lines = [
        (
            item.name,
            item.place,
            item.states,
            item.printed,
            one.ours,
            Cell(one.finding.value, kind=KINDS.get(one.finding, "")),
            one.why,
            quantity(one.seconds, 2),
        )
        for item, one in rows
    ]
    exhibits = "".join(
        f"<h3>{item.name}</h3>\n{exhibit_body(exhibit)}" for item, one in rows for exhibit in one.exhibits
    )
    return paragraphs([f"{authors}.", *sentences(rows)]) + table(_COLUMNS, lines, title) + exhibits

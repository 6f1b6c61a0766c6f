"""The page of a paper that was computed again."""

from __future__ import annotations

from collections.abc import Mapping

from privopt.benchmarks._papers import Exhibit, Finding, PaperReport
from privopt.benchmarks.report.cells import Cell, quantity, table
from privopt.benchmarks.report.document import Section, document, facts, figure, paragraphs, result

_CLAIMS = ("where", "what", "printed", "ours", "verdict", "why")
_DIGITS = 6
KINDS = {
    Finding.OFF: "bad",
    Finding.HOLDS: "good",
    Finding.NOT_REPRODUCIBLE: "muted",
    Finding.OPEN: "bad",
    Finding.FAILED: "bad",
}
"""How a verdict is coloured."""


def sentences(report: PaperReport) -> tuple[str, ...]:
    """How many of the paper's claims match."""
    counts = ", ".join(f"{count} × {finding}" for finding, count in report.counts.items())
    return (
        f"{len(report.claims)} statements and numbers that the text of the paper prints were checked: {counts}.",
    )


def page(report: PaperReport, begun: str, environment: Mapping[str, str]) -> str:
    """The page as text: style, script and figures are inside."""
    exhibits = (
        Section(f"exhibit{i}", exhibit.name, exhibit_body(exhibit))
        for i, exhibit in enumerate(report.exhibits)
    )
    return document(
        f"{report.title}: computed again",
        f"{report.authors}: what the paper prints, and what is computed here.",
        f"Run of {begun}, {report.seconds:.0f} s.",
        (
            Section("summary", "Summary", paragraphs(report.about) + result(sentences(report), True)),
            Section("claims", "What the paper prints", _claims(report)),
            *exhibits,
            Section("environment", "Environment", facts(environment)),
        ),
    )


def _claims(report: PaperReport) -> str:
    lines = [
        (
            claim.where,
            claim.what,
            claim.printed,
            claim.ours,
            Cell(claim.finding.value, kind=KINDS.get(claim.finding, "")),
            claim.sentence,
        )
        for claim in report.claims
    ]
    return table(_CLAIMS, lines, "Statements and numbers of the text", sortable=False)


def exhibit_body(exhibit: Exhibit) -> str:
    """The figure of an exhibit, then its data."""
    shown = figure(exhibit.svg, exhibit.caption) if exhibit.svg else paragraphs([exhibit.caption])
    frame = exhibit.frame
    rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return shown + table([str(name) for name in frame.columns], rows, f"{exhibit.name}: the data")


def _cell(value: object) -> Cell | str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return quantity(value, _DIGITS)
    return str(value)

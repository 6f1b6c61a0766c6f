"""The view of one paper: its claims and its exhibits, on a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from privopt.benchmarks.papers.item import Exhibit, Finding, PaperReport, find_paper
from privopt.benchmarks.report.cells import Cell, quantity, table
from privopt.benchmarks.report.document import Section, document, facts, figure, paragraphs, result
from privopt.benchmarks.runner.machine import environment
from privopt.cli.show import check_output, emit, progress
from privopt.cli.show import table as print_table
from privopt.files.json import writing

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
    drawing = exhibit.svg
    shown = figure(drawing, exhibit.caption) if drawing else paragraphs([exhibit.caption])
    frame = exhibit.frame
    rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return shown + table([str(name) for name in frame.columns], rows, f"{exhibit.name}: the data")


def _cell(value: object) -> Cell | str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return quantity(value, _DIGITS)
    return str(value)


HEADER = ("what", "printed", "ours", "verdict")


def paper_command(name: str, quick: bool, report: Path | None, as_json: bool) -> None:
    """Compute a paper again, write the page if one is asked for, print the claims.

    Raises
    ------
    InvalidProblem
        If there is no paper of that name.
    FileRefused
        If the page cannot be written.
    """
    paper = find_paper(name)
    check_output(report)
    begun = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    with progress(f"computing {name}"):
        outcome = paper(quick)
    if report is not None:
        with writing(report) as stream:
            stream.write(page(outcome, begun, environment()))
    _show(outcome, report, as_json)


def _show(outcome: PaperReport, report: Path | None, as_json: bool) -> None:
    written = None if report is None else str(report)
    if as_json:
        claims = [{**asdict(claim), "finding": claim.finding.value} for claim in outcome.claims]
        emit({"paper": outcome.name, "counts": outcome.counts, "claims": claims, "report": written})
        return
    print_table([(c.what, c.printed, c.ours, c.finding.value) for c in outcome.claims], HEADER)
    print("\n".join((*sentences(outcome), *(() if written is None else (f"Report: {written}",)))))

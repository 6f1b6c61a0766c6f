"""The command that computes one paper again: its claims and its exhibits, on a page."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from privopt.benchmarks.papers.item import PaperReport, find_paper
from privopt.benchmarks.papers.page import paper_page
from privopt.benchmarks.runner.machine import environment
from privopt.cli.show import check_output, emit, progress
from privopt.cli.show import table as print_table
from privopt.files.json import writing


def sentences(report: PaperReport) -> tuple[str, ...]:
    """How many of the paper's claims match."""
    counts = ", ".join(f"{count} × {finding}" for finding, count in report.counts.items())
    return (
        f"{len(report.claims)} statements and numbers that the text of the paper prints were checked: {counts}.",
    )


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
            stream.write(paper_page(outcome, begun, _command(name, quick, report), environment()))
    _show(outcome, report, as_json)


def _command(name: str, quick: bool, report: Path) -> str:
    return shlex.join(
        ("privopt", "bench", "paper", name, *(["--quick"] if quick else []), "--report", str(report))
    )


def _show(outcome: PaperReport, report: Path | None, as_json: bool) -> None:
    written = None if report is None else str(report)
    if as_json:
        claims = [{**asdict(claim), "finding": claim.finding.value} for claim in outcome.claims]
        emit({"paper": outcome.name, "counts": outcome.counts, "claims": claims, "report": written})
        return
    print_table([(c.what, c.printed, c.ours, c.finding.value) for c in outcome.claims], HEADER)
    print("\n".join((*sentences(outcome), *(() if written is None else (f"Report: {written}",)))))

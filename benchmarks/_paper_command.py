"""What ``privopt bench paper`` does."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from privopt._cli_show import check_output, emit, progress, table
from privopt._files import writing
from privopt.benchmarks._paper_page import page, sentences
from privopt.benchmarks._papers import PaperReport, find_paper
from privopt.benchmarks.report.document import environment

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
        found = paper(quick)
    if report is not None:
        with writing(report) as stream:
            stream.write(page(found, begun, environment()))
    _show(found, report, as_json)


def _show(found: PaperReport, report: Path | None, as_json: bool) -> None:
    written = None if report is None else str(report)
    if as_json:
        claims = [{**asdict(claim), "finding": claim.finding.value} for claim in found.claims]
        emit({"paper": found.name, "counts": found.counts, "claims": claims, "report": written})
        return
    table([(c.what, c.printed, c.ours, c.finding.value) for c in found.claims], HEADER)
    print("\n".join((*sentences(found), *(() if written is None else (f"Report: {written}",)))))

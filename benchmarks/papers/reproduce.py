"""The view of all items: a verdict for each, on a page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from privopt.benchmarks.papers.item import (
    SOURCES,
    Finding,
    Item,
    Reproduced,
    Results,
    Setting,
    chosen,
    counts,
    reproduce,
)
from privopt.benchmarks.papers.paper import KINDS, exhibit_body
from privopt.benchmarks.report.cells import Cell, quantity, table
from privopt.benchmarks.report.document import Section, document, facts, paragraphs, result
from privopt.benchmarks.runner.machine import environment
from privopt.cli.show import check_output, emit, progress
from privopt.cli.show import table as print_table
from privopt.files.json import writing

_COLUMNS = ("item", "place", "what", "printed", "ours", "verdict", "why", "seconds")
_ABOUT = (
    "One row for every figure, table, algorithm, testable statement and printed number of the papers. The verdict says "
    "whether the printed value was found again, up to rounding or exactly; whether a statement held on every instance that "
    "was tried; whether the paper is off, with the counter-example; or that what it rests on is not available, with what "
    "was computed instead."
)


def sentences(reproduced: Results) -> tuple[str, ...]:
    """How many items there are of each verdict."""
    listed = ", ".join(
        f"{count} × {verdict}" for verdict, count in counts(one for _, one in reproduced).items()
    )
    return (f"{len(reproduced)} printed items: {listed}.",)


def page(reproduced: Results, begun: str, seconds: float, environment: Mapping[str, str]) -> str:
    """The page as text: style, script and figures are inside."""
    worst = {one.finding for _, one in reproduced} & {Finding.FAILED, Finding.OPEN}
    sections = [
        Section("summary", "Summary", paragraphs([_ABOUT]) + result(sentences(reproduced), not worst))
    ]
    for letter, (authors, title) in SOURCES.items():
        rows = [(item, one) for item, one in reproduced if item.source == letter]
        if rows:
            sections.append(Section(f"source{letter}", title, _source(authors, title, rows)))
    sections.append(Section("environment", "Environment", facts(environment)))
    return document(
        "The papers, computed again",
        "Every item that the papers print, with ours beside it.",
        f"Run of {begun}, {seconds:.0f} s.",
        sections,
    )


def _source(authors: str, title: str, rows: Results) -> str:
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


HEADER = ("item", "place", "printed", "ours", "verdict")
_WIDEST = 60


def reproduce_command(what: str, quick: bool, report: Path | None, as_json: bool) -> bool:
    """Compute items again, write the page if one is asked for, print the verdicts; whether none failed or is open.

    Raises
    ------
    InvalidProblem
        If there is no such item.
    FileRefused
        If the page cannot be written.
    """
    coarse = quick or what == "quick"
    items = chosen("all" if what == "quick" else what)
    check_output(report)
    started, begun = time.monotonic(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    with progress("computing the papers again") as show:
        reproduced = list(reproduce(items, Setting(coarse, figures=report is not None), show))
    if report is not None:
        with writing(report) as stream:
            stream.write(page(reproduced, begun, time.monotonic() - started, environment()))
    _show(reproduced, report, as_json)
    return not {one.finding for _, one in reproduced} & {Finding.FAILED, Finding.OPEN}


def _show(reproduced: list[tuple[Item, Reproduced]], report: Path | None, as_json: bool) -> None:
    written = None if report is None else str(report)
    if as_json:
        emit(
            {
                "counts": counts(one for _, one in reproduced),
                "items": [_plain(item, one) for item, one in reproduced],
                "report": written,
            }
        )
        return
    print_table(
        [(i.name, i.place, _cut(i.printed), _cut(one.ours), one.finding.value) for i, one in reproduced],
        HEADER,
    )
    print("\n".join((*sentences(reproduced), *(() if written is None else (f"Report: {written}",)))))


def _plain(item: Item, one: Reproduced) -> dict[str, object]:
    return {
        "item": item.name,
        "place": item.place,
        "printed": item.printed,
        "ours": one.ours,
        "verdict": one.finding.value,
        "why": one.why,
        "seconds": round(one.seconds, 3),
    }


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."

"""The command that computes items again: a verdict for each, on a page."""

from __future__ import annotations

import shlex
import time
from datetime import UTC, datetime
from pathlib import Path

from privopt.benchmarks.papers.item import (
    Finding,
    Item,
    Reproduced,
    Results,
    Setting,
    chosen,
    counts,
    reproduce,
)
from privopt.benchmarks.papers.page import reproduced_page
from privopt.benchmarks.runner.machine import environment
from privopt.cli.show import check_output, emit, progress
from privopt.cli.show import table as print_table
from privopt.files.json import writing


def sentences(reproduced: Results) -> tuple[str, ...]:
    """How many items there are of each verdict."""
    listed = ", ".join(
        f"{count} × {verdict}" for verdict, count in counts(one for _, one in reproduced).items()
    )
    return (f"{len(reproduced)} printed items: {listed}.",)


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
            took = time.monotonic() - started
            stream.write(
                reproduced_page(reproduced, begun, took, _command(what, quick, report), environment())
            )
    _show(reproduced, report, as_json)
    return not {one.finding for _, one in reproduced} & {Finding.FAILED, Finding.OPEN}


def _command(what: str, quick: bool, report: Path) -> str:
    return shlex.join(
        ("privopt", "reproduce", what, *(["--quick"] if quick else []), "--report", str(report))
    )


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

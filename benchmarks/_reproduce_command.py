"""What ``privopt reproduce`` does."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from privopt._cli_show import check_output, emit, progress, table
from privopt._files import writing
from privopt.benchmarks._papers import Finding
from privopt.benchmarks._reproduce_page import page, sentences
from privopt.benchmarks._reproduction import Item, Reproduced, Setting, chosen, counts, reproduce
from privopt.benchmarks.report.document import environment

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
    asked = chosen("all" if what == "quick" else what)
    check_output(report)
    started, begun = time.monotonic(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    with progress("computing the papers again") as show:
        found = list(reproduce(asked, Setting(coarse), show))
    if report is not None:
        with writing(report) as stream:
            stream.write(page(found, begun, time.monotonic() - started, environment()))
    _show(found, report, as_json)
    return not {one.finding for _, one in found} & {Finding.FAILED, Finding.OPEN}


def _show(found: list[tuple[Item, Reproduced]], report: Path | None, as_json: bool) -> None:
    written = None if report is None else str(report)
    if as_json:
        emit(
            {
                "counts": counts(one for _, one in found),
                "items": [_plain(item, one) for item, one in found],
                "report": written,
            }
        )
        return
    table([(i.name, i.place, _cut(i.printed), _cut(one.ours), one.finding.value) for i, one in found], HEADER)
    print("\n".join((*sentences(found), *(() if written is None else (f"Report: {written}",)))))


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

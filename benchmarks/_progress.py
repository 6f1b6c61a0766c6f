"""Progress of a run: a bar with the time left on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from privopt._text import number
from privopt.benchmarks._outcome import Outcome
from privopt.benchmarks.runner import Listener


@contextmanager
def progress(title: str, total: int) -> Iterator[Listener]:
    """A listener that shows each outcome on standard error, so that standard output stays clean."""
    if not sys.stderr.isatty():
        yield _plain(title, total)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    left = (TextColumn("left"), TimeRemainingColumn())
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        *left,
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=600) as bar:
        task = bar.add_task(title, total=total)

        def listen(outcome: Outcome, left: int) -> None:
            bar.update(task, completed=total - left, description=_describe(outcome))

        yield listen


def _plain(title: str, total: int) -> Listener:
    """About ten lines, each with the time left if the rest goes on at the same pace."""
    begun, shown = time.monotonic(), 0

    def listen(outcome: Outcome, left: int) -> None:
        nonlocal shown
        done = total - left
        if left == 0 or done * 10 // total > shown * 10 // total:
            seconds = (time.monotonic() - begun) / max(1, done) * left
            print(
                f"{title}: {done}/{total}, about {seconds:.0f} s left; {_describe(outcome)}",
                file=sys.stderr,
                flush=True,
            )
        shown = done

    return listen


def _describe(outcome: Outcome) -> str:
    row = outcome.row
    return (
        f"{row.instance}, budget {number(row.budget)}, {row.solver}: {row.status.lower().replace('_', ' ')}"
    )

"""Measurements run: every row kept in files, the page written, the tables printed."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from privopt.benchmarks.timings.measurement import Measurement, Timing
from privopt.files.json import writing
from privopt.files.text import number

CSV, JSONL = "measurements.csv", "measurements.jsonl"
HEADER = ("case", "size", "seconds", "reference", "its seconds", "ratio", "quality", "what quality is")
Listener = Callable[[str, float | None], None]
"""Told the name of a measurement that begins, and again with its seconds when it is done."""


@dataclass(frozen=True)
class Measured:
    """A measurement with what it found, and the seconds it took."""

    measurement: Measurement
    timings: tuple[Timing, ...]
    seconds: float


def measure(
    chosen: Sequence[Measurement], quick: bool, listener: Listener | None = None
) -> tuple[Measured, ...]:
    """Run measurements in order."""
    measured = []
    for measurement in chosen:
        if listener is not None:
            listener(measurement.name, None)
        begun = time.monotonic()
        timings = tuple(measurement.run(quick))
        measured.append(Measured(measurement, timings, time.monotonic() - begun))
        if listener is not None:
            listener(measurement.name, measured[-1].seconds)
    return tuple(measured)


def write_measurements(folder: Path, measured: Sequence[Measured]) -> None:
    """Write every row as CSV and as JSON lines, each file whole or not at all.

    Raises
    ------
    FileRefused
        If the folder cannot be written.
    """
    rows = [{"measurement": m.measurement.name, **t.to_dict()} for m in measured for t in m.timings]
    with writing(folder / JSONL) as stream:
        stream.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    with writing(folder / CSV) as stream:
        names = ["measurement", *(f.name for f in fields(Timing))]
        table = csv.DictWriter(stream, names, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def times(ratio: float | None) -> str:
    """A ratio without an exponent.

    Examples
    --------
    >>> times(0.30712), times(1453.2), times(None)
    ('0.307', '1453', '')
    """
    return f"{ratio:.0f}" if ratio is not None and 1000 <= ratio < 1e9 else number(ratio, 3)


def cells(timing: Timing) -> tuple[str, ...]:
    """The cells of a row under :data:`HEADER`."""
    return (
        timing.case,
        str(timing.size),
        number(timing.seconds, 3),
        timing.reference,
        number(timing.reference_seconds, 3),
        times(timing.ratio),
        number(timing.quality, 3),
        timing.note,
    )


@contextmanager
def measuring(total: int) -> Iterator[Listener]:
    """A listener that shows on standard error what runs: a bar on a terminal, else a line when one is done."""
    if not sys.stderr.isatty():
        yield _plain(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns: tuple[Any, ...] = (TextColumn("{task.description}", markup=False), BarColumn())
    with Progress(*columns, MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("measuring", total=total)

        def listen(name: str, seconds: float | None) -> None:
            bar.update(task, advance=float(seconds is not None), description=name)

        yield listen


def _plain(total: int) -> Listener:
    done = 0

    def listen(name: str, seconds: float | None) -> None:
        nonlocal done
        if seconds is not None:
            done += 1
            print(f"measure: {done}/{total}, {name} in {seconds:.1f} s", file=sys.stderr, flush=True)

    return listen

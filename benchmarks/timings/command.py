"""What ``privopt bench measure`` and ``privopt bench headlines`` do."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from privopt.benchmarks.runner.folder import prepare
from privopt.benchmarks.runner.machine import environment
from privopt.benchmarks.timings.headline import Headline, compute, headlines, written
from privopt.benchmarks.timings.measurement import find_measurement, measurements
from privopt.benchmarks.timings.page import holds, page, sentences
from privopt.benchmarks.timings.run import HEADER, Measured, cells, measure, measuring, write_measurements
from privopt.cli.show import check_output, emit, progress, table
from privopt.files.json import writing


def measure_command(name: str | None, quick: bool, folder: Path, report: Path, as_json: bool) -> bool:
    """Measure, write the rows and the page, print the tables; False if an invariant was violated.

    Raises
    ------
    InvalidProblem
        If there is no measurement of that name.
    FileRefused
        If the folder or the page cannot be written.
    """
    chosen = tuple(measurements().values()) if name is None else (find_measurement(name),)
    prepare(folder)
    check_output(report)
    begun = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    with measuring(len(chosen)) as listener:
        measured = measure(chosen, quick, listener)
    write_measurements(folder, measured)
    with writing(report) as stream:
        command = ("privopt", "bench", "measure", *([name] if name else []), *(["--quick"] if quick else []))
        stream.write(page(measured, begun, quick, environment(), shlex.join(command)))
    _show(measured, folder, report, as_json)
    return holds(measured)


def _show(measured: tuple[Measured, ...], folder: Path, report: Path, as_json: bool) -> None:
    said = list(sentences(measured))
    if as_json:
        emit({"holds": holds(measured), "folder": str(folder), "report": str(report), "summary": said})
        return
    for one in measured:
        print(f"{one.measurement.name}: {one.measurement.describe}")
        table(map(cells, one.timings), HEADER)
        print()
    print("\n".join((*said, f"Rows: {folder}", f"Report: {report}")))


def headlines_command(name: str | None, output: Path | None, as_json: bool) -> None:
    """Compute one headline or all of them, write the CSV if one is asked for, print the table.

    Raises
    ------
    InvalidProblem
        If there is no headline of that name.
    FileRefused
        If the file cannot be written.
    """
    check_output(output)
    with progress("computing the headlines"):
        lines = compute(name)
    if output is not None:
        with writing(output) as stream:
            stream.write(written(lines))
    if as_json:
        emit(
            {"headlines": [asdict(one) for one in lines], "written": None if output is None else str(output)}
        )
        return
    _show_headlines(lines)
    if name is None:
        print(f"{len(headlines())} headlines; those that are times differ between machines.")


def _show_headlines(lines: list[Headline]) -> None:
    table(
        [(one.name, one.what, one.privopt, one.beside) for one in lines],
        ("name", "what", "privopt", "beside"),
    )

"""What ``privopt bench measure`` does."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from privopt._cli_show import check_output, emit, table
from privopt._files import writing
from privopt.benchmarks._measure import HEADER, Measured, cells, measure, progress, write_measurements
from privopt.benchmarks._measure_page import holds, page, sentences
from privopt.benchmarks._measurements import find_measurement, measurements
from privopt.benchmarks.report.document import environment
from privopt.benchmarks.runner.folder import prepare


def measure_command(name: str | None, quick: bool, folder: Path, report: Path, as_json: bool) -> bool:
    """Measure, write the rows and the page, print the tables; False if a law was violated.

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
    with progress(len(chosen)) as listener:
        found = measure(chosen, quick, listener)
    write_measurements(folder, found)
    with writing(report) as stream:
        stream.write(page(found, begun, quick, environment()))
    _show(found, folder, report, as_json)
    return holds(found)


def _show(found: tuple[Measured, ...], folder: Path, report: Path, as_json: bool) -> None:
    said = list(sentences(found))
    if as_json:
        emit({"holds": holds(found), "folder": str(folder), "report": str(report), "summary": said})
        return
    for one in found:
        print(f"{one.measurement.name}: {one.measurement.describe}")
        table(map(cells, one.timings), HEADER)
        print()
    print("\n".join((*said, f"Rows: {folder}", f"Report: {report}")))

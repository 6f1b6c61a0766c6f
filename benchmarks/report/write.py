"""The report of a run: one HTML page that needs nothing but itself, and the same content as other files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from privopt.benchmarks.report import findings as sentences
from privopt.benchmarks.report.findings import Verdict
from privopt.benchmarks.runner.folder import Manifest, Released, read_released, read_run
from privopt.benchmarks.runner.rows import Row
from privopt.benchmarks.runner.store import alarm
from privopt.core.verify import verify
from privopt.files.json import writing

__all__ = ["Verdict", "judge_run", "write_report", "write_reports"]


def write_report(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> Verdict:
    """Write the page of a run from the files in its folder alone; the release is proved afresh.

    Raises
    ------
    FileRefused
        If a file of the run is missing or malformed, or the page cannot be written.
    """
    return write_reports(folder, ("html",), path, None)


def write_reports(
    folder: str | os.PathLike[str],
    formats: Iterable[str],
    path: str | os.PathLike[str],
    export: str | os.PathLike[str] | None,
) -> Verdict:
    """Write the report of a run in several formats.

    Parameters
    ----------
    folder : path
        Of the run.
    formats : iterable of str
        Members of :data:`privopt.benchmarks.report.export.FORMATS`.
    path : path
        Of the HTML page.
    export : path or None
        Folder of every other format; None is ``report`` in the folder of the run.

    Raises
    ------
    FileRefused
        If a file of the run is missing or malformed, or one cannot be written.
    InvalidProblem
        If there is no such format.
    MissingExtra
        If a format needs a package that is not installed.
    """
    from privopt.benchmarks.report.content import content
    from privopt.benchmarks.report.export import checked, export_files
    from privopt.benchmarks.report.judged import judged
    from privopt.benchmarks.report.page import page

    wanted = checked(formats)
    place = Path(folder)
    manifest, rows = read_run(place)
    released = read_released(place)
    verdict = judge_run(manifest, rows, released)
    said = content(manifest, judged(rows), released, verdict)
    if "html" in wanted:
        with writing(path) as stream:
            stream.write(page(said))
    export_files(said, wanted - {"html"}, place / "report" if export is None else Path(export))
    return verdict


def judge_run(manifest: Manifest, rows: Sequence[Row], released: Released | None) -> Verdict:
    """The summary of a run in sentences, and whether its claims hold."""
    proof = None if released is None else verify(released.problem, released.solution)
    contradiction = alarm(rows)
    said = (
        *((contradiction,) if contradiction else ()),
        *sentences.headline(manifest, rows),
        *sentences.counts(rows),
        *sentences.release_sentences(manifest, released, proof),
    )
    holds = not contradiction and not any(row.broken for row in rows) and (proof is None or proof.ok)
    return Verdict(holds, said)

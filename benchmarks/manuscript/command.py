"""What ``privopt bench report`` does: the page of a run, and its tables, figures and references for a manuscript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from privopt.benchmarks.manuscript.tables import Manner, checked_columns, checked_highlight
from privopt.benchmarks.manuscript.units import checked_units
from privopt.benchmarks.manuscript.write import checked_formats, manuscript, write_manuscript
from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.write import Verdict, judge_run, write_report
from privopt.benchmarks.runner.folder import Manifest, read_released, read_run
from privopt.benchmarks.runner.suite import suites, vocabulary
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.errors import InvalidProblem

FOLDER = "report"
"""Where in the folder of a run all but its page is written, unless another place is named."""


def report_command(
    folder: Path,
    formats: Sequence[str],
    page: Path,
    export: Path | None = None,
    *,
    columns: Sequence[str] = Manner.columns,
    units: str = Manner.units,
    highlight: Sequence[str] = (),
    peers: Path | None = None,
) -> Verdict:
    """Write the report of a run in the given formats from the files in its folder; the release is proved afresh.

    Parameters
    ----------
    folder : Path
        Of the run.
    formats : sequence of str
        Members of :data:`privopt.benchmarks.manuscript.write.FORMATS`, or "all".
    page : Path
        Of the HTML page.
    export : Path or None
        Folder of every other format; None is ``report`` in the folder of the run.
    columns, highlight : sequence of str
    units : str
        As in :class:`privopt.benchmarks.manuscript.tables.Manner`.
    peers : Path or None
        As in :func:`privopt.benchmarks.report.write.write_report`.

    Raises
    ------
    FileRefused
        If a file of the run is missing or malformed, or one cannot be written.
    InvalidProblem
        If there is no such format, column, unit or solver, or peers are given without a page.
    MissingExtra
        If a format needs a package that is not installed.
    """
    wanted = checked_formats(formats)
    if peers is not None and "html" not in wanted:
        raise InvalidProblem(
            "--peers adds a section to the page: write html as well, as in --formats html,tex"
        )
    manner = Manner(checked_columns(columns), checked_units(units))
    manifest, rows = read_run(folder)
    compared = judged(rows)
    manner = replace(manner, highlight=checked_highlight(highlight, compared))
    if "html" in wanted:
        verdict = write_report(folder, page, peers)
    else:
        verdict = judge_run(manifest, rows, read_released(folder))
    if others := wanted - {"html"}:
        words = vocabulary_of(manifest)
        said = (manifest.describe, f"Run of {manifest.begun}; {len(rows)} runs.", *_alarm(verdict))
        told = manuscript(f"Benchmark: {manifest.suite}", said, compared, words, manner)
        write_manuscript(told, others, folder / FOLDER if export is None else export)
    return verdict


def _alarm(verdict: Verdict) -> tuple[str, ...]:
    return () if verdict.holds else ("A certified claim did not hold when it was proved again.",)


def vocabulary_of(manifest: Manifest) -> Vocabulary:
    """How a run calls its problems and instances; where it did not keep that, what its suite says today."""
    suite = suites().get(manifest.suite)
    return manifest.words if suite is None or manifest.words.instances else vocabulary(suite.instances())

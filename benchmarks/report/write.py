"""The report of a run: one HTML page that needs nothing but itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from privopt.benchmarks.report import findings as sentences
from privopt.benchmarks.report.findings import Verdict
from privopt.benchmarks.report.tools import ToolMatrix
from privopt.benchmarks.runner.folder import Manifest, Released, read_released, read_run
from privopt.benchmarks.runner.rows import Row
from privopt.benchmarks.runner.store import alarm
from privopt.benchmarks.runner.traces import read_series
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.core.certificate import Certificate
from privopt.core.verify import verify
from privopt.files.json import writing

__all__ = ["Verdict", "judge_run", "write_report"]


PEERS = "peers.csv"
"""What other tools made of the same problems, where the folder of a run holds it."""


def write_report(
    folder: str | os.PathLike[str], path: str | os.PathLike[str], peers: Path | None = None
) -> Verdict:
    """Write the page of a run from the files in its folder alone; the release is proved afresh.

    Parameters
    ----------
    folder : path
        Of the run.
    path : path
        Of the page.
    peers : Path or None
        Rows of ``privopt bench peers`` for the page; None is ``peers.csv`` in the folder, if it is there.

    Raises
    ------
    FileRefused
        If a file of the run is missing or malformed, or the page cannot be written.
    """
    from privopt.benchmarks.report.judged import judged
    from privopt.benchmarks.report.page import Told, page

    place = Path(folder)
    manifest, rows = read_run(place)
    released, contradiction = read_released(place), alarm(rows)
    proof = _proof(released)
    told = Told(
        _warnings(contradiction, proof),
        released,
        tuple(sentences.release_sentences(manifest, released, proof)),
        read_series(place, rows),
        _tools(place / PEERS if peers is None else peers, peers is not None),
    )
    with writing(path) as stream:
        stream.write(page(manifest, judged(rows), _words(manifest), told))
    return _verdict(manifest, rows, released, proof, contradiction)


def _tools(path: Path, needed: bool) -> ToolMatrix | None:
    from privopt.benchmarks.peers.page import matrix
    from privopt.benchmarks.peers.rows import read_peers

    return matrix(read_peers(path)) if needed or path.exists() else None


def judge_run(manifest: Manifest, rows: Sequence[Row], released: Released | None) -> Verdict:
    """The summary of a run in sentences, and whether its claims hold."""
    return _verdict(manifest, rows, released, _proof(released), alarm(rows))


def _proof(released: Released | None) -> Certificate | None:
    return None if released is None else verify(released.problem, released.solution)


def _verdict(
    manifest: Manifest,
    rows: Sequence[Row],
    released: Released | None,
    proof: Certificate | None,
    contradiction: str,
) -> Verdict:
    said = (
        *((contradiction,) if contradiction else ()),
        *sentences.headline(manifest, rows),
        *sentences.counts(rows),
        *sentences.release_sentences(manifest, released, proof),
    )
    holds = not contradiction and not any(row.broken for row in rows) and (proof is None or proof.ok)
    return Verdict(holds, said)


def _warnings(contradiction: str, proof: Certificate | None) -> tuple[str, ...]:
    """What must not be overlooked beside failed certificates: answers that contradict each other, a release that is not private."""
    unproved = (
        "" if proof is None or proof.ok else f"The release could not be proved private: {proof.reason}."
    )
    return tuple(filter(None, (contradiction, unproved)))


def _words(manifest: Manifest) -> Vocabulary:
    """How the run calls its problems and instances; of one that did not keep it, what its suite says today."""
    from privopt.benchmarks.runner.suite import suites, vocabulary

    suite = suites().get(manifest.suite)
    if manifest.words.problems or suite is None:
        return manifest.words
    return vocabulary(suite.instances())

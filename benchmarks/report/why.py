"""One alarm of a run in full: which claim, what differs, and how to prove it oneself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privopt.benchmarks.report.board import Alarm, alarms
from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.terminal import case_named
from privopt.benchmarks.runner.folder import PROBLEM, SOLUTION, alarm_folder, read_run
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.core.certificate import Certificate
from privopt.core.solution import Solution
from privopt.core.verify import verify
from privopt.errors import InvalidProblem
from privopt.files.load import load_problem

FIELDS = ("claim", "budget", "leakage", "utility", "worst", "where", "problem", "mechanism", "method")
"""Of a certificate, which are shown beside each other where they differ."""


def why(folder: Path, place: int) -> tuple[Alarm, list[str]]:
    """An alarm by its place, and the sentences that explain it.

    Raises
    ------
    FileRefused
        If the folder is not that of a run.
    InvalidProblem
        If there is no such alarm.
    """
    manifest, rows = read_run(folder)
    known = alarms(judged(rows))
    if not known:
        raise InvalidProblem(
            f"{folder}: every certified claim holds and no record differs; there is no alarm"
        )
    if not 1 <= place <= len(known):
        raise InvalidProblem(f"{folder}: there is no alarm {place}; they are 1 to {len(known)}")
    alarm = known[place - 1]
    return alarm, list(_sentences(alarm, manifest.words, folder))


def _sentences(alarm: Alarm, words: Vocabulary, folder: Path) -> Iterator[str]:
    row = alarm.row
    says = "The certified claim does not hold" if alarm.red else "The record differs, the claim holds"
    yield f"{says}: {case_named(alarm, words)}."
    yield f"When it ran: {alarm.what}."
    kept = alarm_folder(folder, row.key)
    if not (kept / SOLUTION).exists():
        yield "The answer itself was not kept; run the case again with --force to have it."
        return
    yield from _again(kept)
    yield f"Prove it yourself: {shlex.join(['privopt', 'verify', str(kept / PROBLEM), str(kept / SOLUTION)])}"


def _again(kept: Path) -> Iterator[str]:
    """What proving it now gives, and the stored values that differ from it."""
    problem, solution = load_problem(kept / PROBLEM), Solution[Any].load(kept / SOLUTION)
    fresh = verify(problem, solution)
    yield f"Proved now: {'it holds' if fresh.ok else f'it does not hold: {fresh.reason}'}."
    stored = solution.certificate
    if stored is not None:
        yield from _differences(stored, fresh)
    yield from (f"Remark: {text}." for text in fresh.remarks)


def _differences(stored: Certificate, fresh: Certificate) -> Iterator[str]:
    for name in FIELDS:
        before, now = getattr(stored, name), getattr(fresh, name)
        if before != now and now not in ("", ()):
            yield f"{name}: stored {before!r}, proved {now!r}"

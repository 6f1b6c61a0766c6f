"""A run in a terminal: at most twenty lines of a hundred columns, the finding first."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from privopt.benchmarks.report.board import Alarm, Board, ProblemLine, board
from privopt.benchmarks.report.entries import percent
from privopt.benchmarks.report.findings import Verdict
from privopt.benchmarks.report.judged import encode, judged
from privopt.benchmarks.report.results import UNDECIDED
from privopt.benchmarks.runner.folder import Manifest, read_run
from privopt.benchmarks.runner.rows import AUTO
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.files.text import number

WIDTH, LINES = 100, 20
ALARMS = 2
"""How many alarms are shown, each with the command that says more."""
HEADS = ("problem", "solve() best", "best by name", "change", "proved")
NAMES = 2
"""The column that gives way where a line is too long."""


def summary(verdict: Verdict, folder: Path, page: Path) -> list[str]:
    """The lines that a run ends with, from the files in its folder."""
    manifest, rows = read_run(folder)
    told = board(judged(rows), manifest.words)
    unsaid = not verdict.holds and not told.red
    return lines(told, manifest, verdict.sentences[:1] if unsaid else (), folder, page)


def in_json(verdict: Verdict, folder: Path) -> dict[str, Any]:
    """The same for a program: the numbers of the first screen, and every sentence."""
    manifest, rows = read_run(folder)
    told = board(judged(rows), manifest.words)
    return {
        "finding": {**asdict(told.finding), "worst": encode(told.finding.worst)},
        "counts": asdict(told.counts),
        "alarms": len(told.alarms),
        "summary": list(verdict.sentences),
    }


def lines(told: Board, manifest: Manifest, warnings: Sequence[str], folder: Path, page: Path) -> list[str]:
    """The lines of a board, with ``warnings`` that must not be overlooked beside its alarms."""
    words = manifest.words
    last = [f"Rows and files: {folder}", f"Report: {page}"]
    said = [*(clipped(f"! {text}") for text in warnings[:1]), *_alarms(told.alarms, words, folder)]
    room = LINES - 2 - len(said) - len(last)
    return [*_head(told, manifest), *_table(told.problems, room), *said, *last]


def clipped(text: str, width: int = WIDTH) -> str:
    """Text within a width, with a sign where it was cut.

    Examples
    --------
    >>> clipped("abcdef", 4), clipped("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _head(told: Board, manifest: Manifest) -> Iterator[str]:
    finding, counts = told.finding, told.counts
    if finding.best is None:
        best = f"{finding.answered} of {finding.cases} cases have a certified answer"
    else:
        best = f"privopt.solve() best in {finding.best} of {finding.cases} cases"
    broken = f"{finding.broken} CLAIMS DO NOT HOLD; " if finding.broken else ""
    held = f"{counts.held} of {counts.certificates} certified"
    seconds = f"{manifest.seconds:.0f} s"
    text = f"{manifest.suite}: {broken}{best}, {finding.proved} proved optimal, {held}"
    yield f"{clipped(text, WIDTH - len(seconds) - 2)}  {seconds}".rstrip()


def _table(problems: Sequence[ProblemLine], room: int) -> Iterator[str]:
    """A line a problem; what there is no room for is counted, and a sign that stands in it is explained."""
    undecided = any(line.auto is not None and line.auto.undecided for line in problems)
    room -= undecided
    shown = problems if len(problems) < room else problems[: room - 2]
    told = [HEADS, *map(_cells, shown)]
    widths = [max(len(line[i]) for line in told) for i in range(len(HEADS))]
    widths[NAMES] = min(widths[NAMES], WIDTH - 2 - 2 * (len(HEADS) - 1) - sum(widths) + widths[NAMES])
    fitted = [_names(line, widths[NAMES]) for line in shown]
    told = [HEADS, *((*c[:NAMES], n, *c[NAMES + 1 :]) for c, n in zip(told[1:], fitted, strict=True))]
    for line in told:
        cells = (
            clipped(text, width).ljust(width) if i < 3 else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        yield f"  {'  '.join(cells)}".rstrip()
    if len(shown) < len(problems):
        yield f"  and {len(problems) - len(shown)} more problems, which are in the report"
    if undecided:
        yield f"  {UNDECIDED}: so many more cases in which repetitions do not tell it from the best"


def _cells(line: ProblemLine) -> tuple[str, ...]:
    gain = "" if line.gain is None else line.gain.amount
    return (
        line.words.title,
        _auto(line),
        _names(line, WIDTH),
        gain,
        f"{line.proved}/{line.cases}",
    )


def _names(line: ProblemLine, width: int) -> str:
    """As many of the solvers by name as there is room for, three at most; how many more; what these leave."""
    names = [n.solver for n in line.named]
    solve = f", solve() alone {len(line.by_solve)}" if line.by_solve else ""
    beside = solve + (f", oracle alone {len(line.by_oracle)}" if line.by_oracle else "")
    for shown in range(min(3, len(names)), 0, -1):
        more = f" +{len(names) - shown}" if len(names) > shown else ""
        text = f"{', '.join(names[:shown])}{more}{beside}"
        if len(text) <= width or shown == 1:
            return text
    return beside.removeprefix(", ")


def _auto(line: ProblemLine) -> str:
    if line.auto is None:
        return ""
    lost = ""
    if line.worst is not None:
        lost = " ! no answer" if math.isinf(line.worst) else f" ! −{percent(line.worst)} %"
    tied = f" {UNDECIDED}{line.auto.undecided}" if line.auto.undecided else ""
    return f"{line.auto.won}/{line.auto.cases}{tied}{lost}"


def _alarms(alarms: Sequence[Alarm], words: Vocabulary, folder: Path) -> Iterator[str]:
    for alarm in alarms[:ALARMS]:
        says = "claim does not hold" if alarm.red else "record differs, claim holds"
        yield clipped(f"! {says}: {case_named(alarm, words)}")
    if alarms:
        yield f"! {len(alarms)} in all; to see one: {shlex.join(['privopt', 'bench', 'why', '1', str(folder)])}"


def case_named(alarm: Alarm, words: Vocabulary) -> str:
    """An alarm's solver and case, in words."""
    row = alarm.row
    told = words.instance(row.question, row.instance)
    solver = "solve()" if row.solver == AUTO else row.solver
    budget = f"{told.quantity.budget} = {number(row.budget)}"
    return f"{solver} on “{words.problem(row.question).short}”, {told.title}, {budget}"

"""What ``privopt bench dispatch`` does.

``privopt bench dispatch --quick`` runs some 40 cases once at a limit of 1 s, in three minutes; ``privopt bench
dispatch --limit 1 --limit 5`` all of them, three times, in about an hour; ``--limit 1 --limit 5 --limit 30`` also those
marked for it at 30 s. ``--only 'redaction/*'`` chooses cases. The same command goes on where a stopped run was.
``--against FOLDER`` takes what solvers by name did in an earlier run and measures only ``solve`` again, which is what
one wants after a change to the dispatcher. ``--show`` measures nothing and shows what a folder holds, also of a run that
was stopped or still goes on.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from privopt.benchmarks.regret.measure import Measuring, known_of
from privopt.benchmarks.regret.page import page, picture_svg, sentences, write_standings
from privopt.benchmarks.regret.regrets import (
    HEADER,
    Standing,
    latest,
    said,
    slowest,
    standings,
    summary,
    worst,
)
from privopt.benchmarks.regret.rows import ANCHOR, NAME, SOLVE, mend, read_runs
from privopt.benchmarks.runner.case import cases
from privopt.benchmarks.runner.folder import prepare
from privopt.benchmarks.runner.machine import environment
from privopt.benchmarks.timings.run import measuring
from privopt.cli.show import check_output, emit, table
from privopt.errors import InvalidProblem
from privopt.files.json import writing
from privopt.files.numbers import encode_float
from privopt.files.text import number

TABLE, PICTURE = "standings.csv", "regrets.svg"
LIMITS = {True: (1.0,), False: (1.0, 5.0)}
"""Seconds, by whether the run is quick."""
REPETITIONS = {True: 1, False: 3}


def dispatch_command(
    folder: Path,
    report: Path,
    *,
    limits: Sequence[float] = (),
    pattern: str = "*",
    quick: bool = False,
    repetitions: int | None = None,
    solvers: Sequence[str] = (),
    against: Path | None = None,
    force: bool = False,
    show: bool = False,
    as_json: bool = False,
) -> None:
    """Measure ``solve`` on the suite, write rows, table and page, print the summary.

    Raises
    ------
    InvalidProblem
        If no case matches, or there is nothing to show.
    FileRefused
        If the folder or the page cannot be read or written.
    """
    chosen = cases(pattern, quick=quick)
    prepare(folder)
    check_output(report)
    if force and not show:
        (folder / NAME).unlink(missing_ok=True)
    if not show:
        mend(folder)
    when, begun = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), time.monotonic()
    known = read_runs(folder)
    if against is not None:
        known += [run for run in known_of([against]) if run.solver not in (SOLVE, ANCHOR) and not run.paired]
    job = Measuring(
        folder, tuple(limits) or LIMITS[quick], repetitions or REPETITIONS[quick], solvers, known=known
    )
    runs = known
    if not show:
        with measuring(len(chosen)) as listener:
            runs = job.run(chosen, listener)
    names = {case.name for case in chosen}
    stands = standings([run for run in runs if run.case in names])
    if not stands:
        raise InvalidProblem(f"nothing was measured in {folder}; leave --show out to do so")
    write_standings(folder / TABLE, stands)
    with writing(report) as stream:
        stream.write(page(stands, when, time.monotonic() - begun, environment(), again(job, pattern, quick)))
    if find_spec("matplotlib") is not None:
        with writing(folder / PICTURE) as stream:
            stream.write(picture_svg(stands))
    if as_json:
        lines = [
            {k: encode_float(v) if isinstance(v, float) else v for k, v in asdict(s).items()} for s in stands
        ]
        emit(
            {
                "standings": lines,
                "summary": list(sentences(stands)),
                "folder": str(folder),
                "report": str(report),
            }
        )
        return
    _show(stands)
    print(f"Rows: {folder / NAME}\nTable: {folder / TABLE}\nReport: {report}")


def again(job: Measuring, pattern: str, quick: bool) -> str:
    """The command that measures the same.

    Examples
    --------
    >>> again(Measuring(Path("runs"), (1.0, 5.0), 3), "redaction/*", False)
    "privopt bench dispatch --limit 1.0 --limit 5.0 --repetitions 3 --only 'redaction/*'"
    """
    told = ["privopt", "bench", "dispatch", *(["--quick"] if quick else [])]
    for limit in job.limits:
        told += ["--limit", str(limit)]
    told += ["--repetitions", str(job.repetitions)]
    for solver in job.solvers:
        told += ["--solver", solver]
    return shlex.join(told + (["--only", pattern] if pattern != "*" else []))


def _show(stands: Sequence[Standing]) -> None:
    table(summary(stands), HEADER)
    for title, chosen in (
        ("largest regrets", worst(stands)),
        ("latest", latest(stands)),
        ("slowest where the optimum is proved", slowest(stands)),
    ):
        print(f"\n{title}:")
        table(
            _cells(chosen),
            ("case", "limit", "regret", "solve", "by", "best", "by", "seconds", "late", "fastest"),
        )


def _cells(stands: Iterable[Standing]) -> list[tuple[str, ...]]:
    return [
        (
            s.case,
            f"{s.limit:g}",
            said(s.regret, 3),
            number(s.objective, 6),
            s.winner,
            number(s.best, 6),
            s.best_by,
            number(s.seconds, 3),
            number(s.late, 3),
            number(s.fastest, 3),
        )
        for s in stands
    ]

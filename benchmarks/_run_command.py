"""The commands that run a suite and put runs together."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from privopt._cli_show import complain, emit
from privopt.benchmarks._job import Job
from privopt.benchmarks._progress import progress
from privopt.benchmarks._signals import Interrupted
from privopt.benchmarks.report import Verdict

if TYPE_CHECKING:
    from privopt.benchmarks._rows import Row

INTERRUPTED = 130


def run_command(job: Job) -> Verdict:
    """Run a job with its progress shown; if it is stopped, say how to go on and exit with 130."""
    left = job.left()
    if left < len(job.asked):
        complain(f"{job.suite.name}: {len(job.asked) - left} of {len(job.asked)} tasks are done already")
    try:
        with progress(job.suite.name, left) as listener:
            return job.run(listener)
    except Interrupted as cause:
        complain(
            f"privopt: stopped: {cause.done} of {cause.total} tasks are done, their rows are in {job.folder}. "
            f"To go on: {resume(sys.argv[1:])}"
        )
        raise typer.Exit(INTERRUPTED) from cause


def resume(arguments: Sequence[str]) -> str:
    """The command that goes on: the same one, but it does not do again what is done.

    Examples
    --------
    >>> resume(["bench", "run", "quick", "--force", "--output", "my runs"])
    "privopt bench run quick --output 'my runs'"
    """
    return shlex.join(("privopt", *(argument for argument in arguments if argument != "--force")))


def parse_seeds(text: str) -> tuple[int, ...]:
    """The distinct seeds of ``0,1,2``, in the order given.

    Raises
    ------
    typer.BadParameter
        If one is not an integer >= 0.

    Examples
    --------
    >>> parse_seeds("3,0,3")
    (3, 0)
    """
    try:
        found = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        found = (-1,)
    if min(found) < 0:
        raise typer.BadParameter(
            f"{text!r} is not a list of integers >= 0 such as 0,1,2", param_hint="--seeds"
        )
    return found


def merge_command(output: Path, runs: Sequence[Path], as_json: bool) -> None:
    """Merge runs and say what the result holds."""
    from privopt.benchmarks._merge import merge

    rows = merge(output, runs)
    if as_json:
        emit({"folder": str(output), "rows": len(rows), "suites": _suites(rows)})
    else:
        print(f"{len(rows)} rows of {', '.join(_suites(rows)) or 'no suite'} in {output}")


def _suites(rows: Sequence[Row]) -> list[str]:
    return sorted({row.suite for row in rows})

"""The commands that run a suite and put runs together, with their progress."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from privopt.benchmarks.runner.files import suite_of_files, with_baseline
from privopt.benchmarks.runner.job import Interrupted, Job, Listener
from privopt.benchmarks.runner.outcome import Outcome
from privopt.benchmarks.runner.suite import Suite, find_suite
from privopt.cli.show import complain, emit
from privopt.files.text import number

if TYPE_CHECKING:
    from privopt.benchmarks.report.write import Verdict
    from privopt.benchmarks.runner.rows import Row


@contextmanager
def progress(title: str, total: int) -> Iterator[Listener]:
    """A listener that shows each outcome on standard error, so that standard output stays clean."""
    if not sys.stderr.isatty():
        yield _plain(title, total)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    left = (TextColumn("left"), TimeRemainingColumn())
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        *left,
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=600) as bar:
        task = bar.add_task(title, total=total)

        def listen(outcome: Outcome, left: int) -> None:
            bar.update(task, completed=total - left, description=_describe(outcome))

        yield listen


def _plain(title: str, total: int) -> Listener:
    """About ten lines, each with the time left if the rest goes on at the same pace."""
    begun, shown = time.monotonic(), 0

    def listen(outcome: Outcome, left: int) -> None:
        nonlocal shown
        done = total - left
        if left == 0 or done * 10 // total > shown * 10 // total:
            seconds = (time.monotonic() - begun) / max(1, done) * left
            print(
                f"{title}: {done}/{total}, about {seconds:.0f} s left; {_describe(outcome)}",
                file=sys.stderr,
                flush=True,
            )
        shown = done

    return listen


def _describe(outcome: Outcome) -> str:
    row = outcome.row
    return (
        f"{row.instance}, budget {number(row.budget)}, {row.solver}: {row.status.lower().replace('_', ' ')}"
    )


INTERRUPTED = 130


def run_command(job: Job) -> Verdict:
    """Run a job with its progress shown; if it is stopped, say how to go on and exit with 130."""
    left = job.left()
    if left < len(job.selected):
        complain(
            f"{job.suite.name}: {len(job.selected) - left} of {len(job.selected)} tasks are done already"
        )
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
        seeds = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        seeds = (-1,)
    if min(seeds) < 0:
        raise typer.BadParameter(
            f"{text!r} is not a list of integers >= 0 such as 0,1,2", param_hint="--seeds"
        )
    return seeds


def chosen_seeds(seed: int, seeds: str | None, repeat: int | None) -> tuple[int, ...]:
    """The seeds that three options ask for: one, those of a list, or as many as there are repetitions.

    Raises
    ------
    typer.BadParameter
        If a list and a number of repetitions are both there, or the list is none.

    Examples
    --------
    >>> chosen_seeds(7, None, None), chosen_seeds(0, "3,1", None), chosen_seeds(2, None, 3)
    ((7,), (3, 1), (2, 3, 4))
    """
    if seeds is not None and repeat is not None:
        raise typer.BadParameter(
            "name the seeds, or say how many there are with --repeat, not both", param_hint="--seeds"
        )
    if seeds is not None:
        return parse_seeds(seeds)
    return tuple(range(seed, seed + (1 if repeat is None else repeat)))


def parse_budgets(text: str) -> tuple[float, ...]:
    """The distinct budgets of ``0.1,0.5,1``, in the order given.

    Raises
    ------
    typer.BadParameter
        If one is not a number >= 0.

    Examples
    --------
    >>> parse_budgets("0.1,inf,0.1")
    (0.1, inf)
    """
    try:
        budgets = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        budgets = (-1.0,)
    if not all(budget >= 0 for budget in budgets):
        raise typer.BadParameter(
            f"{text!r} is not a list of numbers >= 0 such as 0.1,0.5,1", param_hint="--budgets"
        )
    return budgets


def chosen_suite(name: str | None, problems: Sequence[Path], budgets: str | None, baseline: str) -> Suite:
    """The suite of that name, or the one made of problem files, with the baseline that reports compare with.

    Raises
    ------
    typer.BadParameter
        If there is a name and files, or neither, or budgets for a suite that has its own.
    InvalidProblem
        If there is no such suite, or the files make none.
    """
    if (name is None) == (not problems):
        raise typer.BadParameter(
            "name a suite (see: privopt bench list), or problem files with --problem, and not both",
            param_hint="SUITE",
        )
    if name is None:
        return suite_of_files(problems, () if budgets is None else parse_budgets(budgets), baseline=baseline)
    if budgets is not None:
        raise typer.BadParameter(f"the suite {name} has budgets of its own", param_hint="--budgets")
    return with_baseline(find_suite(name), baseline)


def merge_command(output: Path, runs: Sequence[Path], as_json: bool) -> None:
    """Merge runs and say what the result holds."""
    from privopt.benchmarks.runner.folder import merge

    rows = merge(output, runs)
    if as_json:
        emit({"folder": str(output), "rows": len(rows), "suites": _suites(rows)})
    else:
        print(f"{len(rows)} rows of {', '.join(_suites(rows)) or 'no suite'} in {output}")


def _suites(rows: Sequence[Row]) -> list[str]:
    return sorted({row.suite for row in rows})

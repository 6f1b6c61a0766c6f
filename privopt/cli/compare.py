"""The command that runs every solver of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson, ProblemFile, Seed, TimeLimit
from privopt.core.compare import HEADER, row
from privopt.files.json import writing

if TYPE_CHECKING:
    import pandas as pd

CsvFile = Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write the table to this file.")]


def compare(
    problem: ProblemFile,
    solver: Annotated[
        list[str] | None, typer.Option(help="A solver to run; repeat for more. All by default.")
    ] = None,
    time_limit: TimeLimit = 10.0,
    seed: Seed = 0,
    output: CsvFile = None,
    as_json: AsJson = False,
) -> None:
    """Run every solver of a problem and judge each; exit code 1 if none solves it."""
    show.check_output(output, problem)
    loaded = po.load_problem(problem)
    with show.progress("comparing") as told:
        comparison = po.compare(loaded, solver or None, time_limit=time_limit, seed=seed, progress=told)
    if output is not None:
        write_table(output, comparison.to_frame())
    if as_json:
        show.emit(document(loaded, comparison.solutions))
    else:
        show.table([row(s) for s in comparison], HEADER)
        show.legend([s.status for s in comparison])
    raise typer.Exit(0 if any(s.status.ok for s in comparison) else 1)


def document(loaded: po.Problem[Any], solutions: Sequence[po.Solution[Any]]) -> dict[str, Any]:
    """Solutions of one problem, as JSON."""
    return {"problem": loaded.fingerprint, "solutions": [s.to_dict() for s in solutions]}


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write a table as CSV, whole or not at all."""
    with writing(path) as stream:
        frame.to_csv(stream, index=False, lineterminator="\n")

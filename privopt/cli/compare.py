"""The commands that search many times: compare, frontier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson, ProblemFile, Seed, TimeLimit
from privopt.core.compare import HEADER, row
from privopt.files.json import writing
from privopt.files.numbers import encode_float
from privopt.files.text import number

if TYPE_CHECKING:
    import pandas as pd

MOST_BUDGETS = 10_000

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
        found = po.compare(loaded, solver or None, time_limit=time_limit, seed=seed, progress=told)
    if output is not None:
        _write_table(output, found.to_frame())
    if as_json:
        show.emit(_document(loaded, found.solutions))
    else:
        show.table([row(s) for s in found], HEADER)
    raise typer.Exit(0 if any(s.status.ok for s in found) else 1)


def frontier(
    problem: ProblemFile,
    budgets: Annotated[
        str, typer.Option(help="Numbers 0.1,0.5,1 or a grid start:stop:count, both ends included.")
    ],
    solver: Annotated[str | None, typer.Option(help="Run this solver only.")] = None,
    time_limit: TimeLimit = 10.0,
    seed: Seed = 0,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler, as tcp://host:8786, whose workers solve the budgets.")
    ] = None,
    output: CsvFile = None,
    as_json: AsJson = False,
) -> None:
    """Solve one problem for many budgets; exit code 1 if it is not solved for one of them."""
    show.check_output(output, problem)
    grid, loaded = parse_budgets(budgets), po.load_problem(problem)
    with show.progress("frontier") as told:
        found = po.frontier(
            loaded,
            grid,
            solver,
            time_limit=time_limit,
            seed=seed,
            progress=told,
            scheduler=scheduler,
        )
    if output is not None:
        _write_table(output, found.to_frame())
    if as_json:
        show.emit({"budgets": [encode_float(b) for b in found.budgets], **_document(loaded, found.solutions)})
    else:
        rows = [(number(b), *row(s)) for b, s in zip(found.budgets, found, strict=True)]
        show.table(rows, ("budget", *HEADER))
    raise typer.Exit(0 if all(s.status.ok for s in found) else 1)


def parse_budgets(text: str) -> list[float]:
    """The budgets of ``0.1,0.5,1`` or of ``start:stop:count``.

    Examples
    --------
    >>> parse_budgets("0.5,1,inf"), parse_budgets("0:2:3")
    ([0.5, 1.0, inf], [0.0, 1.0, 2.0])
    """
    try:
        if ":" not in text:
            found = [float(part) for part in text.split(",")]
        else:
            start, stop, count = text.split(":")
            found = _grid(float(start), float(stop), int(count))
    except ValueError as cause:
        raise _malformed(text) from cause
    if not all(b >= 0 for b in found):
        raise _malformed(text)
    return found


def _grid(start: float, stop: float, count: int) -> list[float]:
    if not 2 <= count <= MOST_BUDGETS or not math.isfinite(start) or not math.isfinite(stop):
        raise ValueError("not a finite grid")
    return [start + (stop - start) * i / (count - 1) for i in range(count)]


def _malformed(text: str) -> typer.BadParameter:
    return typer.BadParameter(
        f"{text!r} is not a list of numbers >= 0 such as 0.1,0.5,1, nor a grid start:stop:count of 2 to "
        f"{MOST_BUDGETS} such as 0:2:5",
        param_hint="--budgets",
    )


def _document(loaded: po.Problem[Any], solutions: Sequence[po.Solution[Any]]) -> dict[str, Any]:
    return {"problem": loaded.fingerprint, "solutions": [s.to_dict() for s in solutions]}


def _write_table(path: Path, frame: pd.DataFrame) -> None:
    with writing(path) as stream:
        frame.to_csv(stream, index=False, lineterminator="\n")

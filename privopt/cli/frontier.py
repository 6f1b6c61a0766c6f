"""The command that solves one problem for many budgets."""

from __future__ import annotations

import math
from typing import Annotated

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.compare import CsvFile, document, write_table
from privopt.cli.solve import AsJson, ProblemFile, Seed, TimeLimit
from privopt.core.compare import HEADER, row
from privopt.files.numbers import encode_float
from privopt.files.text import number

MOST_BUDGETS = 10_000


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
        curve = po.frontier(
            loaded,
            grid,
            solver,
            time_limit=time_limit,
            seed=seed,
            progress=told,
            scheduler=scheduler,
        )
    if output is not None:
        write_table(output, curve.to_frame())
    if as_json:
        show.emit({"budgets": [encode_float(b) for b in curve.budgets], **document(loaded, curve.solutions)})
    else:
        rows = [(number(b), *row(s)) for b, s in zip(curve.budgets, curve, strict=True)]
        show.table(rows, ("budget", *HEADER))
        show.legend([s.status for s in curve])
    raise typer.Exit(0 if all(s.status.ok for s in curve) else 1)


def parse_budgets(text: str) -> list[float]:
    """The budgets of ``0.1,0.5,1`` or of ``start:stop:count``.

    Examples
    --------
    >>> parse_budgets("0.5,1,inf"), parse_budgets("0:2:3")
    ([0.5, 1.0, inf], [0.0, 1.0, 2.0])
    """
    try:
        if ":" not in text:
            budgets = [float(part) for part in text.split(",")]
        else:
            start, stop, count = text.split(":")
            budgets = _grid(float(start), float(stop), int(count))
    except ValueError as cause:
        raise _malformed(text) from cause
    if not all(b >= 0 for b in budgets):
        raise _malformed(text)
    return budgets


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

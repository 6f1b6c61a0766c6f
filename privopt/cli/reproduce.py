"""The command that computes again what the papers print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            metavar="all|quick|SOURCE|ITEM",
            help="Everything; everything on coarse grids; a source by its letter; or one item such as R-T1.",
        ),
    ] = "all",
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; without it only the table is printed.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Coarse grids and few instances only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Compute the figures, tables, algorithms, theorems and numbers of the papers again, with a verdict for each.

    Data sets that do not ship are read from the folder that the environment variable PRIVOPT_DATA names. Exit code 0:
    done; 1: an item failed or nothing computes it; 2: misuse.
    """
    from privopt.benchmarks.papers.reproduce import reproduce_command

    if not reproduce_command(what, quick, report, as_json):
        raise typer.Exit(1)

"""The command that lists the solvers."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson
from privopt.files.text import number


def solvers(
    problem: Annotated[
        Path | None,
        typer.Argument(metavar="PROBLEM.json", help="Who could answer this one.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all problems with their solvers, or who takes one problem and who refuses it and why."""
    if problem is None:
        _all_solvers(as_json)
    else:
        _candidates(po.load_problem(problem), as_json)


def _all_solvers(as_json: bool) -> None:
    from privopt.core.registry import problem_types, solvers_of

    listed = {kind: solvers_of(cls) for kind, cls in problem_types().items()}
    rows = [(kind, name, _summary(cls)) for kind, classes in listed.items() for name, cls in classes.items()]
    if as_json:
        show.emit({"solvers": [dict(zip(("problem", "name", "summary"), row, strict=True)) for row in rows]})
    else:
        show.table(rows, ("problem", "solver", "what it does"))


def _summary(cls: type) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _candidates(loaded: po.Problem[Any], as_json: bool) -> None:
    candidates = po.candidates(loaded)
    if as_json:
        show.emit({"problem": loaded.fingerprint, "candidates": [_candidate(c) for c in candidates]})
        return
    rows = [(c.name, c.guarantee or "refuses", number(c.seconds, 2), c.refusal or "") for c in candidates]
    show.table(rows, ("solver", "guarantee", "seconds", "why not"))


def _candidate(c: po.Candidate) -> dict[str, Any]:
    guarantee = None if c.guarantee is None else c.guarantee.name
    return {"name": c.name, "guarantee": guarantee, "seconds": c.seconds, "refusal": c.refusal}

"""The command that proves a solution again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson, ProblemFile
from privopt.errors import InvalidMechanism


def verify(
    problem: ProblemFile,
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION.json", help="What is to be proved.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Prove a solution again from the two files alone; exit code 1 if it is not proved.

    No solver runs and nothing that the files claim is believed. What differs without harm is said in remarks.
    """
    loaded = po.load_problem(problem)
    certificate, solver = _proof(loaded, solution)
    if as_json:
        show.emit(certificate.to_dict())
    elif certificate.ok:
        show.sentences(certificate.sentences())
    else:
        whose = f" (an answer of the solver {solver!r})" if solver else ""
        show.complain(f"NOT PROVED: {certificate.reason}{whose}")
    raise typer.Exit(0 if certificate.ok else 1)


def _proof(loaded: po.Problem[Any], path: Path) -> tuple[po.Certificate, str]:
    """The fresh certificate, and whose answer it is; a mechanism that contradicts itself is a failed proof, not a malformed file."""
    try:
        solution = po.Solution[Any].load(path)
    except InvalidMechanism as cause:
        claim = "the solution is what it says"
        return po.Certificate(False, claim, str(cause), loaded.budget, problem=loaded.fingerprint), ""
    return po.verify(loaded, solution), solution.solver

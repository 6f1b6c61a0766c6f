"""The command that says what a release means."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson, ProblemFile


def explain(
    problem: ProblemFile,
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION.json", help="What is to be explained.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it as .txt, .html or .pdf, the latter two with a picture."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say in at most eight plain sentences what a release protects, what it does not, and how useful it is.

    The solution is proved first: what does not hold is not explained, and the exit code is 1.
    """
    show.check_output(output, problem, solution)
    loaded, answer = po.load_problem(problem), po.Solution[Any].load(solution)
    certificate = po.verify(loaded, answer)
    if not certificate.ok:
        show.complain(f"NOT PROVED, so there is nothing to explain: {certificate.reason}")
        raise typer.Exit(1)
    explanation = answer.explain(loaded)
    if output is not None:
        explanation.save(output)
    if as_json:
        show.emit(
            {
                "title": explanation.title,
                "sentences": list(explanation.sentences),
                "numbers": dict(explanation.numbers),
            }
        )
        return
    show.sentences(explanation.sentences)
    if output is not None:
        show.facts([("written", output)])

"""The command that says what a release means."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson, ProblemFile
from privopt.publication.explain import explain as explain_solution
from privopt.publication.receipt import Receipt
from privopt.publication.released import read_released
from privopt.publication.table import check_table


def explain(
    problem: ProblemFile,
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION.json", help="What is to be explained.", show_default=False)
    ],
    released: Annotated[
        Path | None, typer.Argument(metavar="[RELEASED.csv]", help="The released table, which is checked.")
    ] = None,
    receipt: Annotated[
        Path | None,
        typer.Option(metavar="RECEIPT.json", help="The receipt of the release: what it adds is said too."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it as .txt, .html or .pdf, the latter two with a picture."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say in at most eight plain sentences what a release protects, what it does not, and how useful it is.

    The solution is proved first: what does not hold is not explained, and the exit code is 1. So it is with a released table, and
    with a receipt of another release.
    """
    show.check_output(output, problem, solution)
    loaded, answer = po.load_problem(problem), po.Solution[Any].load(solution)
    certificate = po.verify(loaded, answer)
    if not certificate.ok:
        show.complain(f"NOT PROVED, so there is nothing to explain: {certificate.reason}")
        raise typer.Exit(1)
    paper = None if receipt is None else Receipt.load(receipt)
    fault = None if paper is None else paper.fault(answer.mechanism, answer.certificate)
    if fault is None and released is not None:
        fault = _fault_of(loaded, answer, released, paper)
    if fault is not None:
        show.complain(f"NOT PROVED, so there is nothing to explain: {fault}")
        raise typer.Exit(1)
    explanation = explain_solution(loaded, answer, paper)
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


def _fault_of(
    problem: po.Problem[Any], solution: po.Solution[Any], released: Path, receipt: Receipt | None
) -> str | None:
    """What speaks against a table's being a release of this mechanism."""
    fault = None if receipt is None else receipt.fault_of_file(released)
    if fault is not None:
        return fault
    layout = None if receipt is None else receipt.layout
    table = read_released(released, receipt is not None and receipt.raw_cells)
    told = check_table(problem, solution.mechanism, table, layout)
    return None if told.ok else told.sentence().rstrip(".")

"""The command that says what a release means."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import privopt as po
from privopt.cli import show
from privopt.cli._bundles import Place, bundle_at
from privopt.cli.solve import AsJson
from privopt.cli.verify import First
from privopt.errors import FileRefused
from privopt.publication.bundle import WORDS, read_bundle, verify_bundle
from privopt.publication.explain import EACH, Explanation
from privopt.publication.explain import explain as explain_solution
from privopt.publication.receipt import Receipt
from privopt.publication.released import read_released
from privopt.publication.table import check_table
from privopt.publication.worst import CASES

CASE_KEYS = ("value", "before", "most", "most_by", "times", "least", "least_by")
"""Of the rows of what is said of each value, in JSON."""


def explain(
    problem: First,
    solution: Annotated[
        Path | None,
        typer.Argument(
            metavar="SOLUTION.json",
            help="What is to be explained; with a bundle, the released table.",
            show_default=False,
        ),
    ] = None,
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
    with a receipt of another release. A bundle, or the folder of a release, holds all of that.
    """
    place = bundle_at(problem, solution)
    if place is not None:
        if released is not None or receipt is not None:
            raise FileRefused(
                "with a bundle give the released table only: privopt explain BUNDLE.zip [RELEASED.csv]"
            )
        show.check_output(output, place.bundle)
        explanation = _of_bundle(place)
    elif solution is None:
        raise FileRefused(
            "Missing argument 'SOLUTION.json': give a problem and its solution, a bundle, or the folder of a release"
        )
    else:
        show.check_output(output, problem, solution)
        explanation = _of_files(problem, solution, released, receipt)
    if output is not None:
        explanation.save(output)
    if as_json:
        show.emit(
            {
                "title": explanation.title,
                "sentences": list(explanation.sentences),
                "numbers": dict(explanation.numbers),
                "cases": [dict(zip(CASE_KEYS, row, strict=True)) for row in explanation.cases],
            }
        )
        return
    tell(explanation)
    if output is not None:
        show.facts([("written", output)])


def tell(explanation: Explanation) -> None:
    """Print the sentences, and the table of what single releases say of each value of the secret."""
    show.sentences(explanation.sentences)
    if explanation.cases:
        show.sentences([EACH])
        show.table(explanation.cases, CASES)


def _of_files(problem: Path, solution: Path, released: Path | None, receipt: Path | None) -> Explanation:
    """What a solution of a problem means, if it is proved and table and receipt are of it."""
    loaded, answer = po.load_problem(problem), po.Solution[Any].load(solution)
    certificate = po.verify(loaded, answer)
    if not certificate.ok:
        _refuse(certificate.reason)
    paper = None if receipt is None else Receipt.load(receipt)
    fault = None if paper is None else paper.fault(answer.mechanism, answer.certificate)
    if fault is None and released is not None:
        fault = _fault_of(loaded, answer, released, paper)
    if fault is not None:
        _refuse(fault)
    return explain_solution(loaded, answer, paper)


def _of_bundle(place: Place) -> Explanation:
    """What the release of a bundle means, if all in it is proved and the released table is of it."""
    contents = read_bundle(place.bundle)
    if contents.problem is None:
        _refuse(
            "the counted model was left out of this public bundle, so that its numbers cannot be read again; whoever has the model explains "
            f"it ({WORDS} in the bundle was written by them, and is not checked)"
        )
    certificate = verify_bundle(place.bundle, place.released)
    if not certificate.ok:
        _refuse(certificate.reason)
    return explain_solution(contents.problem, contents.solution, contents.receipt)


def _refuse(why: str) -> NoReturn:
    """Say that there is nothing to explain, and leave."""
    show.complain(f"NOT PROVED, so there is nothing to explain: {why}")
    raise typer.Exit(1)


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

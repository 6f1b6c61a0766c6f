"""The command that proves a solution or a bundle again, and looks at a released table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson
from privopt.errors import FileRefused, InvalidMechanism
from privopt.publication.bundle import verify_bundle
from privopt.publication.receipt import Receipt
from privopt.publication.table import Layout, check_table, read_released

First = Annotated[
    Path,
    typer.Argument(metavar="PROBLEM.json|BUNDLE.zip", help="The problem, or a bundle.", show_default=False),
]
Second = Annotated[
    Path | None,
    typer.Argument(
        metavar="SOLUTION.json",
        help="What is to be proved; with a bundle, the released table.",
        show_default=False,
    ),
]
Third = Annotated[
    Path | None, typer.Argument(metavar="[RELEASED.csv]", help="A released table.", show_default=False)
]


def verify(
    problem: First,
    solution: Second = None,
    released: Third = None,
    receipt: Annotated[
        Path | None, typer.Option(metavar="RECEIPT.json", help="The receipt of the released table.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A released column of the table; repeat for more. By default from the receipt.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A column of the table that was copied on purpose; repeat for more."
        ),
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="The column of users.")] = None,
    mark: Annotated[str, typer.Option(metavar="TEXT", help="What stands in redacted cells.")] = "",
    others: Annotated[
        bool, typer.Option("--others", help="The people are others than those whom the model counted.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Prove a solution again from the two files alone, or a bundle; exit code 1 if it is not proved.

    No solver runs and nothing that the files claim is believed. What differs without harm is said in remarks. A released table is
    refused if it holds what is never released, in frequencies that are not plausible, or the secret beside it.
    """
    if problem.suffix == ".zip":
        if released is not None or receipt is not None or column or keep:
            raise FileRefused(
                "with a bundle give the released table only: privopt verify BUNDLE.zip [RELEASED.csv]"
            )
        _tell(verify_bundle(problem, solution), "", as_json)
    if solution is None:
        raise FileRefused("Missing argument 'SOLUTION.json': give a problem and its solution, or a bundle")
    loaded = po.load_problem(problem)
    certificate, answer = _proof(loaded, solution)
    if certificate.ok and answer is not None and released is not None:
        layout = Layout(tuple(column or ()), tuple(keep or ()), mark=mark, by=by)
        certificate = _with_table(
            certificate, loaded, answer, released, receipt, replace(layout, others=others)
        )
    _tell(certificate, "" if answer is None else answer.solver, as_json)


def _tell(certificate: po.Certificate, solver: str, as_json: bool) -> None:
    """Print the verdict and leave."""
    if as_json:
        show.emit(certificate.to_dict())
    elif certificate.ok:
        show.sentences(certificate.sentences())
    else:
        whose = f" (an answer of the solver {solver!r})" if solver else ""
        show.complain(f"NOT PROVED: {certificate.reason}{whose}")
    raise typer.Exit(0 if certificate.ok else 1)


def _proof(loaded: po.Problem[Any], path: Path) -> tuple[po.Certificate, po.Solution[Any] | None]:
    """The fresh certificate, and what it is of; a mechanism that contradicts itself is a failed proof, not a malformed file."""
    try:
        solution = po.Solution[Any].load(path)
    except InvalidMechanism as cause:
        claim = "the solution is what it says"
        return po.Certificate(False, claim, str(cause), loaded.budget, problem=loaded.fingerprint), None
    return po.verify(loaded, solution), solution


def _with_table(
    certificate: po.Certificate,
    problem: po.Problem[Any],
    solution: po.Solution[Any],
    released: Path,
    receipt: Path | None,
    layout: Layout,
) -> po.Certificate:
    """The certificate with what is found of a table."""
    paper = None if receipt is None else Receipt.load(receipt)
    if paper is not None:
        fault = (
            paper.fault(solution.mechanism, solution.certificate)
            or paper.fault_of_words(solution.mechanism, problem)
            or paper.fault_of_file(released)
        )
        if fault is not None:
            return replace(certificate, ok=False, reason=fault)
        layout = replace(paper.layout, others=layout.others)
    told = check_table(problem, solution.mechanism, read_released(released), layout)
    if not told.ok:
        return replace(certificate, ok=False, reason=told.sentence().rstrip("."))
    said = () if paper is None else paper.sentences(certificate.kind == "average")
    remarks = (told.sentence(), *(f"by the receipt: {text}" for text in said))
    return replace(certificate, remarks=(*certificate.remarks, *(text.rstrip(".") for text in remarks)))

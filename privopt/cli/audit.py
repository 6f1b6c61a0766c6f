"""The command that measures a mechanism by rows that it was not computed from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson
from privopt.errors import FileRefused, InvalidModel, PrivoptError
from privopt.files.csv import read_table
from privopt.publication.audit import Terms, audit_cells, posed_problem
from privopt.publication.bundle import read_bundle
from privopt.publication.holdout import described, nominal_joint
from privopt.publication.publication import PROBLEM

Audited = Annotated[
    Path,
    typer.Argument(
        metavar="SOLUTION.json|BUNDLE.zip",
        help="What is audited; a bundle holds its problem.",
        show_default=False,
    ),
]
HoldOut = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE.csv",
        help="Other rows of the population than those that the model counted, with the secret.",
        show_default=False,
    ),
]
Posed = Annotated[
    Path | None,
    typer.Option(
        metavar="PROBLEM.json",
        help="The problem that was solved; by default problem.json beside the solution.",
    ),
]
Secret = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[,NAME...]", help="The columns of the secret, where the model does not remember them."
    ),
]
Shown = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAME[,NAME...]",
        help="The columns that are read, where the model does not remember them.",
    ),
]
Confidence = Annotated[
    float, typer.Option(metavar="PART", help="How often the interval holds the leakage in the population.")
]
Method = Annotated[
    str, typer.Option(metavar="NAME", help="How probabilities are bounded: clopper-pearson or weissman.")
]
Unseen = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="Rows that the mechanism does not read: refuse, or drop (they are never released).",
    ),
]


def audit(
    solution: Audited,
    table: HoldOut,
    problem: Posed = None,
    secret: Secret = None,
    columns: Shown = None,
    confidence: Confidence = 0.95,
    method: Method = "clopper-pearson",
    unseen: Unseen = "refuse",
    as_json: AsJson = False,
) -> None:
    """Measure a mechanism by other rows of the population: what it leaks there, with an interval, and how few rows are behind it.

    A certificate holds for the distribution, or the set of distributions, that it names. This says how far the population is from it: the
    leakage as these rows are spread, an interval that holds the leakage in the population with the confidence, the share of people beyond
    the budget, and the rarest release and pair. The solution is proved first. Exit code 1 if it is not proved, or if the interval
    lies beyond the budget.
    """
    terms = Terms(confidence, method, unseen, text=True)
    posed, answer = _posed(solution, problem)
    certificate = po.verify(posed, answer)
    if not certificate.ok:
        show.complain(f"NOT PROVED, so there is nothing to audit: {certificate.reason}")
        raise typer.Exit(1)
    try:
        known = described(nominal_joint(posed), _names(secret), _names(columns))
        read = read_table(table, list(dict.fromkeys((*known.secret_names, *known.reads_names))))
        told = audit_cells(posed, answer, known, read.columns, terms)
    except InvalidModel as cause:
        raise FileRefused(f"{table}: {cause}") from cause
    if as_json:
        show.emit(told.to_dict())
    else:
        show.facts(told.facts())
    raise typer.Exit(0 if told.ok else 1)


def _posed(solution: Path, problem: Path | None) -> tuple[po.Problem[Any], po.Solution[Any]]:
    """The problem and the solution, from two files or from a bundle.

    Raises
    ------
    FileRefused, InvalidProblem
        If the problem is nowhere, or another one.
    """
    if solution.suffix == ".zip":
        contents = read_bundle(solution)
        if contents.problem is None:
            raise FileRefused(
                f"{solution}: is a public bundle, without the model: give its owner's solution and --problem"
            )
        return contents.problem, contents.solution
    answer = po.Solution[Any].load(solution)
    beside = solution.parent / PROBLEM if problem is None else problem
    if problem is None and not beside.is_file():
        raise FileRefused(
            f"{solution}: does not hold its problem, and there is no {beside}: give --problem PROBLEM.json"
        )
    try:
        return posed_problem(po.load_problem(beside), answer), answer
    except PrivoptError as cause:
        hint = "; give --problem PROBLEM.json" if problem is None else ""
        raise FileRefused(f"{beside}: {cause}{hint}") from cause


def _names(text: str | None) -> Sequence[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]

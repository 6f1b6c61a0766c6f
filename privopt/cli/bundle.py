"""The command that puts everything that speaks for a release into one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import ProblemFile
from privopt.files.json import read_json
from privopt.publication.bundle import CONFIDENTIAL, HARMLESS, PUBLIC, is_counted
from privopt.publication.bundle import bundle as write_bundle
from privopt.publication.receipt import Receipt
from privopt.publication.released import read_released


def bundle(
    problem: ProblemFile,
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION.json", help="Solved and certified.", show_default=False)
    ],
    output: Annotated[Path, typer.Option(metavar="BUNDLE.zip", help="Written whole or not at all.")],
    receipt: Annotated[
        Path | None, typer.Option(metavar="RECEIPT.json", help="The receipt of the release.")
    ] = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            metavar="BOOK.csv", help="What the released symbols mean, as 'release --codebook' wrote it."
        ),
    ] = None,
    public: Annotated[
        bool,
        typer.Option("--public", help="Leave the counted model out; the certificate cannot be proved then."),
    ] = False,
) -> None:
    """Write problem, solution, certificate, explanation, receipt and codebook into one file for 'privopt verify'.

    Only what is proved goes in. The model may say how many people have each combination of values: --public leaves it out.
    """
    read = [path for path in (problem, solution, receipt, codebook) if path is not None]
    show.check_output(output, *read)
    loaded = po.load_problem(problem)
    answer, paper = po.Solution[Any].load(solution), None if receipt is None else Receipt.load(receipt)
    write_bundle(
        output,
        loaded,
        answer,
        receipt=paper,
        codebook=None if codebook is None else _book(codebook),
        public=public,
    )
    counted = is_counted(loaded)
    average = answer.certificate is not None and answer.certificate.kind == "average"
    show.facts(
        [
            ("written", output),
            *(("receipt", text) for text in ([] if paper is None else paper.sentences(average))),
            ("note", PUBLIC if public and counted else CONFIDENTIAL if counted else HARMLESS),
        ]
    )


def _book(path: Path) -> dict[str, Any]:
    """A codebook from its CSV file, or as it stands in a bundle."""
    return read_json(path) if path.suffix == ".json" else dict(read_released(path))

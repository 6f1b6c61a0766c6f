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
        Path | None, typer.Option(metavar="CODEBOOK.json", help="What the released symbols mean.")
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
    write_bundle(
        output,
        loaded,
        po.Solution[Any].load(solution),
        receipt=None if receipt is None else Receipt.load(receipt),
        codebook=None if codebook is None else read_json(codebook),
        public=public,
    )
    counted = is_counted(loaded)
    show.facts(
        [
            ("written", output),
            ("note", PUBLIC if public and counted else CONFIDENTIAL if counted else HARMLESS),
        ]
    )

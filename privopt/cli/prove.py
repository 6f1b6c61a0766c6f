"""The command that writes a proof which a small program checks, without this package."""

from __future__ import annotations

import re
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson
from privopt.errors import FileRefused
from privopt.files.json import writing
from privopt.proof.vipr import vipr
from privopt.proof.write import bound_path, draft_of
from privopt.proof.write import prove as write_proof
from privopt.publication.bundle import read_bundle


class Format(StrEnum):
    """What a proof is written in."""

    lines = "lines"
    vipr = "vipr"


LONG = 20
"""Characters of a rational from which a decimal is easier to read."""
CONFIDENTIAL = "a proof holds the problem itself, with the counted table where there is one: give it only to those who may see that"


def prove(
    problem: Annotated[
        Path,
        typer.Argument(
            metavar="PROBLEM.json|BUNDLE.zip",
            help="The problem, or a bundle, which holds its solution.",
            show_default=False,
        ),
    ],
    solution: Annotated[
        Path | None,
        typer.Argument(metavar="SOLUTION.json", help="What is to be proved.", show_default=False),
    ] = None,
    output: Annotated[Path, typer.Option(metavar="PROOF.txt", help="The proof file to write.")] = Path(
        "proof.txt"
    ),
    format: Annotated[  # the name of the option
        Format,
        typer.Option(help="JSON lines for our checkers, or VIPR files for viprchk: NAME and NAME-bound."),
    ] = Format.lines,
    as_json: AsJson = False,
) -> None:
    """Write a proof that whoever has it can check with one short program and no privopt; exit code 1 if it does not hold.

    The file holds the problem, with the counted table where there is one: it is for those who may see that, and only its owner reads it.
    The solution is proved first, then the file is checked by that program. What the file leaves out is said.
    """
    given = (problem,) if solution is None else (problem, solution)
    show.check_output(output, *given)
    loaded, answer = _read(problem, solution)
    certificate = po.verify(loaded, answer)
    if not certificate.ok:
        show.complain(f"NOT PROVED, so no proof is written: {certificate.reason}")
        raise typer.Exit(1)
    if format is Format.vipr:
        _vipr(loaded, answer, output, as_json)
        return
    proof = write_proof(loaded, answer)
    checked = proof.check()
    if not checked.ok:
        show.complain(f"the checker refuses the proof: {' '.join(checked.said)}")
        raise typer.Exit(1)
    if proof.beside is not None:
        show.check_output(bound_path(output), *given, output)
    written = proof.save(output)
    if as_json:
        show.emit(
            {
                "written": str(output) if len(written) == 1 else [str(path) for path in written],
                "checker": str(proof.checker),
                "said": list(checked.said),
                "left_out": list(proof.left_out),
            }
        )
        return
    show.sentences(
        [
            *map(_short, checked.said),
            *(f"Remark: not in the file: {text}." for text in proof.left_out),
        ]
    )
    parts = [proof] if proof.beside is None else [proof, proof.beside]
    for path, part in zip(written, parts, strict=True):
        show.facts([("written", path), ("check it", f"python {part.checker} {path}")])
    show.facts([("note", CONFIDENTIAL)])


def _read(problem: Path, solution: Path | None) -> tuple[po.Problem[Any], po.Solution[Any]]:
    """The problem and the solution, from two files or from a bundle."""
    if problem.suffix != ".zip":
        if solution is None:
            raise FileRefused(
                "Missing argument 'SOLUTION.json': give a problem and its solution, or a bundle"
            )
        return po.load_problem(problem), po.Solution[Any].load(solution)
    if solution is not None:
        raise FileRefused(f"{problem}: is a bundle, which holds its solution: give it alone")
    contents = read_bundle(problem)
    if contents.problem is None:
        raise FileRefused(f"{problem}: is a public bundle, without the model that a proof is about")
    return contents.problem, contents.solution


def _vipr(problem: po.Problem[Any], solution: po.Solution[Any], output: Path, as_json: bool) -> None:
    """Write the files of VIPR: the output for privacy, and one beside it for the bound."""
    files = vipr(draft_of(problem, solution))
    beside = bound_path(output)
    names = [output] if files.bound is None else [output, beside]
    if files.bound is not None:
        show.check_output(beside, output)
    for path, text in zip(names, (files.privacy, files.bound or ""), strict=False):
        with writing(path, private=True) as file:  # as for the other format
            file.write(text)
    if as_json:
        show.emit({"written": [str(path) for path in names]})
        return
    show.facts(
        [
            ("written", [str(path) for path in names]),
            ("check it", f"viprchk {output}"),
            ("note", CONFIDENTIAL),
        ]
    )


def _short(sentence: str) -> str:
    """A sentence of the checker with decimals for long rationals, which the file has in full."""
    return " ".join(_decimal(word) for word in sentence.split(" "))


def _decimal(word: str) -> str:
    number = word.rstrip(",.:;")
    if len(number) < LONG or re.fullmatch(r"-?\d+(/\d+)?", number) is None:
        return word
    return f"about {float(Fraction(number)):.9g}{word[len(number) :]}"

"""What leaves the studio: a script, a notebook, and a release with all that speaks for it."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from privopt import __version__
from privopt.errors import InvalidMechanism
from privopt.files.text import number
from privopt.mechanisms.codebook import codebook
from privopt.publication.explain import explain
from privopt.publication.receipt import make_receipt
from privopt.publication.table import written_as
from privopt.studio.analysis import Analysis, Point
from privopt.studio.choice import Choice
from privopt.studio.table import MISSING, Table

DAWN = (1980, 1, 1, 0, 0, 0)
RELEASED, CODEBOOK, TEXT, PAGE, PROBLEM, SOLUTION, RECEIPT, README = (
    "released.csv", "codebook.csv", "explanation.txt", "explanation.html", "problem.json", "solution.json", "receipt.json",
    "README.txt",
)  # fmt: skip

ABOUT = """A release made with privopt {version}: {columns} of {rows} rows, so that little is learnt about {secret} (epsilon = {epsilon}).

For those who use the release:
  released.csv      one line a row of the table, in the same order
  codebook.csv      what each released value stands for: it tells how people are spread over the values
  explanation.txt   what is protected and what is not; explanation.html is the same with a picture

For those who answer for it, and for nobody else (how many people have each combination of values, the secret among them, is in it):
  problem.json, solution.json   prove the release again: privopt verify problem.json solution.json released.csv
  receipt.json                  what was drawn from which columns, with hashes: add --receipt receipt.json

Do not draw the same rows again and give out both releases: two say more about the secret than one, and the proof is of one.
"""


def script(choice: Choice, epsilon: float, source: Path) -> str:
    """A Python script that makes a release of the same choice.

    Parameters
    ----------
    choice : Choice
    epsilon : float
    source : Path
        The table.

    Examples
    --------
    >>> text = script(Choice(("income",), ("age",), {"age": "width:10"}), 0.3, Path("people.csv"))
    >>> print(text.splitlines()[-4])
        bins={'age': 'width:10'},
    """
    head = f'"""Release columns of {_quiet(source.name)} so that little is learnt about a secret; made with the studio of privopt {__version__}."""'
    lines = [head, "", "import pandas as pd", "", "import privopt as po", "", *_read(choice, source), ""]
    lines += [*_publish(choice, epsilon), "print(publication.explain())", 'publication.save("release")', ""]
    return "\n".join(lines)


def _read(choice: Choice, source: Path) -> list[str]:
    """The lines that read the table as the studio does."""
    lines = [
        f"frame = pd.read_csv({str(source)!r}, dtype=str, keep_default_na=False, na_values={list(MISSING)!r})",
        f"frame = frame.dropna(subset={list(choice.used)!r})  # rows that lack one of these values are left out",
    ]
    numbers = [name for name in choice.used if name in choice.bins]
    return lines + [f"frame[{name!r}] = pd.to_numeric(frame[{name!r}])" for name in numbers]


def _publish(choice: Choice, epsilon: float) -> list[str]:
    """The call that makes the release, an argument a line."""
    secret: object = choice.secret[0] if len(choice.secret) == 1 else list(choice.secret)
    lines = [
        "publication = po.publish(",
        "    frame,",
        f"    secret={secret!r},",
        f"    columns={list(choice.columns)!r},",
        f"    epsilon={epsilon!r},",
    ]
    if choice.bins:
        lines.append(f"    bins={dict(choice.bins)!r},")
    if choice.minimum_count:
        lines.append(f"    minimum_count={choice.minimum_count},")
    return [*lines, ")"]


def notebook(analysis: Analysis, point: Point, source: Path) -> str:
    """A Jupyter notebook that makes a release of the same choice, step by step."""
    choice = analysis.choice
    cells = [
        _words(
            f"# A release of {_titles(choice.columns)} that says little about {_titles(choice.secret)}\n\n"
            f"With ε = {number(point.epsilon)}: whatever is released of a row, no value of the secret becomes more than "
            f"{analysis.shown(point).get('factor', '?')} times as likely, or as unlikely, as before. "
            f"Made with the studio of privopt {__version__}."
        ),
        _code(["import pandas as pd", "", "import privopt as po"]),
        _words(
            "## The table\n\nEvery cell is read as it is written. Rows that lack a value in one of the columns are left out."
        ),
        _code([*_read(choice, source), "len(frame)"]),
        _words("## The release\n\nThe best one within the budget, proved."),
        _code([*_publish(choice, point.epsilon), "print(publication.explain())"]),
        _words("## What it costs\n\nUsefulness for other budgets."),
        _code(["publication.frontier"]),
        _words("## What each released value stands for"),
        _code(["publication.codebook"]),
        _words(
            "## Write it\n\nOnce: a second draw of the same rows says more about the secret than one, and the proof is of one."
        ),
        _code(["publication.frame.head()"]),
        _code(['publication.save("release")']),
    ]
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _words(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(lines: Sequence[str]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": "\n".join(lines).splitlines(keepends=True),
    }


def _titles(names: Sequence[str]) -> str:
    return ", ".join(_quiet(name) for name in names)


def _quiet(name: str) -> str:
    """A name without what would end a string, start a line or be read as a mark."""
    return "".join(c if c.isprintable() and c not in '"\\`*_#<>[]' else " " for c in name)


def release(analysis: Analysis, point: Point, table: Table) -> bytes:
    """Draw a release and put it into a zip file with its codebook, explanation, problem, solution and receipt.

    Each call draws afresh: who calls keeps what it returned.

    Raises
    ------
    InvalidMechanism
        If the point was not solved, or is not proved.
    """
    solution, choice = point.solution, analysis.choice
    mechanism, certificate = solution.mechanism, solution.certificate
    if certificate is None or not certificate.ok:
        raise InvalidMechanism("only what is proved is released; choose another point of the curve")
    frame = table.frame(choice.used, list(choice.bins))[list(choice.columns)]
    drawn = mechanism.release(frame)
    released = {str(name): [str(cell) for cell in drawn[name]] for name in drawn}
    explanation = explain(point.problem, solution)
    book = codebook(mechanism, analysis.joint.useful, analysis.joint.p_x)
    content = _csv(released)
    kept = [i for i in range(table.rows) if all(table.cells[name][i] is not None for name in choice.used)]
    read = {name: [table.cells[name][i] or "" for i in kept] for name in choice.columns}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / RELEASED
        place.write_bytes(content)
        receipt = make_receipt(
            mechanism,
            certificate,
            read,
            place,
            released,
            how="drawn from the operating system generator",
            symbols=written_as(mechanism),
        )
    about = ABOUT.format(
        version=__version__, columns=", ".join(choice.columns), rows=analysis.rows, secret=", ".join(choice.secret),
        epsilon=number(point.epsilon),
    )  # fmt: skip
    return _zip(
        {
            README: about.encode(),
            RELEASED: content,
            CODEBOOK: _csv(book.columns()),
            TEXT: f"{explanation}\n".encode(),
            PAGE: explanation.html().encode(),
            PROBLEM: _json(point.problem.to_dict()),
            SOLUTION: _json(solution.to_dict()),
            RECEIPT: _json(receipt.to_dict()),
        }
    )


def _csv(columns: Mapping[str, Sequence[str]]) -> bytes:
    # The writer leaves a lone carriage return bare, which readers take for the end of a line.
    bare = any("\r" in cell for cells in columns.values() for cell in cells)
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return stream.getvalue().encode()


def _json(fields: Mapping[str, Any]) -> bytes:
    return (json.dumps(fields, indent=1, allow_nan=False) + "\n").encode()


def _zip(parts: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, DAWN), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()

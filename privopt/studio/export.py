"""What leaves the studio: a script, a notebook, and a release with all that speaks for it."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import privopt as po
from privopt import __version__
from privopt.files.text import number
from privopt.publication.words import times
from privopt.studio.analysis import Analysis
from privopt.studio.choice import Choice
from privopt.studio.table import MISSING, Table

DAWN = (1980, 1, 1, 0, 0, 0)
PATIENCE = 30.0
"""Seconds at least for solving a release once more before it is drawn."""


@dataclass(frozen=True)
class Release:
    """A release that was drawn.

    Parameters
    ----------
    content : bytes
        A zip file with all that :meth:`Publication.save` writes.
    facts : mapping
        What the page says of it, as plain JSON values.
    """

    content: bytes = field(repr=False)
    facts: Mapping[str, Any]


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
    >>> print(text.splitlines()[-5])
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
    return [*lines, f"    minimum_count={choice.minimum_count},", ")"]


def notebook(choice: Choice, epsilon: float, source: Path) -> str:
    """A Jupyter notebook that makes a release of the same choice, step by step."""
    cells = [
        _words(
            f"# A release of {_titles(choice.columns)} that says little about {_titles(choice.secret)}\n\n"
            f"With ε = {number(epsilon)}: whatever is released of a row, no value of the secret becomes more than "
            f"{times(epsilon)} times as likely, or as unlikely, as before. "
            f"Made with the studio of privopt {__version__}."
        ),
        _code(["import pandas as pd", "", "import privopt as po"]),
        _words(
            "## The table\n\nEvery cell is read as it is written. Rows that lack a value in one of the columns are left out."
        ),
        _code([*_read(choice, source), "len(frame)"]),
        _words("## The release\n\nThe best one within the budget, proved."),
        _code([*_publish(choice, epsilon), "print(publication.explain())"]),
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


def release(analysis: Analysis, epsilon: float, table: Table) -> Release:
    """Draw a release by :func:`privopt.publish`, and put its folder into a zip file.

    Each call draws afresh: who calls keeps what it returned.

    Raises
    ------
    InvalidModel, NotSolved
        If there is nothing to release, or nothing was proved.
    """
    choice = analysis.choice
    publication = po.publish(
        table.frame(choice.used, list(choice.bins)),
        secret=list(choice.secret),
        columns=list(choice.columns),
        epsilon=epsilon,
        bins=choice.bins,
        minimum_count=choice.minimum_count,
        time_limit=max(PATIENCE, 2 * choice.seconds),
    )
    receipt = publication.receipt
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "release"
        publication.save(place)
        parts = {path.name: path.read_bytes() for path in sorted(place.iterdir())}
    facts = {
        "epsilon": epsilon,
        "rows": receipt.rows,
        "useful": publication.told,
        "smallest": None if receipt.smallest is None else list(receipt.smallest),
        "unique": None if receipt.unique is None else list(receipt.unique),
    }
    return Release(_zip(parts), facts)


def _zip(parts: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, DAWN), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()

"""Codebooks as parts of bundles: written as columns, and checked against the mechanism and the model."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from privopt.core.problem import Problem
from privopt.core.reformulation import Reformulation
from privopt.errors import FileRefused
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.mechanisms.codebook import RARE, Codebook, codebook
from privopt.models.channel_data import observation
from privopt.publication.released import Columns, joint_of

FORMAT = "privopt/codebook"
VERSION = 1

COUNTED = ("share", "probability")
"""Columns that follow from the counted model, which a public bundle leaves out."""

CLOSE = 1e-9
"""Relative difference within which shares and probabilities of two machines are equal."""

UNCHECKED = (
    "codebook.json is of an earlier version and not checked: its words are those of who made the bundle"
)
NAMES_ONLY = (
    "the readable names in codebook.json, and the order of its rows, are not checked without the model"
)


def codebook_columns(book: Codebook | Mapping[str, Any]) -> dict[str, list[str]]:
    """The columns of a codebook, or of the part of a bundle or the CSV file that holds one.

    Raises
    ------
    FileRefused
        If it is not of this form.
    """
    if isinstance(book, Codebook):
        return book.columns()
    if book.get("format") == FORMAT:
        return codebook_of_part(book)
    return _columns(book)


def codebook_part(columns: Columns, public: bool) -> dict[str, Any]:
    """A codebook as it stands in a bundle."""
    told = {name: list(cells) for name, cells in columns.items() if not (public and name in COUNTED)}
    return {"format": FORMAT, "version": VERSION, "columns": told}


def codebook_of_part(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """The columns that :func:`codebook_part` wrote.

    Raises
    ------
    FileRefused
        If it is not of that form.
    """
    if (
        fields.get("format") != FORMAT
        or fields.get("version") != VERSION
        or set(fields) != {"format", "version", "columns"}
    ):
        raise FileRefused(f"the codebook is not of the form {FORMAT} {VERSION}")
    return _columns(fields["columns"])


def _columns(fields: object) -> dict[str, list[str]]:
    if not isinstance(fields, Mapping) or not {"release", "suggested_name"} <= set(fields):
        raise FileRefused('a codebook has columns of text, among them "release" and "suggested_name"')
    if not all(
        isinstance(cells, list) and all(isinstance(cell, str) for cell in cells) for cells in fields.values()
    ):
        raise FileRefused("each column of a codebook is a list of texts")
    if len({len(cells) for cells in fields.values()}) != 1:
        raise FileRefused("the columns of a codebook are of different lengths")
    return {str(name): list(cells) for name, cells in fields.items()}


def codebook_fault(columns: Columns, problem: Problem[Any] | None, mechanism: Mechanism) -> str | None:
    """What speaks against columns' being the codebook of a mechanism, for the model of its problem where that is at hand; or None.

    Readable names are words, and may be others than those that are suggested.

    Examples
    --------
    >>> import privopt as po
    >>> joint = po.JointDistribution([[0.3, 0.1], [0.2, 0.4]], ["red", "blue"], ["young", "old"])
    >>> problem, merging = po.LocalInformationPrivacy(joint, 0.5), po.Merging([["young", "old"]])
    >>> book = codebook(merging, joint.useful, joint.p_x).columns()
    >>> codebook_fault(book, problem, merging)
    >>> codebook_fault({**book, "share": ["1", "0.5"]}, problem, merging)
    'in row 2, the share is 0.5, and it is 1.0'
    """
    if not isinstance(mechanism, (Channel, Merging)):
        return f"a {mechanism.kind} mechanism has none"
    expected = _expected(problem, mechanism)
    if expected is None:
        return _possible(columns, mechanism)
    if len(columns.get("release", ())) != len(expected["release"]):  # as earlier versions wrote it
        expected = _expected(problem, mechanism, 0.0) or expected
    if set(columns) != set(expected) and set(columns) != set(expected) - set(COUNTED):
        return f"its columns are {', '.join(columns)}, and should be {', '.join(expected)}"
    if len(columns["release"]) != len(expected["release"]):
        return f"it has {len(columns['release'])} rows, and should have {len(expected['release'])}"
    for name, cells in columns.items():
        if name == "suggested_name":
            continue
        for row, (cell, right) in enumerate(zip(cells, expected[name], strict=True), 1):
            same = _close(cell, right) if name in COUNTED else cell == right
            if not same:
                return f"in row {row}, the {name} is {cell[:40]}, and it is {right[:40]}"
    return _names_fault(columns)


def codebook_remarks(
    fields: Mapping[str, Any], problem: Problem[Any] | None, mechanism: Mechanism
) -> list[str]:
    """What in the codebook of a bundle is not checked: readable names that are not those suggested here."""
    if fields.get("format") != FORMAT:
        return [UNCHECKED]
    columns = codebook_of_part(fields)
    expected = _expected(problem, mechanism, 0.0) if isinstance(mechanism, (Channel, Merging)) else None
    if expected is None:
        return [NAMES_ONLY]
    suggested_names = dict(zip(expected["release"], expected["suggested_name"], strict=True))
    for name, said in zip(columns["release"], columns["suggested_name"], strict=True):
        if said != (suggested := suggested_names.get(name, said)):
            return [
                f"codebook.json calls {name!r} {said[:60]!r}; from its symbols it would be {suggested[:60]!r}"
            ]
    return []


def _expected(
    problem: Problem[Any] | None, mechanism: Channel | Merging, rare: float = RARE
) -> dict[str, list[str]] | None:
    """The columns of the codebook that follows from the model, without symbols that are rarer."""
    data = problem
    while isinstance(data, Reformulation) and joint_of(data) is None:
        data = data.target
    joint = None if data is None else joint_of(data)
    if joint is None:
        return None
    observed = observation(joint)
    return codebook(mechanism, observed.observed, observed.p_w, rare=rare).columns()


def _possible(columns: Columns, mechanism: Channel | Merging) -> str | None:
    """What speaks against a codebook where there is no model: outputs that there are not, or symbols that cannot give them."""
    written = {", ".join(map(str, cells)): y for y, cells in enumerate(mechanism.cells)}
    symbols = [name for name in columns if name not in ("release", "suggested_name", *COUNTED)]
    if mechanism.columns is not None and set(symbols) == set(mechanism.columns.reads_names):
        symbols = list(mechanism.columns.reads_names)  # files have their columns in the order of the alphabet
    sources: dict[tuple[str, ...], int] = {}
    for x, label in enumerate(mechanism.inputs):
        for text in (tuple(map(str, label)) if isinstance(label, tuple) else (str(label),), (_flat(label),)):
            sources.setdefault(text, x)
    for row, (release, *cells) in enumerate(
        zip(columns["release"], *(columns[name] for name in symbols), strict=True), 1
    ):
        if release not in written:
            return f"row {row} names {release[:40]!r}, which is never released"
        source = sources.get(tuple(cells))
        if source is None or not mechanism.matrix[source, written[release]] > 0:
            return f"row {row} names a symbol that is never released as {release[:40]!r}"
    return _names_fault(columns)


def _flat(label: object) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _names_fault(columns: Columns) -> str | None:
    """Whether a release has two readable names."""
    names: dict[str, set[str]] = defaultdict(set)
    for release, name in zip(columns["release"], columns["suggested_name"], strict=True):
        names[release].add(name)
    twice = [release for release, said in names.items() if len(said) > 1]
    return f"{twice[0][:40]!r} has two readable names" if twice else None


def _close(cell: str, right: str) -> bool:
    try:
        return math.isclose(float(cell), float(right), rel_tol=CLOSE, abs_tol=1e-15)
    except ValueError:
        return False

"""Counting the rows of another table in the symbols of a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from privopt.arrays import Ints
from privopt.errors import InvalidModel, InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.models import JointAmbiguity, JointDistribution
from privopt.models.columns import Column, TableColumns

Cells: TypeAlias = Mapping[str, Sequence[object]]
UNSEEN = ("refuse", "drop")
"""What becomes of rows that the mechanism does not read."""


@dataclass(frozen=True)
class Counted:
    """How often each pair of a secret and a useful symbol of a problem occurs.

    Parameters
    ----------
    table : int array, shape (n_s, n_x)
    dropped : int
        Rows left out because of missing values, as the model leaves them out.
    unseen : int
        Rows left out because the mechanism does not read their values.
    """

    table: Ints
    dropped: int
    unseen: int


def nominal_joint(problem: Any) -> JointDistribution:
    """The joint of a problem about a table, or the nominal one of its set.

    Raises
    ------
    InvalidProblem
        If it is about other data.
    """
    joint = vars(problem).get("joint")
    if isinstance(joint, JointAmbiguity):
        return joint.nominal
    if not isinstance(joint, JointDistribution):
        raise InvalidProblem(
            f"{type(problem).__name__} is not about a table of secret and useful columns: there are no rows to audit it by"
        )
    return joint


def described(joint: JointDistribution, secret: Sequence[str], shown: Sequence[str]) -> TableColumns:
    """The columns that a model remembers; where it remembers none, those that are named, which hold its labels.

    Raises
    ------
    InvalidModel
        If names and labels do not fit, or the model remembers other columns.
    """
    known = joint.columns
    if known is None:
        return TableColumns(_parts(joint.sensitive, secret, "secret"), _parts(joint.useful, shown, "columns"))
    for names, own, what in ((secret, known.secret_names, "secret"), (shown, known.reads_names, "columns")):
        if names and tuple(names) != own:
            raise InvalidModel(
                f"the {what} of the model: {', '.join(map(repr, own))}; leave {what} out, or give these"
            )
    return known


def _parts(labels: Labels, names: Sequence[str], what: str) -> tuple[Column, ...]:
    if not names:
        raise InvalidModel(f"the model does not remember its columns: name its {what}")
    rows = [label if isinstance(label, tuple) else (label,) for label in labels]
    if len(names) == 1:
        return (Column(names[0], "categorical", labels),)
    if any(len(row) != len(names) for row in rows):
        raise InvalidModel(
            f"{what} names {len(names)} columns, the symbols of the model have {len(rows[0])}: name as many"
        )
    return tuple(
        Column(name, "categorical", tuple(dict.fromkeys(values)))
        for name, values in zip(names, zip(*rows, strict=True), strict=True)
    )


def count(joint: JointDistribution, columns: TableColumns, cells: Cells, unseen: str, text: bool) -> Counted:
    """Count rows by the labels of a joint, read as its model reads them.

    Parameters
    ----------
    joint : JointDistribution
    columns : TableColumns
        How cells become symbols.
    cells : mapping of names to cells
    unseen : "refuse" or "drop"
        Rows that the mechanism does not read: an error, or left out. A value of the secret that the model does not know is an error
        in either case, since nothing is promised of it.
    text : bool
        The cells are text, as in a CSV file.

    Raises
    ------
    InvalidModel
        With the number of the first row that does not fit; no cell is quoted.
    """
    swapped = replace(columns, sensitive=columns.useful, useful=columns.sensitive, minimum_count=0)
    try:
        secrets = swapped.symbols(cells, frozenset(joint.sensitive), text)
    except InvalidModel as cause:
        raise InvalidModel(
            f"{cause}; nothing is proved of a secret that the model does not know: fit a model that holds it"
        ) from cause
    shown = (
        columns.symbols(cells, frozenset(joint.useful), text)
        if unseen == "refuse"
        else _readable(columns, cells, frozenset(joint.useful), text)
    )
    row = {label: i for i, label in enumerate(joint.sensitive)}
    place = {label: i for i, label in enumerate(joint.useful)}
    table, left = np.zeros((len(row), len(place)), dtype=np.int64), {"dropped": 0, "unseen": 0}
    for s, x in zip(secrets, shown, strict=True):
        if isinstance(x, _Unseen):
            left["unseen"] += 1
        elif s is None or x is None:
            left["dropped"] += 1
        else:
            table[row[s], place[x]] += 1
    if not table.any():
        raise InvalidModel("no row is left to count: give rows that the mechanism reads")
    return Counted(table, **left)


def same_counts(joint: JointDistribution, counts: Ints) -> bool:
    """Whether the rows are spread exactly as the model, and as many as it says that it counted.

    Examples
    --------
    >>> joint = JointDistribution.normalised([[3, 1], [2, 4]])
    >>> same_counts(joint, np.array([[3, 1], [2, 4]])), same_counts(joint, np.array([[3, 1], [1, 5]]))
    (True, False)
    """
    total = int(counts.sum())
    rows = total if joint.columns is None else joint.columns.rows
    return bool(rows == total and (np.abs(joint.table * total - counts) <= 1e-6).all())


class _Unseen:
    """Stands for a row that the mechanism does not read."""


def _readable(
    columns: TableColumns, cells: Cells, known: frozenset[Label], text: bool
) -> list[Label | _Unseen | None]:
    """The symbol of each row, each combination of cells read once."""
    names = columns.reads_names
    symbols: dict[tuple[object, ...], Label | _Unseen | None] = {}
    read: list[Label | _Unseen | None] = []
    for row in zip(*(cells[name] for name in names), strict=True):
        if row not in symbols:
            try:
                (symbols[row],) = columns.symbols(
                    {name: [cell] for name, cell in zip(names, row, strict=True)}, known, text
                )
            except InvalidModel:
                symbols[row] = _Unseen()
        read.append(symbols[row])
    return read

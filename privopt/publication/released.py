"""Tables that were released: reading them, where in them the release stands, and how outputs are written."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from privopt.core.problem import Problem
from privopt.errors import FileRefused
from privopt.files.csv import raw_cell
from privopt.files.labels import Label
from privopt.files.paths import check_name, reading
from privopt.mechanisms import (
    Channel,
    Mechanism,
    Merging,
    RedactionMechanism,
    SequencePolicy,
)
from privopt.models import JointAmbiguity, JointDistribution, ObservedJoint

RELEASED = "released"
"""The column of a release that is not of the columns it was drawn from."""

BY_FILE = "(file)"
"""The column of users of a folder that has a file for each of them."""

GAP = ""
"""A cell of a stream of which nothing is released, as its record was missing."""

MOST_BYTES = 2**31
Columns = Mapping[str, Sequence[str]]


def few(names: Sequence[str]) -> str:
    """Names for a message, the first of many."""
    return ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")


def read_released(path: str | os.PathLike[str], raw: bool = False) -> dict[str, list[str]]:
    """All columns of a CSV file with a header: every cell as it is written if ``raw``, else without what makes formulas safe.

    A folder has a file for each user: their rows one after the other, with a column :data:`BY_FILE` of the names of the files.

    Raises
    ------
    FileRefused
        If it cannot be read, is not UTF-8, repeats a column, or has rows of other lengths or files of other columns.
    """
    place = Path(path)
    check_name(place)
    if place.is_dir():
        return _read_folder(place, raw)
    if place.is_file() and place.stat().st_size > MOST_BYTES:
        raise FileRefused(f"{place}: more than {MOST_BYTES} bytes; no more are read")
    try:
        with reading(place) as stream, TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            lines = list(csv.reader(text, strict=True))
    except UnicodeDecodeError as cause:
        raise FileRefused(f"{place}: is not UTF-8 text; save it as UTF-8") from cause
    except csv.Error as cause:
        raise FileRefused(f"{place}: is not a CSV file: {cause}") from cause
    if len(lines) < 2:
        raise FileRefused(f"{place}: has no rows; expected a line of column names, then rows")
    header, wide = lines[0], len(lines[0])
    if len(set(header)) < wide:
        raise FileRefused(f"{place}: a column name is given twice")
    rows = [line or [""] * (wide == 1) for line in lines[1:]]
    odd = next((i for i, row in enumerate(rows, 1) if len(row) != wide), None)
    if odd is not None:
        raise FileRefused(f"{place}: row {odd} has {len(rows[odd - 1])} cells, the header has {wide}")
    if not raw:
        header, rows = list(map(raw_cell, header)), [list(map(raw_cell, row)) for row in rows]
    return {name: [row[j] for row in rows] for j, name in enumerate(header)}


def released_files(folder: Path) -> list[Path]:
    """The files of a folder of sequences, in the order of their names."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".csv", ".txt"))


def _read_folder(folder: Path, raw: bool) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for path in released_files(folder):
        table = read_released(path, raw)
        if BY_FILE in table or (columns and [BY_FILE, *table] != list(columns)):
            raise FileRefused(f"{path}: has other columns than the files before it")
        named = {BY_FILE: [path.name] * len(next(iter(table.values()))), **table}
        for name, cells in named.items():
            columns.setdefault(name, []).extend(cells)
    if not columns:
        raise FileRefused(f"{folder}: has no .csv or .txt file")
    return columns


@dataclass(frozen=True)
class Layout:
    """Where in a table the release stands; what is not known is found out from the table.

    Parameters
    ----------
    columns : tuple of str
        The released columns, in their order.
    kept : tuple of str
        Columns that were copied on purpose.
    symbols : tuple of tuples of str, optional
        How each output is written, a cell a column; by default the text of its label.
    mark : str
        What a hidden cell holds.
    others : bool
        The people are others than those that the model counted.
    by : str, optional
        The column of users, each with a sequence of their own.
    accepted : bool
        What the kept columns leak was accepted, as the receipt states: they are not taken for the secret.
    datasets : tuple of labels, optional
        What each row asked about, where the owner checks the answers of a colouring.
    start_step : int
        The step of the chain at which each stream begins.
    """

    columns: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    symbols: tuple[tuple[str, ...], ...] | None = None
    mark: str = ""
    others: bool = False
    by: str | None = None
    accepted: bool = False
    datasets: tuple[Label, ...] | None = None
    start_step: int = 0


def text_of(label: Label) -> tuple[str, ...]:
    """A symbol as the cells of a row: a tuple has a cell for each part."""
    return tuple(map(str, label)) if isinstance(label, tuple) else (str(label),)


def written_as(mechanism: Mechanism) -> tuple[tuple[str, ...], ...]:
    """How a release writes each output, a cell a column.

    Examples
    --------
    >>> written_as(Merging([["a"], ["b", "c"]]))
    (('a',), ('B1',))
    """
    if isinstance(mechanism, (Channel, Merging)):
        return tuple(tuple(map(str, cells)) for cells in mechanism.cells)
    if isinstance(mechanism, (RedactionMechanism, SequencePolicy)):
        return tuple(text_of(label) for label in outputs_of(mechanism))
    return ()


def outputs_of(mechanism: Channel | Merging | RedactionMechanism | SequencePolicy) -> tuple[Label, ...]:
    """Labels of what a mechanism releases."""
    if isinstance(mechanism, RedactionMechanism):
        return mechanism.states
    if isinstance(mechanism, SequencePolicy):
        columns = mechanism.kernel(mechanism.start().belief).outputs if mechanism.batch == 1 else ()
        return tuple(columns) or mechanism.letters
    return mechanism.outputs


def joint_of(problem: Problem[Any]) -> JointDistribution | ObservedJoint | None:
    """The joint distribution of a problem that has one, of a set the nominal one."""
    joint = vars(problem).get("joint")
    if isinstance(joint, JointAmbiguity):
        return joint.nominal
    return joint if isinstance(joint, (JointDistribution, ObservedJoint)) else None


def secret_columns(joint: JointDistribution | ObservedJoint) -> tuple[str, ...]:
    """Names of the columns of the secret, where the model remembers them."""
    return () if joint.columns is None else tuple(joint.columns.secret_names)

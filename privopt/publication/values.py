"""Value columns beside released messages: whether they say what the messages stand for, as far as the model knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from privopt.files.labels import Label
from privopt.mechanisms import Channel, Merging
from privopt.mechanisms.codebook import Entry, codebook, flat
from privopt.models import JointDistribution
from privopt.models.columns import Column
from privopt.publication.spelled import ANY, BETWEEN, likeliest, runs, spell

OTHERS = re.compile(r"\d+ others")
MOST_LABELS = 200
"""Values of an ordered column beyond which the names of its intervals are not listed."""

TIE = 1e-9
"""Relative difference within which two probabilities are equal."""

Cells = tuple[str, ...]


@dataclass(frozen=True)
class ValuesCheck:
    """What was found out about value columns.

    Parameters
    ----------
    fault : str or None
        What speaks against them.
    judged : tuple of str
        Columns that say of every message what it stands for, or do not where there is a fault; the others are not known.
    """

    fault: str | None = None
    judged: tuple[str, ...] = ()


def check_values(
    mechanism: Channel | Merging,
    joint: JointDistribution,
    table: Mapping[str, Sequence[str]],
    message: str,
) -> ValuesCheck:
    """Whether the columns that the model was counted from say, beside a message, the values that it stands for.

    They follow from the message, so they tell nobody more, and are refused where they name a value that no member of the message has,
    stand in each other's places, or say two things of one message. Words of one's own are not known.

    Parameters
    ----------
    mechanism : Channel or Merging
    joint : JointDistribution
        That remembers its columns; of another nothing is known.
    table : mapping of name to cells
    message : str
        The column of messages.

    Examples
    --------
    >>> import pandas as pd, privopt as po
    >>> people = pd.DataFrame({"vote": ["a", "b", "b", "a"], "age": ["young", "old", "middle", "young"]})
    >>> order = {"age": ["young", "middle", "old"]}
    >>> joint = po.JointDistribution.from_frame(people, sensitive="vote", useful="age", order=order)
    >>> merging = po.Merging([["young", "middle"], ["old"]])
    >>> check_values(merging, joint, {"released": ["B0", "old"], "age": ["young to middle", "old"]}, "released")
    ValuesCheck(fault=None, judged=('age',))
    >>> check_values(merging, joint, {"released": ["B0", "old"], "age": ["old", "old"]}, "released").fault
    "row 1: the column 'age' holds what no value of the message 'B0' is"
    """
    columns = joint.columns
    if columns is None or columns.reads != "useful" or mechanism.inputs != joint.useful:
        return ValuesCheck()
    names = [column.name for column in columns.useful]
    there = [j for j, name in enumerate(names) if name in table]
    if not there:
        return ValuesCheck()
    book, whole = codebook(mechanism, joint.useful, joint.p_x, columns), isinstance(mechanism, Merging)
    spelled = {row[0]: row[1:] for row in spell(book, columns, whole)}
    rows: dict[tuple[str, Cells], int] = {}
    for row, (name, *cells) in enumerate(
        zip(table[message], *(table[names[j]] for j in there), strict=True), 1
    ):
        rows.setdefault((name, tuple(cells)), row)
    right = {name: tuple(cells[j] for j in there) for name, cells in spelled.items()}
    odd = {key: row for key, row in rows.items() if key[0] in right and key[1] != right[key[0]]}
    members = {entry.name: _members(entry, whole) for entry in book}
    fault = _fault(odd, rows, right, members, [(j, columns.useful[j]) for j in there])
    if odd and fault is None:
        return ValuesCheck()
    return ValuesCheck(fault, tuple(names[j] for j in there))


def _fault(
    odd: Mapping[tuple[str, Cells], int],
    rows: Mapping[tuple[str, Cells], int],
    right: Mapping[str, Cells],
    members: Mapping[str, Sequence[Label]],
    columns: Sequence[tuple[int, Column]],
) -> str | None:
    """What speaks against the rows that hold something else than what is right, each given by its first row."""
    for (name, cells), row in odd.items():
        if sorted(cells) == sorted(right[name]):
            return f"row {row}: the values of the message {name!r} stand in each other's columns: were columns swapped?"
        for cell, (place, column) in zip(cells, columns, strict=True):
            if not _names(cell, {flat(member)[place] for member in members[name]}, column):
                return f"row {row}: the column {column.name!r} holds what no value of the message {name!r} is"
    names = [name for name, _ in rows]
    twice = next((name for name, _ in odd if names.count(name) > 1), None)
    return None if twice is None else f"the message {twice!r} has two sets of values beside it"


def _members(entry: Entry, whole: bool) -> list[Label]:
    """The symbols that a message is spelled from; those as likely as the least of them might be so on another machine."""
    if whole or not entry.members:
        return list(entry.members)
    least = entry.probabilities[len(likeliest(entry)) - 1] * (1.0 - TIE)
    return [x for x, p in zip(entry.members, entry.probabilities, strict=True) if p >= least]


def _names(cell: str, values: set[Label], column: Column) -> bool:
    """Whether a cell can be the values of a message in a column: it names them, or intervals or nodes that hold no others."""
    texts = set(map(str, values))
    if cell == ANY or cell in texts:
        return True
    if column.is_ordered and len(column.labels) > MOST_LABELS:
        return True
    wider = _wider(column)
    parts = cell.split(BETWEEN)
    if len(parts) > 1 and OTHERS.fullmatch(parts[-1]):
        parts = parts[:-1]
    return all(part in texts or (part in wider and wider[part] <= values) for part in parts)


def _wider(column: Column) -> dict[str, set[Label]]:
    """The values of each interval of an ordered column, and of each node of a hierarchy, by their names."""
    wider: dict[str, set[Label]] = {}
    count = len(column.labels)
    if column.is_ordered:
        for first in range(count):
            for last in range(first + 1, count):
                (name,) = runs(range(first, last + 1), column)
                wider[name] = set(column.labels[first : last + 1])
    for node in column.tree or ():
        wider[str(node.name)] = {column.labels[place] for place in node.members}
    return wider

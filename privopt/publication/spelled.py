"""Released messages spelled out: a cell for each column, with the values that a message stands for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from privopt.files.labels import Label
from privopt.mechanisms.codebook import MOSTLY, Codebook, Entry, flat
from privopt.models.columns import Column, TableColumns
from privopt.models.hierarchies import node_named, tree_of
from privopt.models.intervals import span

ANY = "any"
"""A cell of a message that says nothing of its column."""

BETWEEN = "|"
"""Between the values of a cell."""

MOST_PARTS = 3
"""Values, or intervals, that a cell names; of more it names the first and the number of the others."""


def spell(book: Codebook, columns: TableColumns, whole: bool = False) -> tuple[tuple[str, ...], ...]:
    """For each message its name and a cell for each released column: the values of the symbols that it comes from.

    The name comes first, so that no two messages are written alike.

    Parameters
    ----------
    book : Codebook
    columns : TableColumns
    whole : bool
        Of all symbols, as for a merging; else of the likeliest that make nine tenths of a message.

    Examples
    --------
    >>> import numpy as np, privopt as po
    >>> from privopt.mechanisms.codebook import codebook
    >>> age = Column("age", "ordered", ("young", "middle", "old"))
    >>> merging = po.Merging([["young", "middle"], ["old"]])
    >>> table = TableColumns((Column("vote", "categorical", ("a", "b")),), (age,))
    >>> spell(codebook(merging, merging.inputs, np.array([0.25, 0.25, 0.5])), table)
    (('B0', 'young to middle'), ('old', 'old'))
    """
    return tuple((entry.name, *_cells(entry, columns.useful, whole)) for entry in book)


def _cells(entry: Entry, columns: Sequence[Column], whole: bool) -> list[str]:
    members = entry.members if whole else likeliest(entry)
    return [
        _cell(dict.fromkeys(flat(member)[j] for member in members), column)
        for j, column in enumerate(columns)
    ]


def likeliest(entry: Entry) -> list[Label]:
    """Members, from the likeliest on, until they make nine tenths."""
    members, told = [], 0.0
    for member, probability in zip(entry.members, entry.probabilities, strict=True):
        if told >= MOSTLY:
            break
        members.append(member)
        told += probability
    return members


def _cell(values: dict[Label, None], column: Column) -> str:
    """The values of one column in one message."""
    if not values:
        return ""
    places = {label: i for i, label in enumerate(column.labels)}
    if len(values) > 1 and set(column.labels) <= set(values):
        return ANY
    inside = sorted((value for value in values if value in places), key=places.__getitem__)
    named = _node(frozenset(map(places.__getitem__, inside)), column) if len(inside) == len(values) else None
    if named is not None:
        return named
    others = [str(value) for value in values if value not in places]
    parts = runs([places[value] for value in inside], column) if column.is_ordered else list(map(str, inside))
    parts += others
    if len(parts) <= MOST_PARTS:
        return BETWEEN.join(parts)
    return f"{parts[0]}{BETWEEN}{len(parts) - 1} others"


def _node(places: frozenset[int], column: Column) -> str | None:
    """The name of the node of a hierarchy that has exactly these values."""
    if not column.levels:
        return None
    name = node_named(tree_of(column.labels, column.levels, column.name), places)
    return None if name is None else str(name)


def runs(places: Sequence[int], column: Column) -> list[str]:
    """Neighbouring values of an ordered column as one part."""
    runs = [
        [place for _, place in run]
        for _, run in groupby(enumerate(places), key=lambda item: item[1] - item[0])
    ]
    if column.kind == "binned":
        return [span(column.edges, column.labels, run[0], run[-1]) for run in runs]
    return [
        str(column.labels[run[0]])
        if len(run) == 1
        else f"{column.labels[run[0]]} to {column.labels[run[-1]]}"
        for run in runs
    ]

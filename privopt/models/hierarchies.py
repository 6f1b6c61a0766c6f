"""Hierarchies: what the values of a column may be generalised to, level by level, as a tree."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from privopt.errors import FileRefused, InvalidModel
from privopt.files.labels import Label, Labels

ANYTHING = "*"
"""The name of all values of a hierarchy whose last level has several names."""

LARGEST = 16_000_000
"""Bytes of a file of a hierarchy."""

Levels: TypeAlias = tuple[tuple[str, ...], ...]
"""For each value the names that it is generalised to, the nearest first."""

Ancestors: TypeAlias = Mapping[Label, Sequence[str]]
"""A hierarchy written out: for each value the names that it is generalised to, the nearest first."""

HierarchySource: TypeAlias = str | os.PathLike[str] | Ancestors
"""A file with a row ``value;level1;level2;...`` for each value, or the same as a mapping."""

Hierarchies: TypeAlias = Mapping[str, HierarchySource]
"""Hierarchies by column."""


@dataclass(frozen=True)
class Node:
    """A node of a hierarchy.

    Parameters
    ----------
    name : Label
        A value, or what several are generalised to.
    members : tuple of int
        Positions of its values among the labels of the column.
    children : tuple of Node
        None of a single value.
    """

    name: Label
    members: tuple[int, ...]
    children: tuple[Node, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        """The node and all below it, parents first."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def read_hierarchy(source: HierarchySource, name: str) -> dict[str, tuple[str, ...]]:
    """For each value, as text, the names that it is generalised to.

    Parameters
    ----------
    source : path or mapping
        A file without a header, a row ``value;level1;level2;...`` for each value (separated by commas where its first
        row has no semicolon), or such rows as a mapping.
    name : str
        Of the column, for messages.

    Raises
    ------
    FileRefused, InvalidModel
        If the file cannot be read, rows are of different lengths, a value has two rows, or a cell is empty.

    Examples
    --------
    >>> read_hierarchy({"Bachelors": ["higher", "*"], "HS-grad": ["school", "*"]}, "education")["HS-grad"]
    ('school', '*')
    """
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        return _checked(_rows(_text(path), f"{path}: "), f"{path}: ")
    where = f"the hierarchy of column {name!r}: "
    if not isinstance(source, Mapping):
        raise InvalidModel(
            f"the hierarchy of column {name!r} is a {type(source).__name__}: give the path of a file, or a mapping"
        )
    return _checked([_written(key, source[key]) for key in source], where)


def parse_hierarchy(text: str, name: str) -> dict[str, tuple[str, ...]]:
    r"""What :func:`read_hierarchy` reads of a file with this text.

    Raises
    ------
    FileRefused, InvalidModel
        As there.

    Examples
    --------
    >>> parse_hierarchy("BSc;degree\nMSc;degree", "education")
    {'BSc': ('degree',), 'MSc': ('degree',)}
    """
    where = f"the hierarchy of column {name!r}: "
    return _checked(_rows(text, where), where)


def _checked(rows: Sequence[Sequence[str]], where: str) -> dict[str, tuple[str, ...]]:
    if not rows:
        raise InvalidModel(f"{where}there are no rows: give value;level1;level2;... for each value")
    known: dict[str, tuple[str, ...]] = {}
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]) or len(row) < 2:
            raise InvalidModel(
                f"{where}row {number} has {len(row)} cells and row 1 has {len(rows[0])}: give a value and its levels in each, "
                "equally many"
            )
        if not all(cell.strip() for cell in row):
            raise InvalidModel(f"{where}row {number} has an empty cell: give every level a name")
        if row[0] in known:
            raise InvalidModel(f"{where}row {number} repeats a value: give each value one row")
        known[row[0]] = tuple(row[1:])
    return known


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise FileRefused(f"{path}: is larger than {LARGEST} bytes, too large for a hierarchy")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as cause:
        raise FileRefused(f"{path}: cannot be read as a hierarchy: {cause}") from cause


def _rows(text: str, where: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.strip()]
    separator = ";" if lines and ";" in lines[0] else ","
    try:
        rows = list(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error as cause:
        raise FileRefused(f"{where}is no CSV file: {cause}") from cause
    return [[cell.strip() for cell in row] for row in rows]


def _written(value: Label, levels: object) -> list[str]:
    if isinstance(levels, str) or not isinstance(levels, Sequence):
        raise InvalidModel("a hierarchy maps each value to the list of names that it is generalised to")
    return [text_of(value), *map(str, levels)]


def text_of(label: Label) -> str:
    """A value as a file of a hierarchy writes it: a whole number without a decimal point.

    Examples
    --------
    >>> text_of(30.0), text_of("a"), text_of(2.5)
    ('30', 'a', '2.5')
    """
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def levels_of(labels: Sequence[Label], source: HierarchySource, name: str) -> Levels:
    """The levels of the values of a column, in their order.

    Raises
    ------
    FileRefused, InvalidModel
        If the hierarchy is malformed, lacks a value, or is no tree.
    """
    known = read_hierarchy(source, name)
    lacking = sum(text_of(label) not in known for label in labels)
    if lacking:
        raise InvalidModel(
            f"the hierarchy of column {name!r} has no row for {lacking} of its {len(labels)} values: give each value one"
        )
    levels = tuple(known[text_of(label)] for label in labels)
    tree_of(labels, levels, name)
    return levels


def tree_of(labels: Sequence[Label], levels: Levels, name: str) -> Node:
    """The tree over the labels of a column; a node with a single child is that child.

    Parameters
    ----------
    labels : sequence
    levels : tuple of tuple of str
        For each label the names of what it is generalised to, the nearest first.
    name : str
        Of the column, for messages.

    Raises
    ------
    InvalidModel
        If a name stands for two sets of values.

    Examples
    --------
    >>> tree = tree_of(["BSc", "MSc", "school"], (("degree", "*"), ("degree", "*"), ("none", "*")), "education")
    >>> [(node.name, node.members) for node in tree]
    [('*', (0, 1, 2)), ('degree', (0, 1)), ('BSc', (0,)), ('MSc', (1,)), ('school', (2,))]
    """
    _check_tree(labels, levels, name)
    everything = tuple(range(len(labels)))
    tops = _grouped(labels, levels, everything, len(levels[0]) - 1)
    return tops[0] if len(tops) == 1 else Node(ANYTHING, everything, tops)


def _check_tree(labels: Sequence[Label], levels: Levels, name: str) -> None:
    """Refuse a name that stands for two sets of values, at two levels or below two others."""
    sets: dict[str, set[int]] = {text_of(label): {i} for i, label in enumerate(labels)}
    for level in range(len(levels[0])):
        groups: dict[str, set[int]] = {}
        for i, row in enumerate(levels):
            groups.setdefault(row[level], set()).add(i)
        for node, members in groups.items():
            parents = {levels[i][min(level + 1, len(levels[0]) - 1)] for i in members}
            if sets.setdefault(node, members) != members or len(parents) > 1:
                raise InvalidModel(
                    f"the hierarchy of column {name!r} is no tree: {node!r} stands for two sets of values, so give one of "
                    "them another name"
                )


def _grouped(
    labels: Sequence[Label], levels: Levels, members: tuple[int, ...], level: int
) -> tuple[Node, ...]:
    """The nodes of one level over some values, in the order of their first ones; values themselves below the first."""
    if level < 0:
        return tuple(Node(labels[i], (i,)) for i in members)
    groups: dict[str, list[int]] = {}
    for i in members:
        groups.setdefault(levels[i][level], []).append(i)
    nodes = []
    for name, group in groups.items():
        below = _grouped(labels, levels, tuple(group), level - 1)
        nodes.append(below[0] if len(below) == 1 else Node(name, tuple(group), below))
    return tuple(nodes)


def node_named(tree: Node, members: frozenset[int]) -> Label | None:
    """The name of the node with exactly these values; None if there is none."""
    return next((node.name for node in tree if frozenset(node.members) == members), None)


def check_levels(labels: Labels, levels: Levels, name: str) -> None:
    """Refuse levels that do not fit the labels, or are no tree.

    Raises
    ------
    InvalidModel
        With what does not fit.
    """
    if len(levels) != len(labels) or len({len(row) for row in levels}) != 1 or not levels[0]:
        raise InvalidModel(
            f"column {name!r} has {len(labels)} labels: its hierarchy needs a row of equally many names for each"
        )
    tree_of(labels, levels, name)

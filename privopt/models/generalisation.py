"""Which sets of symbols a block may hold where columns have an order or a hierarchy: intervals, nodes, and boxes of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from privopt.arrays import Bools, Ints
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels
from privopt.models.columns import MISSING, RARE, Column
from privopt.models.hierarchies import Node, tree_of
from privopt.models.joint import JointDistribution

Part: TypeAlias = tuple[int, ...]
"""Values of one column by their ranks, increasing."""

Box: TypeAlias = tuple[Part, ...]
"""A part of each column."""

SPECIAL = (MISSING, RARE)
"""Values that are at no place in an order or a hierarchy: they may be in any block."""


@dataclass(frozen=True)
class Axis:
    """A column, and which sets of its values a block may hold.

    Parameters
    ----------
    name : str
    kind : "interval", "tree" or "any"
        Values next to each other, the values of a node of the hierarchy, or any values.
    labels : tuple
        The values that occur, in the order of the column.
    tree : Node or None
        The hierarchy over these.
    """

    name: str
    kind: str
    labels: Labels
    tree: Node | None = None

    @property
    def whole(self) -> Part:
        """All values."""
        return tuple(range(len(self.labels)))

    @cached_property
    def _nodes(self) -> dict[Part, Node]:
        return {} if self.tree is None else {tuple(sorted(node.members)): node for node in self.tree}

    @property
    def size(self) -> int:
        """In how many parts it may fall, at most."""
        n = len(self.labels)
        return n * (n + 1) // 2 if self.kind == "interval" else len(self._nodes) or n + 1

    def hull(self, ranks: Sequence[int]) -> Part:
        """The smallest set that a block with some values may hold."""
        chosen = tuple(sorted(set(ranks)))
        if self.kind == "interval":
            return tuple(range(chosen[0], chosen[-1] + 1))
        if self.kind == "any":
            return chosen
        holding = (part for part in self._nodes if set(chosen) <= set(part))
        return min(holding, key=len)

    def splits(self, part: Part) -> Iterator[tuple[Part, ...]]:
        """In which ways a part falls into smaller ones: at a cut, into the children of a node, or into single values."""
        if len(part) < 2:
            return
        if self.kind == "interval":
            for cut in range(1, len(part)):
                yield part[:cut], part[cut:]
        elif self.kind == "tree":
            yield tuple(tuple(sorted(child.members)) for child in self._nodes[part].children)
        else:
            yield tuple((rank,) for rank in part)

    def told(self, part: Part) -> str:
        """A part in words, for messages."""
        if self.kind == "tree" and part in self._nodes:
            return f"{self.name} {self._nodes[part].name}"
        first, last = self.labels[part[0]], self.labels[part[-1]]
        return f"{self.name} {first}" if len(part) == 1 else f"{self.name} {first} to {last}"


@dataclass(frozen=True, eq=False)
class Generalisation:
    """Which blocks of the useful symbols of a joint distribution are boxes.

    A block is a box if it holds every symbol whose value in each column is in the hull of the block's: the smallest
    interval or node that holds them. Symbols with a missing or a rare value may be in any block.

    Parameters
    ----------
    axes : tuple of Axis
    codes : int array (n, d)
        The rank of each symbol's value in each column; -1 for missing and rare ones.
    symbols : tuple
    is_coarse : bool
        Whether neighbours were put together: then not all boxes are told.

    Examples
    --------
    >>> shape = generalisation(JointDistribution.normalised([[3, 1, 2], [1, 2, 2]], useful=["low", "middle", "high"]))
    >>> shape.fault([[0, 1], [2]]) is None
    True
    >>> shape.fault([[0, 2], [1]])
    "the block of X low to high leaves 'middle' out"
    """

    axes: tuple[Axis, ...]
    codes: Ints
    symbols: Labels
    is_coarse: bool = False

    @property
    def is_single(self) -> bool:
        """Whether blocks are intervals or nodes of one column, and of every symbol it is said where it lies."""
        axis = self.single
        return axis is not None and axis.kind != "any" and not len(self.special) and not self.is_coarse

    @property
    def size(self) -> int:
        """An upper bound on the number of boxes."""
        return math.prod(axis.size for axis in self.axes)

    def halved(self) -> Generalisation | None:
        """The same where neighbours of the longest ordered column count as one value; None if there is no such column."""
        lengths = [len(axis.labels) if axis.kind == "interval" else 0 for axis in self.axes]
        j = int(np.argmax(lengths))
        if lengths[j] < 2:
            return None
        axis, codes = self.axes[j], self.codes.copy()
        codes[:, j] = np.where(codes[:, j] >= 0, codes[:, j] // 2, -1)
        short = replace(axis, labels=axis.labels[::2])
        return Generalisation(
            (*self.axes[:j], short, *self.axes[j + 1 :]), codes, self.symbols, is_coarse=True
        )

    @cached_property
    def ordinary(self) -> Bools:
        """Which symbols have a place in every column."""
        return np.asarray((self.codes >= 0).all(axis=1))

    @cached_property
    def special(self) -> Ints:
        """Positions of the others."""
        return np.flatnonzero(~self.ordinary)

    @property
    def whole(self) -> Box:
        """The box of all symbols."""
        return tuple(axis.whole for axis in self.axes)

    @property
    def single(self) -> Axis | None:
        """The column, if there is one only."""
        return self.axes[0] if len(self.axes) == 1 else None

    def members(self, boxes: Sequence[Box]) -> Bools:
        """Which ordinary symbols are in each box, shape (m, n)."""
        inside = np.tile(self.ordinary, (len(boxes), 1))
        for axis, codes, parts in zip(self.axes, self.codes.T, zip(*boxes, strict=True), strict=True):
            distinct = dict.fromkeys(parts)
            table = np.zeros((len(distinct), len(axis.labels)), dtype=bool)
            for row, part in enumerate(distinct):
                table[row, list(part)] = True
            place = {part: row for row, part in enumerate(distinct)}
            inside &= table[[place[part] for part in parts]][:, np.maximum(codes, 0)]
        return inside

    def fault(self, blocks: Sequence[Sequence[int]]) -> str | None:
        """Why a partition of the symbols, by their positions, has a block that is no box; None if all are."""
        for block in blocks:
            inside = [i for i in block if self.ordinary[i]]
            if not inside:
                continue
            hull = tuple(axis.hull(self.codes[inside, j].tolist()) for j, axis in enumerate(self.axes))
            left = np.flatnonzero(self.members([hull])[0])
            outside = next((i for i in left.tolist() if i not in set(inside)), None)
            if outside is not None:
                told = ", ".join(axis.told(part) for axis, part in zip(self.axes, hull, strict=True))
                return f"the block of {told} leaves {self.symbols[outside]!r} out"
        return None

    def to_dict(self) -> list[object]:
        """What distinguishes it from another one over the same symbols, as JSON holds it."""
        trees = [
            sorted([str(node.name), *map(str, sorted(node.members))] for node in axis.tree)
            if axis.tree
            else []
            for axis in self.axes
        ]
        return [
            [[axis.kind, tree] for axis, tree in zip(self.axes, trees, strict=True)],
            self.codes.tolist(),
        ]


def generalisation(joint: JointDistribution) -> Generalisation:
    """The orders and hierarchies of the useful columns of a joint distribution; the order of its labels where it has no columns.

    Raises
    ------
    InvalidModel
        If no column has an order or a hierarchy.
    """
    if joint.columns is None:
        if any(isinstance(label, tuple) for label in joint.useful):
            raise InvalidModel(
                "the useful symbols are made of several columns, whose order is not known: count the joint with from_frame"
            )
        axis = Axis("X", "interval", joint.useful)
        return Generalisation((axis,), np.arange(len(joint.useful))[:, None], joint.useful)
    columns = joint.columns.useful
    if not any(column.is_ordered or column.tree is not None for column in columns):
        raise InvalidModel(
            f"none of the useful columns ({', '.join(repr(column.name) for column in columns)}) has an order or a hierarchy: "
            "fit with bins, order or hierarchies"
        )
    words = [(label,) if len(columns) == 1 else label for label in joint.useful]
    pairs = [
        _axis(column, [word[j] for word in words])  # type: ignore[index]  # of several columns labels are tuples
        for j, column in enumerate(columns)
    ]
    return Generalisation(
        tuple(axis for axis, _ in pairs), np.stack([codes for _, codes in pairs], axis=1), joint.useful
    )


def _axis(column: Column, values: Sequence[Label]) -> tuple[Axis, Ints]:
    """A column, and the rank of the value of each symbol."""
    occurring = set(values)
    labels = tuple(label for label in column.labels if label in occurring)
    rank = {label: i for i, label in enumerate(labels)}
    odd = next((value for value in values if value not in rank and value not in SPECIAL), None)
    if odd is not None:
        raise InvalidModel(f"{odd!r} is a useful symbol, and no value of column {column.name!r}")
    codes = np.array([rank.get(value, -1) for value in values], dtype=np.int64)
    if not column.levels or not labels:
        return Axis(column.name, "interval" if column.is_ordered else "any", labels), codes
    levels = dict(zip(column.labels, column.levels, strict=True))
    tree = tree_of(labels, tuple(levels[label] for label in labels), column.name)
    return Axis(column.name, "tree", labels, tree), codes

"""Which inputs of a channel are neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.errors import InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.measures.inputs import position

Neighbours: TypeAlias = Iterable[Sequence[Label]] | NDArray[Any]


def read_pairs(neighbours: Neighbours, labels: Labels) -> set[tuple[int, int]]:
    """Unordered pairs of different rows.

    Examples
    --------
    >>> read_pairs([("a", "b"), ("b", "a"), ("b", "b")], ("a", "b"))
    {(0, 1)}
    """
    if isinstance(neighbours, np.ndarray) and neighbours.dtype == bool:
        if neighbours.shape != (len(labels), len(labels)):
            raise InvalidProblem(
                f"neighbours has shape {neighbours.shape}: a boolean table needs a row and a column an input, "
                f"({len(labels)}, {len(labels)})"
            )
        found = [(int(a), int(b)) for a, b in np.argwhere(neighbours)]
    else:
        found = [_pair(pair, labels) for pair in neighbours]
    return {(min(pair), max(pair)) for pair in found if pair[0] != pair[1]}


def _pair(pair: object, labels: Labels) -> tuple[int, int]:
    ends = tuple(pair) if isinstance(pair, (tuple, list, np.ndarray)) else ()
    if len(ends) != 2:
        raise InvalidProblem(f"neighbours holds {pair!r}: give pairs of inputs, or a boolean table")
    first, second = (end.item() if isinstance(end, np.generic) else end for end in ends)
    return position(first, labels, "the input"), position(second, labels, "the input")

"""Which rows of a colouring stand next to each other: the distinct pairs of levels over all edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Ints
from privopt.measures.compiling import WORTH, compiled, numba_installed

TABLE = 4096
"""Levels up to which pairs are ticked off in a square table."""
BLOCK = 1 << 22
"""Edges looked at together without compiled code."""


def level_pairs(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32], levels: int
) -> tuple[Ints, Ints]:
    """Ordered pairs (a, b), a != b, of the levels of the ends of some edge; both orders are there."""
    if levels <= 1 or len(indices) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if levels > TABLE:
        return _keys(indptr, indices, level, levels)
    seen = np.zeros((levels, levels), dtype=np.bool_)
    if numba_installed() and len(indices) > WORTH:
        compiled(_tick)(indptr, indices, level, seen)
    else:
        for ones, others in _blocks(indptr, indices, level):
            seen[ones, others] = True
    np.fill_diagonal(seen, val=False)
    first, second = np.nonzero(seen)
    return first.astype(np.int64), second.astype(np.int64)


def _tick(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    level: NDArray[np.int32],
    seen: NDArray[np.bool_],
) -> None:
    for v in range(len(indptr) - 1):
        for e in range(indptr[v], indptr[v + 1]):
            seen[level[v], level[indices[e]]] = True


def _blocks(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32]
) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Levels of both ends of every arc where they differ, a block of edges at a time."""
    cuts = np.searchsorted(indptr, np.arange(0, len(indices), BLOCK), side="left")
    ends = [*cuts[1:].tolist(), len(indptr) - 1]
    found = []
    for begin, end in zip(cuts.tolist(), ends, strict=True):
        first = np.repeat(level[begin:end], np.diff(indptr[begin : end + 1]))
        second = level[indices[indptr[begin] : indptr[end]]]
        unequal = first != second
        found.append((first[unequal], second[unequal]))
    return found


def _keys(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32], levels: int
) -> tuple[Ints, Ints]:
    rising = [(a[a < b], b[a < b]) for a, b in _blocks(indptr, indices, level)]
    # Sorting beats NumPy's hashing where most keys are distinct.
    keys = np.sort(np.concatenate([a.astype(np.int64) * levels + b for a, b in rising]))
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
    low, high = keys // levels, keys % levels
    return np.concatenate([low, high]), np.concatenate([high, low])


def find_edge(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32], first: int, second: int
) -> tuple[int, int]:
    """Some edge from a vertex of one level to a vertex of another."""
    for v in np.flatnonzero(level == first).tolist():
        near = indices[indptr[v] : indptr[v + 1]]
        hit = np.flatnonzero(level[near] == second)
        if hit.size:
            return v, int(near[hit[0]])
    raise ValueError(f"no edge joins levels {first} and {second}")

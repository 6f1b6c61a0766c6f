"""Hops from a set of vertices: a compiled queue, or SciPy's breadth-first order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Ints
from privopt.errors import InvalidProblem
from privopt.measures.compiling import WORTH, compiled, numba_installed

UNREACHED = -1


def hops(indptr: NDArray[np.int64], indices: NDArray[np.int32], sources: Ints, backend: str = "auto") -> Ints:
    """Hops from the nearest source to every vertex; -1 where none is reached.

    Parameters
    ----------
    indptr, indices
        Compressed rows of a symmetric graph.
    sources : int array
        Distinct positions.
    backend : {"auto", "compiled", "scipy"}
    """
    if backend not in ("auto", "compiled", "scipy"):
        raise InvalidProblem(f'backend must be "auto", "compiled" or "scipy", got {backend!r}')
    n = len(indptr) - 1
    found = np.full(n, UNREACHED, dtype=np.int64)
    if len(sources) == 0:
        return found
    if backend == "scipy" or (backend == "auto" and not (numba_installed() and n + len(indices) > WORTH)):
        return _breadth_first(indptr, indices, sources, found)
    queue = np.empty(n, dtype=np.int32)
    compiled(_queue)(indptr, indices, sources, queue, found)
    return found


def _queue(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    sources: Ints,
    queue: NDArray[np.int32],
    found: Ints,
) -> None:
    end = 0
    for s in sources:
        found[s] = 0
        queue[end] = s
        end += 1
    begin = 0
    while begin < end:
        v = queue[begin]
        begin += 1
        for e in range(indptr[v], indptr[v + 1]):
            w = indices[e]
            if found[w] < 0:
                found[w] = found[v] + 1
                queue[end] = w
                end += 1


def _breadth_first(indptr: NDArray[np.int64], indices: NDArray[np.int32], sources: Ints, found: Ints) -> Ints:
    """From one vertex more, joined to all sources; a level ends where the parents are of the next one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n = len(indptr) - 1
    ends = np.concatenate([indices, sources.astype(np.int32)])
    starts = np.concatenate([indptr, [len(ends)]]).astype(np.int32 if len(ends) < 2**31 else np.int64)
    table = csr_array((np.ones(len(ends), dtype=np.int8), ends, starts), shape=(n + 1, n + 1))
    order, parents = breadth_first_order(table, n, directed=True, return_predecessors=True)
    place = np.empty(n + 1, dtype=np.int64)
    place[order] = np.arange(len(order))
    of_parent = place[parents[order[1:]]]
    # Parents appear in order, so those at or after a place follow the vertices whose parents are before it.
    following = np.concatenate([[0], np.cumsum(np.bincount(of_parent, minlength=len(order)))]).tolist()
    borders = [0, 1]
    while borders[-1] < len(order):
        borders.append(following[borders[-1]] + 1)
    sizes = np.diff(np.array(borders))
    found[order[1:]] = np.repeat(np.arange(-1, len(sizes) - 1), sizes)[1:]
    return found


def colour_hops(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], codes: NDArray[np.int16], k: int
) -> Ints:
    """Hops from every vertex to the nearest one of each colour, shape (n, k); -1 where none is reached."""
    columns = [hops(indptr, indices, np.flatnonzero(codes == c)) for c in range(k)]
    return np.stack(columns, axis=1)

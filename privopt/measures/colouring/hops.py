"""Hops from a set of vertices, and a colouring's errors by distance from the boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Ints
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.measures.compiling import compiled, compiling_pays
from privopt.mechanisms import Colouring
from privopt.mechanisms.colouring import wrong_answers
from privopt.models import DatasetGraph

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
    distance = np.full(n, UNREACHED, dtype=np.int64)
    if len(sources) == 0:
        return distance
    if backend == "scipy" or (backend == "auto" and not compiling_pays(n + len(indices))):
        return _breadth_first(indptr, indices, sources, distance)
    queue = np.empty(n, dtype=np.int32)
    compiled(_queue)(indptr, indices, sources, queue, distance)
    return distance


def _queue(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    sources: Ints,
    queue: NDArray[np.int32],
    distance: Ints,
) -> None:
    end = 0
    for s in sources:
        distance[s] = 0
        queue[end] = s
        end += 1
    begin = 0
    while begin < end:
        v = queue[begin]
        begin += 1
        for e in range(indptr[v], indptr[v + 1]):
            w = indices[e]
            if distance[w] < 0:
                distance[w] = distance[v] + 1
                queue[end] = w
                end += 1


def _breadth_first(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], sources: Ints, distance: Ints
) -> Ints:
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
    distance[order[1:]] = np.repeat(np.arange(-1, len(sizes) - 1), sizes)[1:]
    return distance


def colour_hops(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], codes: NDArray[np.int16], k: int
) -> Ints:
    """Hops from every vertex to the nearest one of each colour, shape (n, k); -1 where none is reached."""
    columns = [hops(indptr, indices, np.flatnonzero(codes == c)) for c in range(k)]
    return np.stack(columns, axis=1)


def reached(n: int, start: NDArray[Any], end: NDArray[Any], sources: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The vertices that a walk along arcs reaches from some source."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    begin = np.flatnonzero(sources)
    rows = np.concatenate([start, np.full(len(begin), n)]).astype(np.int32)
    columns = np.concatenate([end, begin]).astype(np.int32)
    table = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n + 1, n + 1))
    inside = np.zeros(n + 1, dtype=np.bool_)
    inside[breadth_first_order(table, n, directed=True, return_predecessors=False)] = True
    return inside[:n]


def components(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> tuple[int, Ints]:
    """The number of connected components, and that of each vertex."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(indptr) - 1
    table = csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(n, n))
    count, component = connected_components(table, directed=False)
    return int(count), component.astype(np.int64)


def error_by_distance(graph: DatasetGraph, colouring: Colouring) -> NDArray[np.float64]:
    """Mean error of the vertices of each colour at each distance from the boundary.

    The boundary, at distance 0, is made of the vertices that have a neighbour of another colour. Errors are sums of
    the probabilities of wrong colours, never one minus an accuracy, so that small ones keep their digits.

    Parameters
    ----------
    graph : DatasetGraph
    colouring : Colouring
        Of its vertices and palette.

    Returns
    -------
    array (distances, colours)
        NaN where a colour has no vertex at that distance; vertices that reach no boundary are left out.

    Raises
    ------
    InvalidMechanism
        If the colouring has other vertices or colours than the graph.

    Examples
    --------
    >>> import math
    >>> import privopt as po
    >>> problem = po.BoundaryColouring(po.DatasetGraph.line(3, 2), math.log(2))
    >>> error_by_distance(problem.graph, po.solve(problem).mechanism).round(6)
    array([[0.333333, 0.333333],
           [0.166667, 0.166667],
           [0.083333,      nan]])
    """
    if len(colouring.level) != graph.size or colouring.colours != graph.palette:
        raise InvalidMechanism("the colouring must be of the graph's vertices, with its palette as colours")
    far = hops(graph.indptr, graph.indices, np.flatnonzero(graph.boundary()))
    seen, k = far >= 0, len(graph.palette)
    cell = far[seen] * k + graph.codes[seen]
    wrong, level = wrong_answers(colouring.levels), colouring.level[seen]
    shape = (int(far.max(initial=-1)) + 1, k)
    total = np.bincount(cell, wrong[level, graph.codes[seen]], minlength=shape[0] * k).reshape(shape)
    count = np.bincount(cell, minlength=shape[0] * k).reshape(shape)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))

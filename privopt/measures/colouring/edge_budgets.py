"""The most accurate colouring under a budget of its own on every edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Ints
from privopt.errors import InvalidProblem
from privopt.measures.colouring._queue import heap
from privopt.measures.colouring.boundary_values import read_values
from privopt.measures.colouring.steps import GUARD, LARGEST
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph

MET = 1e-9
"""Values that are missed by no more than this do not contradict each other."""


def colouring_with_edge_budgets(
    graph: DatasetGraph, values: Mapping[Any, float], epsilons: ArrayLike, deltas: ArrayLike = 0.0
) -> Colouring:
    """The mechanism that dominates all others with given values, under a budget of its own on every edge.

    Parameters
    ----------
    graph : DatasetGraph
        Two colours, up to about 10^6 vertices.
    values : mapping of vertex to Pr[first colour]
        At least one end of every two-coloured edge.
    epsilons, deltas : float, or array (edges,)
        In the order of ``graph.edges()``; epsilons at most 705.

    Raises
    ------
    InvalidProblem
        If the values miss a two-coloured edge, or contradict each other; with the gap and a vertex.

    Examples
    --------
    >>> line = DatasetGraph.line(3, 1)
    >>> made = colouring_with_edge_budgets(line, {2: 0.1}, np.log([2, 3, 4]))
    >>> made.probabilities[:, 0].round(6).tolist()
    [0.6, 0.3, 0.1, 0.025]
    """
    if len(graph.palette) > 2:
        raise InvalidProblem(f"budgets an edge are for two colours, this graph has {len(graph.palette)}")
    sites, pair = read_values(graph, values)
    _hit(graph, sites)
    arcs = _by_arc(graph, epsilons, deltas)
    high = heap(graph.indptr, graph.indices, sites, pair, *arcs)
    over = pair[0] - high[0][sites]
    if over.max(initial=0.0) > MET:
        worst = int(np.argmax(over))
        raise InvalidProblem(
            f"the values contradict each other: vertex {graph.vertices[sites[worst]]!r} has {pair[0][worst]:.9g}, "
            f"the others allow at most {high[0][sites[worst]]:.9g} there, gap {over[worst]:.9g}"
        )
    rest, least = heap(graph.indptr, graph.indices, sites, (high[1][sites], high[0][sites]), *arcs)
    first = graph.codes == 0
    p, r = np.where(first, high[0], least), np.where(first, high[1], rest)
    p[sites], r[sites] = high[0][sites], high[1][sites]
    names = None if isinstance(graph.vertices, range) else graph.vertices
    table = np.stack([np.where(p <= r, p, 1 - r), np.where(p <= r, 1 - p, r)], axis=1)
    return Colouring(table[:, : len(graph.palette)], graph.palette, answers=graph.codes, vertices=names)


def _hit(graph: DatasetGraph, sites: Ints) -> None:
    held = np.zeros(graph.size, dtype=np.bool_)
    held[sites] = True
    edges = graph.two_coloured_edges()
    missed = edges[~held[edges].any(axis=1)]
    if len(missed):
        shown = [(graph.vertices[u], graph.vertices[v]) for u, v in missed[:20].tolist()]
        raise InvalidProblem(
            f"the values miss {len(missed)} two-coloured edges, among them {shown}; give one end of each"
        )


def _by_arc(
    graph: DatasetGraph, epsilons: ArrayLike, deltas: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The budgets in the order of the arcs of the compressed rows, e^epsilon a few units of rounding lower."""
    m = graph.edge_count
    arrays = [np.asarray(x, dtype=np.float64) for x in (epsilons, deltas)]
    for name, array, top in zip(("epsilons", "deltas"), arrays, (LARGEST, 1.0), strict=True):
        if array.shape not in ((), (m,)) or not ((array >= 0) & (array <= top)).all():
            raise InvalidProblem(f"{name} must be one number, or {m}, one an edge, each in [0, {top:g}]")
    start = np.repeat(np.arange(graph.size), np.diff(graph.indptr))
    end = graph.indices.astype(np.int64)
    keys = np.minimum(start, end) * graph.size + np.maximum(start, end)
    number = np.searchsorted(np.unique(keys), keys)
    spread = [np.broadcast_to(array, (m,))[number] for array in arrays]
    return np.maximum(spread[0] - GUARD, 0.0), spread[1] * (1.0 - GUARD)

"""Values prescribed on the boundary: repaired where they contradict each other, or continued with a budget an edge."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidProblem
from privopt.files.labels import Label
from privopt.measures.colouring.envelope import Rows, lower, upper
from privopt.measures.colouring.privacy import checked_budget
from privopt.measures.colouring.steps import GUARD, LARGEST, TINY, Pair, step
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph

HALVINGS = 60
LISTED = 20
"""Missed edges that a message lists."""


class MinimaxChange(NamedTuple):
    """The least change by which all values can be met, and the values then."""

    change: float
    values: dict[Label, float]


def below(
    graph: DatasetGraph, values: Mapping[Any, float], epsilon: float, delta: float = 0.0
) -> dict[Label, float]:
    """The largest feasible values below the given ones: no value rises, the accuracy of the first colour may fall.

    Parameters
    ----------
    graph : DatasetGraph
    values : mapping of vertex to Pr[first colour]
    epsilon, delta : float

    Raises
    ------
    InvalidModel, InvalidProblem
        If a vertex is unknown or a number out of its range.

    Examples
    --------
    >>> edge = DatasetGraph.line(1, 1)
    >>> {v: round(p, 12) for v, p in below(edge, {0: 0.9, 1: 0.2}, np.log(2)).items()}
    {0: 0.4, 1: 0.2}
    """
    sites, pair = read_values(graph, values)
    high = upper(rows_of(graph), sites, pair, step(*checked_budget(epsilon, delta)))[0]
    return dict(zip(values, high[sites].tolist(), strict=True))


def above(
    graph: DatasetGraph, values: Mapping[Any, float], epsilon: float, delta: float = 0.0
) -> dict[Label, float]:
    """The smallest feasible values above the given ones; see :func:`below`.

    Examples
    --------
    >>> edge = DatasetGraph.line(1, 1)
    >>> {v: round(p, 12) for v, p in above(edge, {0: 0.9, 1: 0.2}, np.log(2)).items()}
    {0: 0.9, 1: 0.8}
    """
    sites, pair = read_values(graph, values)
    low = lower(rows_of(graph), sites, pair, step(*checked_budget(epsilon, delta)))[0]
    return dict(zip(values, low[sites].tolist(), strict=True))


def minimax_change(
    graph: DatasetGraph, values: Mapping[Any, float], epsilon: float, delta: float = 0.0
) -> MinimaxChange:
    """The smallest t such that feasible values exist within t of all given ones, and such values.

    By bisection: the largest feasible values below min(1, m + t) must not fall below m - t.

    Examples
    --------
    >>> change, values = minimax_change(DatasetGraph.line(1, 1), {0: 0.9, 1: 0.2}, np.log(2))
    >>> round(change, 9), {v: round(p, 9) for v, p in values.items()}
    (0.2, {0: 0.7, 1: 0.4})
    """
    sites, pair = read_values(graph, values)
    one = step(*checked_budget(epsilon, delta))

    def met(t: float) -> NDArray[np.float64]:
        raised = np.minimum(pair[0] + t, 1.0), np.maximum(pair[1] - t, 0.0)
        return np.asarray(upper(rows_of(graph), sites, raised, one)[0][sites])

    def fits(t: float) -> bool:
        return bool((met(t) >= pair[0] - t).all())

    low, high = 0.0, 1.0
    if fits(0.0):
        high = 0.0
    else:
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if fits(middle) else (middle, high)
    return MinimaxChange(high, dict(zip(values, met(high).tolist(), strict=True)))


def rows_of(graph: DatasetGraph) -> Rows:
    """The compressed rows of a graph."""
    return graph.indptr, graph.indices


def read_values(graph: DatasetGraph, values: Mapping[Any, float]) -> tuple[Ints, Pair]:
    """Positions, and probabilities with their complements."""
    sites = np.array([graph.position(v) for v in values], dtype=np.int64)
    p = np.array([float(x) for x in values.values()], dtype=np.float64)
    bad = np.flatnonzero(~((p >= 0) & (p <= 1)))
    if bad.size:
        raise InvalidProblem(f"the value on {list(values)[bad[0]]!r} must be in [0, 1], got {p[bad[0]]}")
    return sites, (p, 1.0 - p)


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
    if missed := missed_edges(graph, sites):
        raise InvalidProblem(f"the values miss {missed}; give one end of each")
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


def missed_edges(graph: DatasetGraph, sites: Ints) -> str:
    """The two-coloured edges that have no end among some vertices: how many, and the first of them; "" for none."""
    held = np.zeros(graph.size, dtype=np.bool_)
    held[sites] = True
    edges = graph.two_coloured_edges()
    missed = edges[~held[edges].any(axis=1)]
    if not len(missed):
        return ""
    shown = [(graph.vertices[u], graph.vertices[v]) for u, v in missed[:LISTED].tolist()]
    more = f" and {len(missed) - LISTED} more" if len(missed) > LISTED else ""
    return f"{len(missed)} two-coloured edges: {shown}{more}"


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


def heap(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    sites: Ints,
    values: Pair,
    epsilons: Floats,
    deltas: Floats,
) -> Pair:
    """The same with a budget of its own on every arc, in the order of ``indices``."""
    n = len(indptr) - 1
    p, r = [1.0] * n, [0.0] * n
    settled = [False] * n
    growth, decay = np.exp(epsilons), np.exp(-epsilons)
    kinks = ((1.0 - deltas) * decay / (1.0 + decay)).tolist()
    growths, decays, rests = growth.tolist(), decay.tolist(), deltas.tolist()
    ends, near = indptr.tolist(), indices.tolist()
    waiting = [
        (x, -y, s) for x, y, s in zip(values[0].tolist(), values[1].tolist(), sites.tolist(), strict=True)
    ]
    heapq.heapify(waiting)
    while waiting:
        x, y, v = heapq.heappop(waiting)
        if settled[v]:
            continue
        settled[v], p[v], r[v] = True, x, -y
        for e in range(ends[v], ends[v + 1]):
            w = near[e]
            if settled[w]:
                continue
            if x <= kinks[e]:
                up = growths[e] * x + rests[e]
                rest = kinks[e] + growths[e] * (kinks[e] - x)
            else:
                rest = max(decays[e] * (-y - rests[e]), min(-y, TINY) if rests[e] == 0 else 0.0)
                up = 1.0 - rest
            if up < p[w] or rest > r[w]:
                p[w], r[w] = up, rest
                heapq.heappush(waiting, (up, -rest, w))
    return np.array(p), np.array(r)

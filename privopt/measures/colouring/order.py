"""Whether a colouring of a graph of datasets can be improved, and which of two is more accurate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism
from privopt.measures.colouring._inputs import delta_of, epsilon_of, level_rows, two_columns
from privopt.measures.colouring.privacy import TOLERANCE, is_private_colouring
from privopt.measures.colouring.steps import TINY, step
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph


def is_optimal_colouring(
    graph: DatasetGraph,
    colouring: Colouring | ArrayLike,
    epsilon: float,
    delta: float = 0.0,
    *,
    tolerance: float = 1e-9,
) -> bool:
    """Whether a private colouring with two colours is at least as accurate as all that dominate it, O(V + E).

    An edge is tight from v to w when p_v is the most that p_w allows: then v cannot rise unless w does, nor w fall unless
    v does. Nothing dominates the colouring exactly if every vertex of the first colour that could rise pulls up one of
    the second, and every one of the second that could fall is held by one of the first; otherwise the vertices that
    are not held can be moved a little.

    Parameters
    ----------
    graph, colouring, epsilon, delta
        As for :func:`colouring_privacy`; two colours.
    tolerance : float
        Relative, for tight edges and for privacy; probabilities up to tolerance * delta, and up to
        5e-308, count as 0.

    Raises
    ------
    InvalidMechanism
        If the colouring does not fit the graph, or has more than two colours.

    Examples
    --------
    >>> line = DatasetGraph.line(2, 1)
    >>> is_optimal_colouring(line, [5 / 6, 2 / 3, 1 / 3], 0.6931471805599453)
    True
    >>> is_optimal_colouring(line, [0.8, 2 / 3, 1 / 3], 0.6931471805599453)
    False
    """
    if not is_private_colouring(graph, colouring, epsilon, delta, tolerance=tolerance):
        return False
    p, r = two_columns(graph, colouring)
    high, low = step(epsilon_of(epsilon), delta_of(delta)).up(p, r)
    start = np.repeat(np.arange(graph.size, dtype=np.int32), np.diff(graph.indptr))
    end = graph.indices
    tight = np.abs(p[start] - high[end]) <= tolerance * (high[end] + delta)
    tight &= np.abs(r[start] - low[end]) <= tolerance * (low[end] + delta)
    tight &= r[end] >= delta * (1 - tolerance)
    arcs = start[tight], end[tight]
    first = graph.codes == 0
    pulls = _reached(graph.size, arcs[1], arcs[0], ~first)
    held = _reached(graph.size, arcs[0], arcs[1], first)
    nothing = max(tolerance * delta, TINY)
    sure = (r <= nothing)[first], (p <= nothing)[~first]
    return bool((pulls[first] | sure[0]).all() and (held[~first] | sure[1]).all())


def _reached(
    n: int, start: NDArray[np.int32], end: NDArray[np.int32], sources: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """The vertices that a walk along arcs reaches from some source."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    begin = np.flatnonzero(sources).astype(np.int32)
    rows = np.concatenate([start, np.full(len(begin), n, dtype=np.int32)])
    columns = np.concatenate([end, begin])
    table = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n + 1, n + 1))
    found = np.zeros(n + 1, dtype=np.bool_)
    found[breadth_first_order(table, n, directed=True, return_predecessors=False)] = True
    return found[:n]


def dominates(
    a: Colouring | ArrayLike, b: Colouring | ArrayLike, graph: DatasetGraph, *, tolerance: float = TOLERANCE
) -> str:
    """How the accuracies of two colourings compare, vertex by vertex.

    Parameters
    ----------
    a, b : Colouring, array (vertices, colours), or array (vertices,) of Pr[first of two colours]
    graph : DatasetGraph
        It says which answers are true.
    tolerance : float
        Errors this close, relatively, count as equal.

    Returns
    -------
    {"dominates", "dominated", "equal", "incomparable"}

    Examples
    --------
    >>> dominates([0.8, 0.4], [0.7, 0.4], DatasetGraph.line(1, 1))
    'dominates'
    """
    errors = [_errors(graph, given) for given in (a, b)]
    slack = tolerance * np.minimum(*errors)
    better = bool((errors[0] < errors[1] - slack).any())
    worse = bool((errors[1] < errors[0] - slack).any())
    if better and worse:
        return "incomparable"
    return "dominates" if better else "dominated" if worse else "equal"


def _errors(graph: DatasetGraph, given: Colouring | ArrayLike) -> Floats:
    """Probability of a wrong answer at each vertex, summed from the wrong answers."""
    levels, level = level_rows(graph, given)
    k = levels.shape[1]
    if graph.size and int(graph.codes.max()) >= k:
        raise InvalidMechanism(f"the colouring has {k} colours, the graph's palette is {graph.palette!r}")
    wrong = np.stack([np.delete(levels, c, axis=1).sum(axis=1) for c in range(k)], axis=1)
    return np.asarray(wrong[level, graph.codes])

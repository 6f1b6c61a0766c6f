"""What the edges of a graph of datasets leak through a colouring, and whether it can be improved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.labels import Label
from privopt.measures.colouring.hops import reached
from privopt.measures.colouring.reading import find_edge, level_pairs, smallest_deltas, smallest_epsilons
from privopt.measures.colouring.steps import TINY, Pair, step
from privopt.mechanisms import Colouring
from privopt.mechanisms.colouring import wrong_answers
from privopt.models import DatasetGraph

TOLERANCE = 1e-12


@dataclass(frozen=True)
class ColouringPrivacy:
    """What the edges of a graph leak through a colouring.

    ``epsilon`` is the smallest one at the given delta and ``delta`` the smallest at the given epsilon; the edges are those
    that need them, from the vertex that shows more, or None where nothing is needed.
    """

    private: bool
    epsilon: float
    delta: float
    epsilon_edge: tuple[Label, Label] | None
    delta_edge: tuple[Label, Label] | None


def colouring_privacy(
    graph: DatasetGraph,
    colouring: Colouring | ArrayLike,
    epsilon: float,
    delta: float = 0.0,
    *,
    tolerance: float = TOLERANCE,
) -> ColouringPrivacy:
    """Judge every edge in both directions: sum_c max(0, P_u(c) - e^epsilon P_v(c)) <= delta.

    Parameters
    ----------
    graph : DatasetGraph
    colouring : Colouring, array (vertices, colours), or array (vertices,) of Pr[first of two colours]
    epsilon : float
        Nats, >= 0, finite.
    delta : float
        In [0, 1].
    tolerance : float
        Private if the smallest epsilon exceeds the given one by at most this, relative to max(1, epsilon), or the
        smallest delta exceeds a positive given one by at most this, relatively.

    Raises
    ------
    InvalidMechanism
        If the colouring does not fit the graph.
    InvalidProblem
        If epsilon or delta is out of its range.

    Examples
    --------
    >>> line = DatasetGraph.line(2, 1)
    >>> leak = colouring_privacy(line, [0.8, 0.6, 0.25], 1.0)
    >>> leak.private, round(leak.epsilon, 6), leak.epsilon_edge
    (True, 0.875469, (1, 2))
    """
    budget, rest = checked_budget(epsilon, delta)
    levels, level = level_rows(graph, colouring)
    first, second = level_pairs(graph.indptr, graph.indices, level, len(levels))
    needed = smallest_epsilons(levels, first, second, rest).epsilon
    missing = smallest_deltas(levels, first, second, budget)

    def edge(values: Floats) -> tuple[Label, Label] | None:
        if values.max(initial=0.0) == 0:
            return None
        i = int(np.argmax(values))
        u, v = find_edge(graph.indptr, graph.indices, level, int(first[i]), int(second[i]))
        return graph.vertices[u], graph.vertices[v]

    least, most = float(needed.max(initial=0.0)), float(missing.max(initial=0.0))
    private = least <= budget + tolerance * max(1.0, budget) or 0 < most <= rest * (1 + tolerance)
    return ColouringPrivacy(private, least, most, edge(needed), edge(missing))


def is_private_colouring(
    graph: DatasetGraph,
    colouring: Colouring | ArrayLike,
    epsilon: float,
    delta: float = 0.0,
    *,
    tolerance: float = TOLERANCE,
) -> bool:
    """Whether a colouring is (epsilon, delta)-private along every edge; see :func:`colouring_privacy`.

    Examples
    --------
    >>> is_private_colouring(DatasetGraph.line(1, 1), [0.75, 0.25], 1.0)
    False
    """
    return colouring_privacy(graph, colouring, epsilon, delta, tolerance=tolerance).private


def colouring_epsilon(graph: DatasetGraph, colouring: Colouring | ArrayLike, delta: float = 0.0) -> float:
    """The smallest epsilon, in nats and perhaps inf, at which a colouring is private for a delta.

    Examples
    --------
    >>> round(colouring_epsilon(DatasetGraph.line(1, 1), [0.75, 0.25], 0.25), 6)
    0.693147
    """
    return colouring_privacy(graph, colouring, 0.0, delta).epsilon


def colouring_delta(graph: DatasetGraph, colouring: Colouring | ArrayLike, epsilon: float) -> float:
    """The smallest delta at which a colouring is private for an epsilon.

    Examples
    --------
    >>> round(colouring_delta(DatasetGraph.line(1, 1), [0.75, 0.25], 0.6931471805599453), 12)
    0.25
    """
    return colouring_privacy(graph, colouring, epsilon).delta


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
    high, low = step(*checked_budget(epsilon, delta)).up(p, r)
    start = np.repeat(np.arange(graph.size, dtype=np.int32), np.diff(graph.indptr))
    end = graph.indices
    tight = np.abs(p[start] - high[end]) <= tolerance * (high[end] + delta)
    tight &= np.abs(r[start] - low[end]) <= tolerance * (low[end] + delta)
    tight &= r[end] >= delta * (1 - tolerance)
    arcs = start[tight], end[tight]
    first = graph.codes == 0
    pulls = reached(graph.size, arcs[1], arcs[0], ~first)
    held = reached(graph.size, arcs[0], arcs[1], first)
    nothing = max(tolerance * delta, TINY)
    sure = (r <= nothing)[first], (p <= nothing)[~first]
    return bool((pulls[first] | sure[0]).all() and (held[~first] | sure[1]).all())


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
    errors = [_errors(graph, colouring) for colouring in (a, b)]
    slack = tolerance * np.minimum(*errors)
    better = bool((errors[0] < errors[1] - slack).any())
    worse = bool((errors[1] < errors[0] - slack).any())
    if better and worse:
        return "incomparable"
    return "dominates" if better else "dominated" if worse else "equal"


def _errors(graph: DatasetGraph, colouring: Colouring | ArrayLike) -> Floats:
    """Probability of a wrong answer at each vertex, summed from the wrong answers."""
    levels, level = level_rows(graph, colouring)
    k = levels.shape[1]
    if graph.size and int(graph.codes.max()) >= k:
        raise InvalidMechanism(f"the colouring has {k} colours, the graph's palette is {graph.palette!r}")
    return np.asarray(wrong_answers(levels)[level, graph.codes])


def checked_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """A finite number of nats >= 0, and a number in [0, 1]."""
    for name, value, room in (
        ("epsilon", epsilon, "a finite number of nats >= 0"),
        ("delta", delta, "in [0, 1]"),
    ):
        plain = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not plain or not 0 <= value < math.inf or (name == "delta" and value > 1):
            raise InvalidProblem(f"{name} must be {room}, got {value!r}")
    return float(epsilon), float(delta)


def level_rows(graph: DatasetGraph, colouring: Colouring | ArrayLike) -> tuple[Floats, NDArray[np.int32]]:
    """Distinct rows, and the row of each vertex, of a colouring of this graph."""
    if not isinstance(graph, DatasetGraph):
        raise InvalidMechanism(f"graph must be a DatasetGraph, got {type(graph).__name__}")
    if not isinstance(colouring, Colouring):
        table = np.asarray(colouring, dtype=np.float64)
        rows = np.stack([table, 1.0 - table], axis=1) if table.ndim == 1 else table
        if rows.ndim != 2:
            raise InvalidMechanism(f"a colouring is a table, a row a vertex, got shape {table.shape}")
        if not len(rows):
            return np.array([[0.5, 0.5]]), np.zeros(graph.size, dtype=np.int32)
        colouring = Colouring(rows)
    if len(colouring.level) != graph.size:
        raise InvalidMechanism(
            f"the colouring is of {len(colouring.level)} vertices, the graph has {graph.size}"
        )
    return colouring.levels, colouring.level


def two_columns(graph: DatasetGraph, colouring: Colouring | ArrayLike) -> Pair:
    """Probabilities of the first of two colours, and their complements."""
    levels, level = level_rows(graph, colouring)
    if levels.shape[1] > 2 or len(graph.palette) > 2:
        raise InvalidMechanism(f"this is decided for two colours only, got {levels.shape[1]}")
    if levels.shape[1] == 1:
        return np.ones(graph.size), np.zeros(graph.size)
    return np.asarray(levels[level, 0]), np.asarray(levels[level, 1])

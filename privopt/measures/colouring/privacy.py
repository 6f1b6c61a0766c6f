"""What the edges of a graph of datasets leak through a colouring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.files.labels import Label
from privopt.measures.colouring._inputs import delta_of, epsilon_of, level_rows
from privopt.measures.colouring.pairs import find_edge, level_pairs
from privopt.measures.colouring.reading import smallest_deltas, smallest_epsilons
from privopt.mechanisms import Colouring
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
    >>> found = colouring_privacy(line, [0.8, 0.6, 0.25], 1.0)
    >>> found.private, round(found.epsilon, 6), found.epsilon_edge
    (True, 0.875469, (1, 2))
    """
    budget, rest = epsilon_of(epsilon), delta_of(delta)
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

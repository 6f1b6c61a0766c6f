"""Values prescribed on the boundary of a graph, repaired where they contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Ints
from privopt.errors import InvalidProblem
from privopt.files.labels import Label
from privopt.measures.colouring._inputs import delta_of, epsilon_of
from privopt.measures.colouring.envelope import Rows, lower, upper
from privopt.measures.colouring.steps import Pair, Step, step
from privopt.models import DatasetGraph

HALVINGS = 60


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
    found = upper(rows_of(graph), sites, pair, step(epsilon_of(epsilon), delta_of(delta)))[0]
    return dict(zip(values, found[sites].tolist(), strict=True))


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
    found = lower(rows_of(graph), sites, pair, step(epsilon_of(epsilon), delta_of(delta)))[0]
    return dict(zip(values, found[sites].tolist(), strict=True))


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
    one = step(epsilon_of(epsilon), delta_of(delta))

    def met(t: float) -> NDArray[np.float64]:
        return _met(rows_of(graph), sites, pair, one, t)

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


def _met(graph: Rows, sites: Ints, pair: Pair, one: Step, t: float) -> NDArray[np.float64]:
    raised = np.minimum(pair[0] + t, 1.0), np.maximum(pair[1] - t, 0.0)
    return np.asarray(upper(graph, sites, raised, one)[0][sites])


def rows_of(graph: DatasetGraph) -> Rows:
    """The compressed rows of a graph."""
    return graph.indptr, graph.indices


def read_values(graph: DatasetGraph, values: Mapping[Any, float]) -> tuple[Ints, Pair]:
    """Positions, and probabilities with their complements."""
    sites = np.array([graph.position(v) for v in values], dtype=np.int64)
    given = np.array([float(x) for x in values.values()], dtype=np.float64)
    bad = np.flatnonzero(~((given >= 0) & (given <= 1)))
    if bad.size:
        raise InvalidProblem(f"the value on {list(values)[bad[0]]!r} must be in [0, 1], got {given[bad[0]]}")
    return sites, (given, 1.0 - given)

"""Upper and lower envelopes of values prescribed on some vertices of a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Ints
from privopt.errors import InvalidProblem
from privopt.measures.colouring._coordinate import coordinate
from privopt.measures.colouring._queue import two_queues
from privopt.measures.colouring.steps import Pair, Step
from privopt.measures.compiling import WORTH, numba_installed

Rows = tuple[NDArray[np.int64], NDArray[np.int32]]
BACKENDS = ("auto", "two_queue", "coordinate")


def upper(graph: Rows, sites: Ints, values: Pair, one: Step, backend: str = "auto") -> Pair:
    """The largest private continuation of values from above: min over sites s of U^dist(s, v)(p_s).

    Parameters
    ----------
    graph : (indptr, indices)
    sites : int array, distinct positions
    values : probabilities there, and their complements
    one : Step
    backend : {"auto", "two_queue", "coordinate"}

    Returns
    -------
    Probabilities and their complements, a vertex each; (1, 0) where no site is reached.
    """
    if backend not in BACKENDS:
        raise InvalidProblem(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if len(sites) == 0:
        n = len(graph[0]) - 1
        return np.ones(n), np.zeros(n)
    if runs(graph, backend) == "coordinate":
        return coordinate(*graph, sites, values, one)
    return two_queues(*graph, sites, values, one)


def runs(graph: Rows, backend: str) -> str:
    """Which backend "auto" means here."""
    if backend != "auto":
        return backend
    large = len(graph[0]) + len(graph[1]) > WORTH
    return "coordinate" if large and not numba_installed() else "two_queue"


def lower(graph: Rows, sites: Ints, values: Pair, one: Step, backend: str = "auto") -> Pair:
    """The smallest private continuation: max over sites s of L^dist(s, v)(p_s)."""
    rest, least = upper(graph, sites, (values[1], values[0]), one, backend)
    return least, rest


def extend(
    graph: Rows, first: NDArray[np.bool_], sites: Ints, values: Pair, one: Step, backend: str = "auto"
) -> Pair:
    """The optimal continuation of feasible values: upper envelope on the first colour, lower on the other.

    ``values`` is taken down to the largest feasible vector below it, which is itself if it is feasible.
    """
    high = upper(graph, sites, values, one, backend)
    met = np.asarray(high[0][sites]), np.asarray(high[1][sites])
    low = lower(graph, sites, met, one, backend)
    p, r = np.where(first, high[0], low[0]), np.where(first, high[1], low[1])
    p[sites], r[sites] = met
    return p, r

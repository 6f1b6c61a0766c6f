"""Upper and lower envelopes of values prescribed on some vertices of a graph.

By two queues, sources in the order of their values and what they push on: the lectures on privacy-utility trade-offs,
differential privacy by randomised colourings; the queues replace Dijkstra's heap because one step keeps the order of
values, so what is pushed never falls.

Without compiled code by a coordinate that one step raises by one, and SciPy's Dijkstra:
phi(p) is 0 .. 1 on (a, b], linear there, and phi(U(p)) = phi(p) + 1. The smallest U^dist(p_s) is the one of the smallest
phi(p_s) + dist, one shortest path from a vertex joined to every site s by an edge of length phi(p_s) - min + 1. Hops and
site of the shortest path are then read off and the value computed from them, so that no rounding of phi remains.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidProblem
from privopt.measures.colouring.hops import components
from privopt.measures.colouring.steps import Pair, Step
from privopt.measures.compiling import WORTH, compiled, numba_installed


def two_queues(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], sites: Ints, values: Pair, one: Step
) -> Pair:
    """The least U^dist(s, v)(value of s) over sites s, and its complement; (1, 0) where no site is reached."""
    n = len(indptr) - 1
    p, r = np.ones(n), np.zeros(n)
    order = np.lexsort((-values[1], values[0]))
    ranked = sites[order], np.asarray(values[0][order]), np.asarray(values[1][order])
    loop = compiled(_run) if numba_installed() and n + len(indices) > WORTH else _run
    budget = (one.growth, one.decay, one.delta, one.kink, one.floor)
    loop(indptr, indices, *ranked, budget, p, r, np.zeros(n, dtype=np.int8), np.empty(n, dtype=np.int32))
    return p, r


def _run(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    sites: Ints,
    site_p: Floats,
    site_r: Floats,
    budget: tuple[float, float, float, float, float],
    p: Floats,
    r: Floats,
    state: NDArray[np.int8],
    queue: NDArray[np.int32],
) -> None:
    """States: 0 untouched, 1 pushed with its value in p and r, 2 settled."""
    growth, decay, delta, kink, floor = budget
    head, tail, source = 0, 0, 0
    while head < tail or source < len(sites):
        take_source = head == tail
        if not take_source and source < len(sites):
            v = queue[head]
            low = site_p[source] <= 0.5 or p[v] <= 0.5
            take_source = site_p[source] <= p[v] if low else site_r[source] >= r[v]
        if take_source:
            v = sites[source]
            if state[v] < 2:
                p[v], r[v] = site_p[source], site_r[source]
            source += 1
        else:
            v = queue[head]
            head += 1
        if state[v] == 2:
            continue
        state[v] = 2
        if p[v] <= kink:
            next_p = growth * p[v] + delta
            next_r = kink + growth * (kink - p[v])
        else:
            left = max(r[v] - delta, 0.0)
            next_r = max(decay * left, min(left, floor))
            next_p = 1.0 - next_r
        for e in range(indptr[v], indptr[v + 1]):
            w = indices[e]
            if state[w] == 0:
                state[w] = 1
                p[w], r[w] = next_p, next_r
                queue[tail] = w
                tail += 1


def coordinate(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], sites: Ints, values: Pair, one: Step
) -> Pair:
    """The least U^dist(s, v)(value of s) over sites s, and its complement; (1, 0) where no site is reached."""
    n = len(indptr) - 1
    if one.epsilon == 0 and one.delta == 0:
        return _components(indptr, indices, sites, values)
    p, r = np.ones(n), np.zeros(n)
    stuck = (values[0] == 0) & (one.delta == 0)  # phi = -inf: its whole component is 0
    void = (values[1] == 0) & (one.delta == 0)  # phi = inf: it bounds nothing
    useful = ~stuck & ~void
    if useful.any():
        chosen = sites[useful]
        kept = np.asarray(values[0][useful]), np.asarray(values[1][useful])
        root, far = _nearest(indptr, indices, chosen, phi(*kept, one))
        there = root >= 0
        p[there], r[there] = one.power(kept[0][root[there]], kept[1][root[there]], far[there])
    if stuck.any():
        zero = _components(indptr, indices, sites[stuck], (values[0][stuck], values[1][stuck]))[0] == 0
        p[zero], r[zero] = 0.0, 1.0
    return p, r


def phi(p: Floats, r: Floats, one: Step) -> Floats:
    """The coordinate of 0 < p < 1 (p = 0 and p = 1 too where delta > 0)."""
    below = p <= one.kink
    small = np.where(below, p, np.where(r < one.kink, r, one.kink))
    steps = _climb(small, one)
    grown = one.power(small, 1.0 - small, steps)[0]
    y = np.where(below, grown, np.where(r < one.kink, 1.0 - grown, p))
    inside = (y - one.kink) / (1.0 - 2 * one.kink)
    return np.where(below, inside - steps, np.where(r < one.kink, inside + steps, inside))


def _climb(small: Floats, one: Step) -> Ints:
    """The least number of steps that lifts values <= a beyond a."""
    if one.epsilon == 0:
        count = np.floor((one.kink - small) / one.delta) + 1
    else:
        share = one.delta / np.expm1(one.epsilon)
        count = np.floor(np.log((one.kink + share) / (small + share)) / one.epsilon) + 1
    steps = np.maximum(count, 0).astype(np.int64)
    late = one.power(small, 1.0 - small, steps)[0] <= one.kink
    return np.asarray(steps + late)


def _nearest(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], sites: Ints, start: Floats
) -> tuple[Ints, Ints]:
    """Position among the sites of the one nearest to each vertex, -1 where none is, and the hops to it."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n = len(indptr) - 1
    lengths = np.concatenate([np.ones(len(indices)), start - start.min() + 1.0])
    ends = np.concatenate([indices, sites.astype(np.int32)])
    starts = np.concatenate([indptr, [len(ends)]]).astype(np.int32 if len(ends) < 2**31 else np.int64)
    table = csr_array((lengths, ends, starts), shape=(n + 1, n + 1))
    search: Any = dijkstra  # its stubs leave out a single source with predecessors
    parents = search(table, directed=True, indices=n, return_predecessors=True)[1][:n].astype(np.int64)
    number = np.full(n, -1, dtype=np.int64)
    number[sites] = np.arange(len(sites))
    # Pointer doubling: roots are the children of the vertex that was added, unreached ones have no parent.
    rooted, reached = parents == n, parents >= 0
    jump = np.where(rooted | ~reached, np.arange(n), parents)
    far = np.where(jump == np.arange(n), 0, 1)
    while True:
        further = jump[jump]
        if (further == jump).all():
            break
        far += far[jump]
        jump = further
    return np.where(reached, number[jump], -1), far


def _components(indptr: NDArray[np.int64], indices: NDArray[np.int32], sites: Ints, values: Pair) -> Pair:
    """The smallest value of each connected component."""
    count, component = components(indptr, indices)
    order = np.lexsort((-values[1], values[0]))[::-1]
    least_p, least_r = np.ones(count), np.zeros(count)
    least_p[component[sites[order]]] = values[0][order]  # the last one written is the smallest
    least_r[component[sites[order]]] = values[1][order]
    return least_p[component], least_r[component]


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

"""A problem on the quotient of its graph, where that is smaller and has the same optimum, and its multipliers taken back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.colouring.envelope import extend
from privopt.measures.colouring.hops import components
from privopt.measures.colouring.steps import Pair
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring

ROUNDS = 2000
"""Rounds of colour refinement that are worth their time."""
WORTH = 0.9
"""Share of the vertices below which a quotient is used."""
MAX_EDGES, MAX_REGULAR = 60_000, 600_000
"""Edges beyond which a quotient is not looked for, and where all vertices have as many neighbours, as in cubes of votes."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """The graph to work on, its weights (which add to 1), and the map onto it (None for the identity)."""

    graph: DatasetGraph
    weights: Floats
    classes: Ints | None

    @cached_property
    def is_forest(self) -> bool:
        """Whether the graph has no cycle."""
        return is_forest(self.graph)


def normalised_weights(problem: BoundaryColouring) -> Floats:
    """The weights divided by their sum."""
    n = problem.graph.size
    if problem.weights is None:
        return np.full(n, 1.0 / max(n, 1))
    return np.asarray(problem.weights / problem.weights.sum())


@lru_cache(maxsize=4)
def reduced(problem: BoundaryColouring) -> Reduced:
    """The quotient by colour refinement, or the graph itself where that is hardly larger or a forest."""
    graph, weights = problem.graph, normalised_weights(problem)
    whole = Reduced(graph, weights, None)
    if graph.edge_count > MAX_REGULAR or (graph.edge_count > MAX_EDGES and not is_regular(graph)):
        return whole
    if whole.is_forest:
        return whole
    if problem.weights is not None and len(np.unique(problem.weights)) > WORTH * graph.size:
        return whole
    small = graph.refined(problem.weights, ROUNDS)
    if small.graph.size > WORTH * graph.size:
        return whole
    return Reduced(small.graph, small.weights / small.weights.sum(), small.classes)


def is_forest(graph: DatasetGraph) -> bool:
    """Whether a graph has no cycle."""
    if graph.edge_count >= max(graph.size, 1):
        return False
    return components(graph.indptr, graph.indices)[0] + graph.edge_count == graph.size


def is_regular(graph: DatasetGraph) -> bool:
    """Whether all vertices have as many neighbours."""
    degrees = np.diff(graph.indptr)
    return bool((degrees == degrees[:1]).all())


def polished(problem: BoundaryColouring, small: Reduced, values: Pair) -> Colouring:
    """The mechanism that keeps private values on the boundary and is best elsewhere.

    Where the values are not private on the boundary, they are lowered to the largest that are.
    """
    graph = small.graph
    sites = np.flatnonzero(graph.boundary())
    kept = np.asarray(values[0][sites]), np.asarray(values[1][sites])
    p, r = extend((graph.indptr, graph.indices), graph.codes == 0, sites, kept, problem.guarded)
    if small.classes is None:
        return problem.two_colours(p, r)
    return problem.two_colours(p[small.classes], r[small.classes])


def refuse_choice(problem: BoundaryColouring) -> str | None:
    """Why a problem is not that of the best weighted mean accuracy of two colours with a free boundary."""
    if problem.k != 2:
        return f"it chooses between 2 colours, the palette of this graph has {problem.k}"
    if problem.boundary is not None:
        return "it chooses the boundary values, this problem prescribes them; propagation or balanced continues them"
    if problem.objective != "accuracy":
        return "it maximises the weighted mean accuracy, this problem asks for the worst case; balanced does that"
    return None


def signed(codes: Any, weights: Floats) -> Floats:
    """Gain of each vertex's weighted accuracy in its probability of the first colour."""
    return np.where(np.asarray(codes) == 0, weights, -weights)


def row_entries(indptr: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Where the entries of some rows of a table of compressed rows stand, row after row, and to which of the rows each belongs."""
    count = np.diff(indptr)[rows]
    own = np.repeat(np.arange(len(rows)), count)
    return own, np.arange(len(own)) + np.repeat(indptr[rows] - (np.cumsum(count) - count), count)


def arc_positions(graph: DatasetGraph, start: Ints, end: Ints) -> Ints:
    """Places in ``graph.indices`` of arcs that are there."""
    n, rows = max(graph.size, 1), np.unique(start)
    own, arcs = row_entries(graph.indptr, rows)
    keys = rows[own] * n + graph.indices[arcs]
    return np.asarray(arcs[np.searchsorted(keys, start * n + end)])


def edge_table(graph: DatasetGraph, edges: Ints, multipliers: Floats) -> Floats:
    """Multipliers of edges (u, v), columns u to v by colour and v to u by colour, as a table by arc, (arcs, 2)."""
    table = np.zeros((len(graph.indices), 2))
    table[arc_positions(graph, edges[:, 0], edges[:, 1])] = multipliers[:, :2]
    table[arc_positions(graph, edges[:, 1], edges[:, 0])] = multipliers[:, 2:]
    return table


def lifted(small: Reduced, graph: DatasetGraph, table: Floats) -> Floats:
    """The multipliers of a quotient's arcs, shared equally among the arcs of the graph that go there."""
    if small.classes is None:
        return table
    rows = np.repeat(small.classes, np.diff(graph.indptr))
    columns = small.classes[graph.indices]
    between = rows != columns
    place = arc_positions(small.graph, rows[between], columns[between])
    count = np.bincount(place, minlength=len(table))
    shares = np.zeros((len(graph.indices), table.shape[1]))
    shares[between] = table[place] / count[place][:, None]
    return shares


def linear_dual(table: Floats, weights: Floats | None = None) -> dict[str, Any]:
    """The dual from a table of multipliers by arc and colour; zeros are left out."""
    flat = table.ravel()
    at = np.flatnonzero(flat > 0)
    dual: dict[str, Any] = {"kind": "linear", "at": at.tolist(), "values": flat[at].tolist()}
    if weights is not None:
        dual["weights"] = weights.tolist()
    return dual

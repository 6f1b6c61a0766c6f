"""Multipliers of a linear programme in the form that the problem checks: positions of arcs and colours, and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.models import DatasetGraph
from privopt.solvers.boundary_colouring._reduced import Reduced


def arc_positions(graph: DatasetGraph, start: Ints, end: Ints) -> Ints:
    """Places in ``graph.indices`` of arcs that are there."""
    n = max(graph.size, 1)
    keys = np.repeat(np.arange(graph.size), np.diff(graph.indptr)) * n + graph.indices
    return np.asarray(np.searchsorted(keys, start * n + end))


def edge_table(graph: DatasetGraph, edges: Ints, multipliers: Floats) -> Floats:
    """Multipliers of edges (u, v), columns u to v by colour and v to u by colour, as a table by arc, (arcs, 2)."""
    table = np.zeros((len(graph.indices), 2))
    table[arc_positions(graph, edges[:, 0], edges[:, 1])] = multipliers[:, :2]
    table[arc_positions(graph, edges[:, 1], edges[:, 0])] = multipliers[:, 2:]
    return table


def lifted(given: Reduced, graph: DatasetGraph, table: Floats) -> Floats:
    """The multipliers of a quotient's arcs, shared equally among the arcs of the graph that go there."""
    if given.classes is None:
        return table
    rows = np.repeat(given.classes, np.diff(graph.indptr))
    columns = given.classes[graph.indices]
    between = rows != columns
    place = arc_positions(given.graph, rows[between], columns[between])
    count = np.bincount(place, minlength=len(table))
    found = np.zeros((len(graph.indices), table.shape[1]))
    found[between] = table[place] / count[place][:, None]
    return found


def linear_dual(table: Floats, weights: Floats | None = None) -> dict[str, Any]:
    """The dual from a table of multipliers by arc and colour; zeros are left out."""
    flat = table.ravel()
    at = np.flatnonzero(flat > 0)
    dual: dict[str, Any] = {"kind": "linear", "at": at.tolist(), "values": flat[at].tolist()}
    if weights is not None:
        dual["weights"] = weights.tolist()
    return dual

"""Validation of what a metric is made of: a table of distances, coordinates, the edges of a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.errors import InvalidModel
from privopt.files.labels import Label
from privopt.models.validation import frozen_floats

if TYPE_CHECKING:
    import networkx as nx

MOST_DIMENSIONS = 8
LARGEST = 1e150
"""Largest coordinate or distance: squares stay within floats."""


def edge_lengths(graph: nx.Graph[Any], weight: str) -> list[tuple[Any, Any, Any]]:
    """Both ends and the length of each edge: its attribute, or 1 where no edge has any attribute.

    A length that is forgotten or misspelt would otherwise be 1, and the promise one about other distances.
    """
    edges = list(graph.edges(data=True))
    if not any(data for _, _, data in edges):
        return [(a, b, 1.0) for a, b, _ in edges]
    having = sum(weight in data for _, _, data in edges)
    if not having:
        others = ", ".join(sorted({repr(name) for _, _, data in edges for name in data})[:5])
        raise InvalidModel(
            f"no edge has the attribute {weight!r}, edges have {others}: say with weight= which one holds the length of an edge"
        )
    for a, b, data in edges:
        if weight not in data:
            raise InvalidModel(
                f"the edge from {a!r} to {b!r} has no attribute {weight!r}, which {having} others have: give it its length, >= 0"
            )
    return [(a, b, data[weight]) for a, b, data in edges]


def node_places(graph: nx.Graph[Any], places: ArrayLike | str | Sequence[str] | None) -> ArrayLike | None:
    """Coordinates as they are given, or those that attributes of the nodes hold: one attribute all of them, or each one."""
    if isinstance(places, str):
        return [_attribute(graph, node, places) for node in graph]
    if isinstance(places, Sequence) and places and all(isinstance(name, str) for name in places):
        return [[_attribute(graph, node, str(name)) for name in places] for node in graph]
    return cast("ArrayLike | None", places)


def _attribute(graph: nx.Graph[Any], node: Any, name: str) -> Any:
    if name not in graph.nodes[node]:
        raise InvalidModel(f"the node {node!r} has no attribute {name!r}, which places names: give it one")
    return graph.nodes[node][name]


def distances(values: object) -> Floats:
    """A symmetric matrix of distances."""
    try:
        table = np.array(values, dtype=np.float64) + 0.0
    except (TypeError, ValueError) as cause:
        raise InvalidModel(f"distances must be a square table of numbers: {cause}") from cause
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.size == 0:
        raise InvalidModel(
            f"distances must be a square table, a row and a column a point, got shape {table.shape}"
        )
    bad = np.argwhere(~(table >= 0) | ((table > LARGEST) & np.isfinite(table)))
    if bad.size:
        i, j = bad[0].tolist()
        raise InvalidModel(f"distances[{i}, {j}] = {table[i, j]}: give a number of at least 0, or inf")
    if table.diagonal().any():
        i = int(np.flatnonzero(table.diagonal())[0])
        raise InvalidModel(f"distances[{i}, {i}] = {table[i, i]}: a point is at distance 0 from itself")
    odd = np.argwhere(table != table.T)
    if odd.size:
        i, j = odd[0].tolist()
        raise InvalidModel(
            f"distances[{i}, {j}] = {table[i, j]} but distances[{j}, {i}] = {table[j, i]}: give a symmetric table, such as "
            "numpy.minimum(table, table.T)"
        )
    return frozen_floats(table)


def places(points: object, kind: str) -> Floats:
    """Finite coordinates, shape (n, k)."""
    try:
        places = np.array(points, dtype=np.float64) + 0.0
    except (TypeError, ValueError) as cause:
        raise InvalidModel(f"points must be a table of coordinates, a row a point: {cause}") from cause
    if places.ndim == 1:
        places = places[:, None]
    if places.ndim != 2 or 0 in places.shape or places.shape[1] > MOST_DIMENSIONS:
        raise InvalidModel(
            f"points must be a table of 1 to {MOST_DIMENSIONS} coordinates, a row a point, got shape {places.shape}"
        )
    bad = np.argwhere(~(np.abs(places) <= LARGEST))
    if bad.size:
        i, j = bad[0].tolist()
        raise InvalidModel(f"points[{i}, {j}] is not a finite number: leave the point out, or correct it")
    if kind == "great_circle":
        if places.shape[1] != 2:
            raise InvalidModel(f"a great circle needs latitude and longitude, got {places.shape[1]} numbers")
        off = np.flatnonzero((np.abs(places[:, 0]) > 90) | (np.abs(places[:, 1]) > 360))
        if off.size:
            raise InvalidModel(
                f"points[{off[0]}] is no latitude and longitude in degrees: latitudes come first, between -90 and 90"
            )
    return frozen_floats(places)


def length(value: object, a: Label, b: Label, called: str = "length") -> float:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 <= plain <= LARGEST:
        if plain == math.inf:
            return math.inf
        raise InvalidModel(
            f"the edge from {a!r} to {b!r} has the {called} {value!r}: give a number of at least 0"
        )
    return float(plain)


def count(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidModel(f"{name} is {value!r}: give a whole number of at least 1")


def read_edges(edges: list[Any], count: int) -> list[tuple[int, int, object]]:
    read = []
    for edge in edges:
        good = isinstance(edge, list) and len(edge) == 3 and all(type(end) is int for end in edge[:2])
        if not good or not 0 <= min(edge[:2]) <= max(edge[:2]) < count:
            raise InvalidModel(f"the edge {edge!r} is not [point, point, length]")
        read.append((edge[0], edge[1], edge[2]))
    return read

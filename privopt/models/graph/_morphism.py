"""Maps from one graph of datasets into another, along which mechanisms can be pulled back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Ints
from privopt.errors import InvalidModel

if TYPE_CHECKING:
    from privopt.models.graph.graph import DatasetGraph


def check_morphism(graph: DatasetGraph, images: object, target: DatasetGraph) -> Ints:
    """The positions in ``target`` that the vertices go to; neighbours must go to neighbours or to one vertex.

    Raises
    ------
    InvalidModel
        If an image is no vertex of the target, has another colour, or an edge goes to no edge.
    """
    places = np.asarray(images)
    if places.shape != (graph.size,) or places.dtype.kind not in "iu":
        raise InvalidModel(f"images must be a position in the target for each of {graph.size} vertices")
    outside = np.flatnonzero((places < 0) | (places >= target.size))
    if outside.size:
        v = int(outside[0])
        raise InvalidModel(
            f"vertex {graph.vertices[v]!r} goes to {int(places[v])}, the target has 0 .. {target.size - 1}"
        )
    found: Ints = places.astype(np.int64)
    _check_colours(graph, found, target)
    _check_edges(graph, found, target)
    return found


def _check_colours(graph: DatasetGraph, images: Ints, target: DatasetGraph) -> None:
    place = {colour: i for i, colour in enumerate(target.palette)}
    own = np.array([place.get(colour, -1) for colour in graph.palette], dtype=np.int64)[graph.codes]
    odd = np.flatnonzero(own != target.codes[images])
    if odd.size:
        v = int(odd[0])
        raise InvalidModel(
            f"vertex {graph.vertices[v]!r} is {graph.palette[graph.codes[v]]!r} and goes to a vertex of "
            f"colour {target.palette[target.codes[images[v]]]!r}; a map must keep colours"
        )


def _check_edges(graph: DatasetGraph, images: Ints, target: DatasetGraph) -> None:
    pairs = graph.edges()
    ends = np.sort(images[pairs], axis=1)
    there = target.edges() @ np.array([target.size, 1])
    lost = np.flatnonzero((ends[:, 0] != ends[:, 1]) & ~np.isin(ends @ np.array([target.size, 1]), there))
    if lost.size:
        u, v = (graph.vertices[int(i)] for i in pairs[lost[0]])
        raise InvalidModel(
            f"{lost.size} edges leave the target graph, such as {u!r} - {v!r}; neighbours must go to "
            "neighbours or to one vertex"
        )

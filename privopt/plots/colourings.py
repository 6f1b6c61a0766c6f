"""Pictures of a colouring: the graph coloured by probability, and accuracy against distance. Matplotlib, when drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidModel
from privopt.measures.colouring.hops import hops
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph
from privopt.plots.axes import COLOURS, draw_line, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 300
"""Vertices of the largest graph that is drawn."""


def colouring_figure(
    graph: DatasetGraph, mechanism: Colouring, places: Mapping[Any, Sequence[float]] | None = None
) -> Figure:
    """The graph, each vertex with the mixture of colours that it is answered with, and a ring of its true one.

    Parameters
    ----------
    graph : DatasetGraph
        At most 300 vertices.
    mechanism : Colouring
    places : mapping of vertices to pairs of coordinates, optional
        Where vertices are drawn, such as a layout of networkx or ``nx.get_node_attributes(graph, "pos")``; left out, by springs.

    Raises
    ------
    InvalidModel
        If the graph is larger, the mechanism colours another number of vertices, or a vertex has no place.
    MissingExtra
        If matplotlib is not installed.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.BoundaryColouring(po.DatasetGraph.votes(3), epsilon=0.5)
    >>> colouring_figure(problem.graph, po.solve(problem).mechanism).axes[0].get_title()
    'answers by vertex; rings: the true ones'
    >>> pair = po.DatasetGraph([("few", "many")], ["no", "yes"], vertices=["few", "many"])
    >>> answer = po.solve(po.BoundaryColouring(pair, epsilon=1.0)).mechanism
    >>> figure = colouring_figure(pair, answer, {"few": (0, 0), "many": (3, 1)})
    >>> figure.axes[0].collections[-1].get_offsets()[1].tolist()
    [3.0, 1.0]
    """
    if graph.size > MOST:
        raise InvalidModel(
            f"a graph of {graph.size} vertices is too large to draw: at most {MOST}; use accuracy_figure"
        )
    _check(graph, mechanism)
    figure, axes = new_figure(5.0, 4.4)
    axes.axis("off")
    axes.set_title("answers by vertex; rings: the true ones", fontsize=10)
    at = _places(graph) if places is None else _given(graph, places)
    for u, v in graph.edges().tolist():
        axes.plot(*at[[u, v]].T, color="#999999", linewidth=0.8, zorder=1)
    hues = _hues(len(graph.palette))
    for c, label in enumerate(graph.palette):
        axes.scatter([], [], color=hues[c], label=str(label))
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    size = min(220.0, 9000.0 / max(graph.size, 1))
    mixed = np.clip(mechanism.probabilities @ hues, 0.0, 1.0)
    rings: Any = hues[graph.codes]
    axes.scatter(at[:, 0], at[:, 1], s=size, c=mixed, edgecolors=rings, linewidths=1.6, zorder=2)
    return figure


def accuracy_figure(graph: DatasetGraph, mechanisms: Mapping[str, Colouring]) -> Figure:
    """Mean accuracy against the distance from the boundary, a curve for each mechanism; graphs of any size.

    Raises
    ------
    InvalidModel
        If a mechanism colours another number of vertices.
    MissingExtra
        If matplotlib is not installed.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.BoundaryColouring(po.DatasetGraph.line(5, 5), epsilon=0.5)
    >>> accuracy_figure(problem.graph, {"balanced": po.solve(problem).mechanism}).axes[0].get_xlabel()
    'distance from the boundary'
    """
    figure, axes = new_figure()
    far = hops(graph.indptr, graph.indices, np.flatnonzero(graph.boundary()))
    reached = far >= 0
    count = np.bincount(far[reached])
    for place, (name, mechanism) in enumerate(mechanisms.items()):
        _check(graph, mechanism)
        right = mechanism.levels[mechanism.level, graph.codes][reached]
        mean = np.bincount(far[reached], weights=right) / np.maximum(count, 1)
        draw_line(axes, list(enumerate(mean.tolist())), name, place)
    _label(axes)
    return figure


def _label(axes: Axes) -> None:
    axes.set_xlabel("distance from the boundary")
    axes.set_ylabel("accuracy")
    if axes.lines:
        axes.legend(frameon=False)


def _check(graph: DatasetGraph, mechanism: Colouring) -> None:
    if len(mechanism.level) != graph.size or mechanism.levels.shape[1] != max(len(graph.palette), 1):
        raise InvalidModel(
            f"the colouring is of {len(mechanism.level)} vertices in {mechanism.levels.shape[1]} colours, the "
            f"graph has {graph.size} in {len(graph.palette)}"
        )


def _given(graph: DatasetGraph, places: Mapping[Any, Sequence[float]]) -> Floats:
    """The coordinates that are given, in the order of the vertices."""
    lacking = [vertex for vertex in graph.vertices if vertex not in places]
    if lacking:
        raise InvalidModel(
            f"places lacks the vertex {lacking[0]!r}, and {len(lacking) - 1} more: give each a pair of coordinates"
        )
    at = np.array([places[vertex] for vertex in graph.vertices], dtype=np.float64)
    if at.shape != (graph.size, 2) or not np.isfinite(at).all():
        raise InvalidModel("places gives each vertex a pair of finite coordinates")
    return at


def _places(graph: DatasetGraph) -> Floats:
    """Two coordinates a vertex, from networkx's spring layout started at a fixed seed."""
    import networkx as nx

    net: nx.Graph[int] = nx.Graph()
    net.add_nodes_from(range(graph.size))
    net.add_edges_from(graph.edges().tolist())
    places = nx.spring_layout(net, seed=1, iterations=200)
    return np.array([places[v] for v in range(graph.size)]).reshape(-1, 2)


def _hues(k: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Red, green and blue of k colours, each in [0, 1]."""
    codes = [COLOURS[c % len(COLOURS)].lstrip("#") for c in range(k)]
    return np.array([[int(code[i : i + 2], 16) / 255 for i in (0, 2, 4)] for code in codes])

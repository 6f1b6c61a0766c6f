"""Balanced colourings from the hops to the boundary, which three graph libraries find; the rest is a formula.

The error of a dataset d hops inside its colour is e^(-d epsilon) / (1 + e^epsilon). Source: Sadeghi, "Fundamental
trade-offs between privacy and utility in data sharing" (CSCIT 2021).
"""

from __future__ import annotations

import math

import numpy as np

from privopt.benchmarks._peers import PeerAnswer, register_peer
from privopt.problems._observation import Floats
from privopt.problems.boundary_colouring import BoundaryColouring


def _unfit(problem: BoundaryColouring) -> str | None:
    plain = problem.k == 2 and problem.delta == 0 and problem.objective == "accuracy"
    if problem.boundary != "balanced" or not plain:
        return "the formula is for two colours, a balanced boundary, delta = 0 and the mean accuracy"
    return None


def _coloured(problem: BoundaryColouring, hops: Floats) -> PeerAnswer:
    """The formula; what no boundary reaches is answered truly."""
    wrong = np.exp(-problem.epsilon * hops) / (1 + math.exp(problem.epsilon))
    first = np.asarray(problem.graph.codes) == 0
    p, rest = np.where(first, 1 - wrong, wrong), np.where(first, wrong, 1 - wrong)
    weights = np.ones(len(hops)) if problem.weights is None else np.asarray(problem.weights)
    return PeerAnswer(problem.two_colours(p, rest), float(weights @ (1 - wrong) / weights.sum()))


def _sites(problem: BoundaryColouring) -> list[int]:
    """Datasets with a neighbour of another colour."""
    edges, codes = np.asarray(problem.graph.edges()), np.asarray(problem.graph.codes)
    return [int(v) for v in np.unique(edges[codes[edges[:, 0]] != codes[edges[:, 1]]])]


@register_peer("boundary_colouring", "networkx", ("networkx",), _unfit)
def networkx(problem: BoundaryColouring, seconds: float) -> PeerAnswer:
    """Layers of a breadth-first search from the boundary."""
    import networkx as nx

    net: nx.Graph[int] = nx.Graph()
    net.add_nodes_from(range(problem.graph.size))
    net.add_edges_from(problem.graph.edges().tolist())
    hops = np.full(problem.graph.size, np.inf)
    for i, layer in enumerate(nx.bfs_layers(net, _sites(problem))):
        hops[layer] = i
    return _coloured(problem, hops)


@register_peer("boundary_colouring", "igraph", ("igraph",), _unfit)
def igraph(problem: BoundaryColouring, seconds: float) -> PeerAnswer:
    """Distances from one more vertex that is joined to the boundary."""
    import igraph as ig

    n = problem.graph.size
    links = [*problem.graph.edges().tolist(), *((n, v) for v in _sites(problem))]
    found = np.array(ig.Graph(n=n + 1, edges=links).distances(source=n)[0], dtype=np.float64)
    return _coloured(problem, found[:n] - 1)


@register_peer("boundary_colouring", "scipy", ("scipy",), _unfit)
def scipy(problem: BoundaryColouring, seconds: float) -> PeerAnswer:
    """Dijkstra's algorithm from all of the boundary at once."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    graph, n = problem.graph, problem.graph.size
    links = csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=(n, n))
    hops = dijkstra(links, unweighted=True, indices=_sites(problem), min_only=True)
    return _coloured(problem, np.asarray(hops))

"""A colouring as one linear program over Pr(colour | dataset): HiGHS, and CVXPY with three back ends, all by default."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.peers.peer import PeerAnswer, Work, register_peer
from privopt.benchmarks.peers.tools._programs import BACKENDS, minimum, needs, stochastic
from privopt.problems.boundary_colouring.problem import BoundaryColouring


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
    distances = np.array(ig.Graph(n=n + 1, edges=links).distances(source=n)[0], dtype=np.float64)
    return _coloured(problem, distances[:n] - 1)


@register_peer("boundary_colouring", "scipy", ("scipy",), _unfit)
def scipy(problem: BoundaryColouring, seconds: float) -> PeerAnswer:
    """Dijkstra's algorithm from all of the boundary at once."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    graph, n = problem.graph, problem.graph.size
    links = csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=(n, n))
    hops = dijkstra(links, unweighted=True, indices=_sites(problem), min_only=True)
    return _coloured(problem, np.asarray(hops))


CELLS = {"highs": 20_000, "ecos": 5_000, "scs": 5_000, "clarabel": 20_000}
"""Datasets times colours that a back end is asked for; more takes minutes."""


def _fits(backend: str) -> Any:
    def unfit(problem: BoundaryColouring) -> str | None:
        if problem.delta > 0 or problem.objective != "accuracy":
            return "it is written for delta = 0 and the mean accuracy"
        if problem.boundary is not None and problem.boundary != "balanced":
            return "it is written for a balanced or a free boundary"
        cells = problem.graph.size * problem.k
        return (
            f"its program has {cells} cells, more than {CELLS[backend]}" if cells > CELLS[backend] else None
        )

    return unfit


def _gains(problem: BoundaryColouring) -> Floats:
    """Weight of each true answer in the mean accuracy, shape (n, k)."""
    n = problem.graph.size
    weights = np.ones(n) if problem.weights is None else np.asarray(problem.weights)
    gains = np.zeros((n, problem.k))
    gains[np.arange(n), problem.graph.codes] = weights / weights.sum()
    return gains


def _caps(problem: BoundaryColouring) -> Floats:
    """Largest probabilities (n, k): the balanced boundary is right at most e^epsilon / (1 + e^epsilon) of the time."""
    caps = np.ones((problem.graph.size, problem.k))
    if problem.boundary == "balanced" and problem.k == 2:
        sites = np.flatnonzero(problem.graph.boundary())
        caps[sites, np.asarray(problem.graph.codes)[sites]] = 1 / (1 + math.exp(-problem.epsilon))
    return caps


def _differences(problem: BoundaryColouring) -> Any:
    """Sparse rows u - e^epsilon v for the edges in both directions, shape (2m, n)."""
    from scipy.sparse import csr_array

    edges = np.asarray(problem.graph.edges())
    both = np.concatenate([edges, edges[:, ::-1]])
    entries = np.tile([1.0, -math.exp(problem.epsilon)], len(both))
    rows = np.repeat(np.arange(len(both)), 2)
    return csr_array((entries, (rows, both.ravel())), shape=(len(both), problem.graph.size))


def _answer(problem: BoundaryColouring, matrix: Floats, claimed: float) -> PeerAnswer:
    return PeerAnswer(problem.colouring(stochastic(matrix), np.arange(problem.graph.size)), claimed)


@register_peer("boundary_colouring", "highs", ("scipy",), _fits("highs"))
def highs(problem: BoundaryColouring, seconds: float) -> PeerAnswer:
    """The linear program through SciPy's ``linprog``."""
    from scipy import optimize
    from scipy.sparse import eye_array, kron

    gains, rows = _gains(problem), _differences(problem)
    n, k = gains.shape
    tool: Any = optimize  # its types know no sparse arrays of ours
    solution = tool.linprog(
        -gains.ravel(),
        A_ub=kron(rows, eye_array(k), format="csr"),
        b_ub=np.zeros(rows.shape[0] * k),
        A_eq=kron(eye_array(n), np.ones((1, k)), format="csr"),
        b_eq=np.ones(n),
        bounds=np.stack([np.zeros(n * k), _caps(problem).ravel()], axis=1),
        method="highs",
        options={"time_limit": seconds},
    )
    if solution.x is None:
        raise ArithmeticError(f"HiGHS found nothing: {solution.message}")
    return _answer(problem, solution.x.reshape(n, k), -float(solution.fun))


def with_backend(backend: str) -> Work:
    """The peer of a back end."""

    def work(problem: BoundaryColouring, seconds: float) -> PeerAnswer:
        import cvxpy

        cp: Any = cvxpy  # much of it has no types
        gains = _gains(problem)
        p = cp.Variable(gains.shape, nonneg=True)
        rules = [cp.sum(p, axis=1) == 1, _differences(problem) @ p <= 0, p <= _caps(problem)]
        reached = minimum(-cp.sum(cp.multiply(gains, p)), rules, backend)
        return _answer(problem, np.asarray(p.value), -reached)

    return work


for _backend in BACKENDS:
    register_peer("boundary_colouring", f"cvxpy-{_backend}", needs(_backend), _fits(_backend))(
        with_backend(_backend)
    )

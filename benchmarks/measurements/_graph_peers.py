"""The same distances by networkx, and the same optimum by a linear programme, in one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from privopt.benchmarks._clock import clock
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._graph_scale import blocks
from privopt.measures._colouring_distance import hops
from privopt.measures._colouring_envelope import extend
from privopt.measures._colouring_steps import Pair, step
from privopt.models import DatasetGraph
from privopt.models._graph_refine import Ints
from privopt.solvers.boundary_colouring._programme import Solved, signed, solve_programme


def distances(sizes: Sequence[int]) -> Iterator[Timing]:
    """Hops to the boundary of a grid, by a queue over compressed rows and by networkx; graphs are ready."""
    for n in sizes:
        graph = blocks(n)
        sources = np.flatnonzero(graph.boundary())

        def queue() -> Ints:
            return hops(graph.indptr, graph.indices, sources)  # noqa: B023 - run at once

        ours, seconds = clock(queue)
        theirs, its_seconds = _networkx(graph, sources)
        wrong = float(np.abs(ours - theirs).max(initial=0))
        note = "largest difference of distances"
        row = Timing.against(
            "hops to the boundary", graph.size, seconds, ("networkx", its_seconds), wrong, note
        )
        yield replace(row, holds=wrong == 0)


def _networkx(graph: DatasetGraph, sources: Ints) -> tuple[Ints, float]:
    import networkx as nx

    net: nx.Graph[int] = nx.Graph()
    net.add_nodes_from(range(graph.size))
    net.add_edges_from(graph.edges().tolist())
    layers, seconds = clock(lambda: list(nx.bfs_layers(net, sources.tolist())))
    far = np.full(graph.size, -1)
    for i, layer in enumerate(layers):
        far[layer] = i
    return far, seconds


def programmes(sizes: Sequence[int]) -> Iterator[Timing]:
    """Unequal values on the boundary of a grid: two queues, and HiGHS on one row an arc and colour."""
    one = step(1.0, 0.0)
    for n in sizes:
        graph = DatasetGraph.grid(np.random.default_rng(n).random((int(n**0.5),) * 2) < 0.05)
        sites = np.flatnonzero(graph.boundary())
        values = np.random.default_rng(n + 1).uniform(0.45, 0.55, len(sites))
        rows, first = (graph.indptr, graph.indices), graph.codes == 0

        box = np.tile([0.0, 1.0], (graph.size, 1))
        box[sites] = values[:, None]
        gains, edges = signed(graph.codes, np.ones(graph.size)), graph.edges()

        def queues() -> Pair:
            return extend(rows, first, sites, (values, 1.0 - values), one)  # noqa: B023 - run at once

        def programme() -> Solved | None:
            return solve_programme(edges, gains, one, 600.0, box)  # noqa: B023 - run at once

        (p, _), seconds = clock(queues)
        solved, its_seconds = clock(programme)
        gap = float("inf") if solved is None else abs(float(gains @ (solved.p - p))) / graph.size
        note = "difference of the mean accuracies"
        row = Timing.against("unequal boundary", graph.size, seconds, ("HiGHS", its_seconds), gap, note)
        yield replace(row, holds=gap < 1e-8)

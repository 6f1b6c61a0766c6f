"""Solvers of two and three colours against each other on random graphs of 2 to 12 vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from privopt._dispatch import solve
from privopt.benchmarks._measurements import Timing
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring import BoundaryColouring

TOLERANCE = 1e-8
EPSILONS, DELTAS = (0.0, 0.05, 0.4, 1.0, 3.0), (0.0, 0.0, 0.01, 0.2)

Make = Callable[[np.random.Generator], BoundaryColouring]


def run(instances: int) -> Iterator[Timing]:
    """The largest difference of utilities by pair of solvers; it holds where none exceeds 1e-8."""
    pairs = (
        ("free boundary", free, "weighted-lp", "minimum-cut"),
        ("free boundary, forests", forest, "forest", "weighted-lp"),
        ("free boundary, paths", path, "path", "forest"),
        ("free boundary, lines", line, "shift", "forest"),
        ("balanced", capped, "balanced", "oracle"),
        ("three colours, one law", rainbow, "rainbow", "k-colour-lp"),
    )
    for case, make, ours, reference in pairs:
        rng = np.random.default_rng(len(case))
        found = [_compared(make(rng), ours, reference) for _ in range(instances)]
        worst = max(difference for difference, _, _ in found)
        seconds, theirs = sum(s for _, s, _ in found), sum(s for _, _, s in found)
        note = "largest difference of utilities; infinite where one is not certified"
        row = Timing.against(f"{case}: {ours}", instances, seconds, (reference, theirs), worst, note)
        yield replace(row, holds=worst <= TOLERANCE)


def _compared(problem: BoundaryColouring, ours: str, reference: str) -> tuple[float, float, float]:
    """Difference of utilities, and the seconds of both."""
    found, other = (solve(problem, name, time_limit=60.0) for name in (ours, reference))
    if not (found.certified and other.certified) or found.utility is None or other.utility is None:
        return float("inf"), found.seconds, other.seconds
    return abs(found.utility - other.utility), found.seconds, other.seconds


def _asked(rng: np.random.Generator, graph: DatasetGraph, boundary: str | None) -> BoundaryColouring:
    weights = rng.random(graph.size) + 0.01
    budget = float(rng.choice(EPSILONS)), float(rng.choice(DELTAS))
    return BoundaryColouring(graph, *budget, boundary=boundary, weights=weights)


def _graph(rng: np.random.Generator) -> DatasetGraph:
    n = int(rng.integers(2, 13))
    edges = rng.integers(0, n, (int(rng.integers(1, 2 * n)), 2))
    return DatasetGraph(edges, rng.integers(0, 2, n), palette=[0, 1])


def free(rng: np.random.Generator) -> BoundaryColouring:
    """Any graph."""
    return _asked(rng, _graph(rng), None)


def capped(rng: np.random.Generator) -> BoundaryColouring:
    """Any graph, balanced."""
    return _asked(rng, _graph(rng), "balanced")


def forest(rng: np.random.Generator) -> BoundaryColouring:
    """A random tree without some of its edges."""
    n = int(rng.integers(2, 13))
    edges = [(v, int(rng.integers(0, v))) for v in range(1, n) if rng.random() < 0.9]
    return _asked(rng, DatasetGraph(edges, rng.integers(0, 2, n), palette=[0, 1]), None)


def path(rng: np.random.Generator) -> BoundaryColouring:
    """A path of random colours."""
    n = int(rng.integers(2, 13))
    return _asked(
        rng, DatasetGraph([(i, i + 1) for i in range(n - 1)], rng.integers(0, 2, n), palette=[0, 1]), None
    )


def line(rng: np.random.Generator) -> BoundaryColouring:
    """A path with one two-coloured edge."""
    return _asked(rng, DatasetGraph.line(int(rng.integers(1, 7)), int(rng.integers(1, 7))), None)


def rainbow(rng: np.random.Generator) -> BoundaryColouring:
    """A tree of one region with one law at its root."""
    n = int(rng.integers(2, 9))
    graph = DatasetGraph([(v, int(rng.integers(0, v))) for v in range(1, n)], [0] * n, palette=[0, 1, 2])
    budget = float(rng.choice(EPSILONS[1:])), float(rng.choice(DELTAS))
    return BoundaryColouring(graph, *budget, boundary={0: rng.dirichlet(np.ones(3)).tolist()})

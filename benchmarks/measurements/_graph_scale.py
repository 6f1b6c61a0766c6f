"""Seconds and peak memory of the two-colour mechanisms on grids and counts of growing size."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec

import numpy as np

from privopt._solver import Budget
from privopt.benchmarks._clock import clock
from privopt.benchmarks._measurements import Timing
from privopt.measures._colouring_envelope import extend
from privopt.measures._colouring_steps import step
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring import BoundaryColouring
from privopt.solvers.boundary_colouring.balanced import Balanced
from privopt.solvers.boundary_colouring.shift import Shift

BLOCK = 64
"""Side of the squares of one colour."""
MEMORY = "peak memory of the work, megabytes"


def blocks(n: int) -> DatasetGraph:
    """A square grid of about n vertices, coloured as a chessboard of large squares."""
    side = math.isqrt(n)
    lines = np.arange(side) // BLOCK
    return DatasetGraph.grid((lines[:, None] + lines[None, :]) % 2)


def run(sizes: Sequence[int]) -> Iterator[Timing]:
    """Equal and unequal boundary values by backend, and counts."""
    compiled = find_spec("numba") is not None
    _warm(compiled)
    for n in sizes:
        graph = blocks(n)
        for backend in ("compiled", "scipy") if compiled else ("scipy",):
            yield _homogeneous(graph, backend)
        for backend in ("two_queue", "coordinate") if compiled else ("coordinate",):
            yield _unequal(graph, backend)
        yield _counts(n)


def _warm(compiled: bool) -> None:
    """Imports and compiles, so that no reading pays for it."""
    graph = blocks(40_000)
    _homogeneous(graph, "scipy")
    if compiled:
        _homogeneous(graph, "compiled")
        _unequal(graph, "two_queue")


def _homogeneous(graph: DatasetGraph, backend: str) -> Timing:
    problem, solver = BoundaryColouring(graph, 1.0), Balanced(backend)
    _, seconds = clock(lambda: solver.run(problem, Budget()))
    peak = megabytes(lambda: solver.run(problem, Budget()))
    return Timing(f"balanced on a grid, {backend}", graph.size, seconds, quality=peak, note=MEMORY)


def _unequal(graph: DatasetGraph, backend: str) -> Timing:
    sites = np.flatnonzero(graph.boundary())
    values = np.random.default_rng(graph.size).uniform(0.45, 0.55, len(sites))
    rows, first, one = (graph.indptr, graph.indices), graph.codes == 0, step(1.0, 0.0)

    def work() -> object:
        return extend(rows, first, sites, (values, 1.0 - values), one, backend)

    _, seconds = clock(work)
    peak = megabytes(work)
    return Timing(f"unequal boundary on a grid, {backend}", graph.size, seconds, quality=peak, note=MEMORY)


def _counts(n: int) -> Timing:
    problem = BoundaryColouring(DatasetGraph.counts(n, 0.4), 0.1, boundary=None)
    _, seconds = clock(lambda: Shift().run(problem, Budget()))
    peak = megabytes(lambda: Shift().run(problem, Budget()))
    return Timing("counts of votes, optimum and multipliers", n, seconds, quality=peak, note=MEMORY)


def megabytes(work: Callable[[], object]) -> float:
    """The most memory that some work holds at once, in a run of its own."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()

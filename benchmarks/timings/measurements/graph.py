"""Differential privacy on graphs of datasets: cost by size, agreement of the solvers, and the same work by others."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from privopt.arrays import Ints
from privopt.benchmarks.timings.measurement import Timing, clock, register_measurement
from privopt.core.dispatch import solve
from privopt.core.solver import Budget
from privopt.measures.colouring.envelope import extend
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import Pair, step
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring.closed_forms import Balanced
from privopt.solvers.boundary_colouring.equal_boundary import Shift
from privopt.solvers.boundary_colouring.linear_programs import Solved, solve_program

TOLERANCE = 1e-8
EPSILONS, DELTAS = (0.0, 0.05, 0.4, 1.0, 3.0), (0.0, 0.0, 0.01, 0.2)

Make = Callable[[np.random.Generator], BoundaryColouring]


def disagreements(instances: int) -> Iterator[Timing]:
    """The largest difference of utilities by pair of solvers; it holds where none exceeds 1e-8."""
    pairs = (
        ("free boundary", free, "weighted-lp", "minimum-cut"),
        ("free boundary, forests", forest, "forest", "weighted-lp"),
        ("free boundary, paths", path, "path", "forest"),
        ("free boundary, lines", line, "shift", "forest"),
        ("balanced", capped, "balanced", "oracle"),
        ("three colours, one distribution", rainbow, "rainbow", "k-colour-lp"),
    )
    for case, make, ours, reference in pairs:
        rng = np.random.default_rng(len(case))
        comparisons = [_compared(make(rng), ours, reference) for _ in range(instances)]
        worst = max(difference for difference, _, _ in comparisons)
        seconds, theirs = sum(s for _, s, _ in comparisons), sum(s for _, _, s in comparisons)
        note = "largest difference of utilities; infinite where one is not certified"
        row = Timing.against(f"{case}: {ours}", instances, seconds, (reference, theirs), worst, note)
        yield replace(row, holds=worst <= TOLERANCE)


def _compared(problem: BoundaryColouring, ours: str, reference: str) -> tuple[float, float, float]:
    """Difference of utilities, and the seconds of both."""
    solution, other = (solve(problem, name, time_limit=60.0) for name in (ours, reference))
    if not (solution.certified and other.certified) or solution.utility is None or other.utility is None:
        return float("inf"), solution.seconds, other.seconds
    return abs(solution.utility - other.utility), solution.seconds, other.seconds


def _weighted(rng: np.random.Generator, graph: DatasetGraph, boundary: str | None) -> BoundaryColouring:
    weights = rng.random(graph.size) + 0.01
    budget = float(rng.choice(EPSILONS)), float(rng.choice(DELTAS))
    return BoundaryColouring(graph, *budget, boundary=boundary, weights=weights)


def _graph(rng: np.random.Generator) -> DatasetGraph:
    n = int(rng.integers(2, 13))
    edges = rng.integers(0, n, (int(rng.integers(1, 2 * n)), 2))
    return DatasetGraph(edges, rng.integers(0, 2, n), palette=[0, 1])


def free(rng: np.random.Generator) -> BoundaryColouring:
    """Any graph."""
    return _weighted(rng, _graph(rng), None)


def capped(rng: np.random.Generator) -> BoundaryColouring:
    """Any graph, balanced."""
    return _weighted(rng, _graph(rng), "balanced")


def forest(rng: np.random.Generator) -> BoundaryColouring:
    """A random tree without some of its edges."""
    n = int(rng.integers(2, 13))
    edges = [(v, int(rng.integers(0, v))) for v in range(1, n) if rng.random() < 0.9]
    return _weighted(rng, DatasetGraph(edges, rng.integers(0, 2, n), palette=[0, 1]), None)


def path(rng: np.random.Generator) -> BoundaryColouring:
    """A path of random colours."""
    n = int(rng.integers(2, 13))
    return _weighted(
        rng, DatasetGraph([(i, i + 1) for i in range(n - 1)], rng.integers(0, 2, n), palette=[0, 1]), None
    )


def line(rng: np.random.Generator) -> BoundaryColouring:
    """A path with one two-coloured edge."""
    return _weighted(rng, DatasetGraph.line(int(rng.integers(1, 7)), int(rng.integers(1, 7))), None)


def rainbow(rng: np.random.Generator) -> BoundaryColouring:
    """A tree of one region with one distribution at its root."""
    n = int(rng.integers(2, 9))
    graph = DatasetGraph([(v, int(rng.integers(0, v))) for v in range(1, n)], [0] * n, palette=[0, 1, 2])
    budget = float(rng.choice(EPSILONS[1:])), float(rng.choice(DELTAS))
    return BoundaryColouring(graph, *budget, boundary={0: rng.dirichlet(np.ones(3)).tolist()})


DISTANCES = (0, 1, 5, 10)
NAMES = ("geometric-threshold", "laplace-threshold", "exponential", "exponential-half", "randomised-response")
VOTES = 101


def published_errors() -> Iterator[Timing]:
    """Error over that of the optimum, epsilon = 1; then majority of votes that are each randomised."""
    problem = BoundaryColouring(DatasetGraph.line(12, 12), 1.0)
    best = solve(problem, "balanced").mechanism.error
    for name in NAMES:
        solution = solve(problem, name)
        errors = solution.mechanism.error
        for i in DISTANCES:
            ratio = float(errors[11 - i] / best[11 - i])
            note = f"error {float(errors[11 - i]):.3g} over that of the optimum"
            yield Timing(
                f"{name}, {i} hops from the boundary",
                problem.graph.size,
                solution.seconds,
                quality=ratio,
                note=note,
            )
    for i in DISTANCES:
        error, seconds = clock(lambda far=i: local_majority(far, 1.0))  # type: ignore[misc]
        least = math.exp(-i) / (1 + math.e)
        note = f"error {error:.3g} over that of the optimum, {VOTES} votes"
        yield Timing(f"randomised votes, {i} hops", VOTES, seconds, quality=error / least, note=note)


def local_majority(distance: int, epsilon: float) -> float:
    """Probability that the majority of votes, each flipped with probability 1 / (1 + e^eps), is wrong.

    ``distance`` votes more than the least majority are cast for the winner.

    Examples
    --------
    >>> [round(local_majority(i, 1.0), 3) for i in (0, 1, 5, 10)]
    [0.479, 0.438, 0.284, 0.138]
    """
    from scipy.stats import binom

    flip, winner = 1 / (1 + math.exp(epsilon)), (VOTES + 1) // 2 + distance
    kept = range(winner + 1)
    return float(
        sum(
            binom.pmf(k, winner, 1 - flip) * binom.cdf((VOTES - 1) // 2 - k, VOTES - winner, flip)
            for k in kept
        )
    )


BLOCK = 64
"""Side of the squares of one colour."""
MEMORY = "peak memory of the work, megabytes"


def blocks(n: int) -> DatasetGraph:
    """A square grid of about n vertices, coloured as a chessboard of large squares."""
    side = math.isqrt(n)
    lines = np.arange(side) // BLOCK
    return DatasetGraph.grid((lines[:, None] + lines[None, :]) % 2)


def seconds_and_memory(sizes: Sequence[int]) -> Iterator[Timing]:
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


def programs(sizes: Sequence[int]) -> Iterator[Timing]:
    """Unequal values on the boundary of a grid: two queues, and HiGHS on one row an arc and colour."""
    one = step(1.0, 0.0)
    for n in sizes:
        graph = DatasetGraph.grid(np.random.default_rng(n).random((int(n**0.5),) * 2) < 0.05)
        sites = np.flatnonzero(graph.boundary())
        values = np.random.default_rng(n + 1).uniform(0.45, 0.55, len(sites))
        rows, first = (graph.indptr, graph.indices), graph.codes == 0

        box = np.tile([0.0, 1.0], (graph.size, 1))
        box[sites] = values[:, None]
        gains, edges = np.where(graph.codes == 0, 1.0, -1.0), graph.edges()

        def queues() -> Pair:
            return extend(rows, first, sites, (values, 1.0 - values), one)  # noqa: B023 - run at once

        def program() -> Solved | None:
            return solve_program(edges, gains, one, 600.0, box)  # noqa: B023 - run at once

        (p, _), seconds = clock(queues)
        solved, its_seconds = clock(program)
        gap = float("inf") if solved is None else abs(float(gains @ (solved.p - p))) / graph.size
        note = "difference of the mean accuracies"
        row = Timing.against("unequal boundary", graph.size, seconds, ("HiGHS", its_seconds), gap, note)
        yield replace(row, holds=gap < 1e-8)


@register_measurement(
    "graph-scale", "Boundary colouring: seconds and peak memory against the size of the graph"
)
def scale(quick: bool) -> Sequence[Timing]:
    """Grids of three sizes, compiled and with SciPy only; counts of votes."""
    return list(seconds_and_memory((10_000, 40_000, 90_000) if quick else (100_000, 1_000_000, 10_000_000)))


@register_measurement(
    "graph-agreement", "Boundary colouring: solvers against each other on random small graphs"
)
def agreement(quick: bool) -> Sequence[Timing]:
    """Linear program, minimum cut, forests and events; disagreements counted."""
    return list(disagreements(8 if quick else 1000))


@register_measurement(
    "graph-peers", "Boundary colouring: against networkx and a linear program, and published mechanisms"
)
def peers(quick: bool) -> Sequence[Timing]:
    """The same distances and the same optimum by others, then errors by distance of published mechanisms."""
    sizes = (10_000, 40_000) if quick else (10_000, 100_000, 1_000_000)
    smaller = (400,) if quick else (1_000, 10_000, 40_000)
    return [*distances(sizes), *programs(smaller), *published_errors()]

"""Random graphs of datasets, the lectures' formulas on a line, and privacy written out as a linear programme."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt._dispatch import solve
from privopt.benchmarks.papers.item import Setting
from privopt.measures import below
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring import BoundaryColouring

Floats = NDArray[np.float64]
LN2 = math.log(2)


def coloured(rng: np.random.Generator, most: int = 10) -> DatasetGraph:
    """A connected graph with vertices of both colours, 1 (blue) and 2 (red)."""
    n = int(rng.integers(3, most))
    tree = [(v, int(rng.integers(0, v))) for v in range(1, n)]
    more = rng.integers(0, n, (int(rng.integers(0, n)), 2)).tolist()
    colours = rng.permutation([1, 2, *rng.integers(1, 3, n - 2).tolist()])
    return DatasetGraph([*tree, *more], colours.tolist(), palette=[1, 2])


def budget(rng: np.random.Generator) -> tuple[float, float]:
    """Epsilon in nats, and delta, which is 0 half of the time."""
    return float(rng.uniform(0.1, 2)), float(rng.choice([0.0, rng.uniform(0.01, 0.2)]))


def rows(graph: DatasetGraph, epsilon: float, delta: float = 0.0) -> tuple[Floats, Floats]:
    """A and b of A p <= b: both colours in both directions of every edge, p = Pr[colour 1]."""
    found, limits, growth = [], [], math.exp(epsilon)
    for edge in graph.edges().tolist():
        for u, v in (edge, edge[::-1]):
            for sign in (1.0, -1.0):
                row = np.zeros(graph.size)
                row[u], row[v] = sign, -sign * growth
                found.append(row)
                limits.append(delta if sign > 0 else delta + growth - 1)
    return np.array(found), np.array(limits)


def programme(
    graph: DatasetGraph,
    epsilon: float,
    delta: float,
    weights: Floats,
    fixed: Mapping[int, float],
    floor: Floats | None = None,
) -> Floats | None:
    """The most accurate Pr[colour 1] with given values, and accuracies of at least a floor; None if there is none."""
    from scipy.optimize import linprog

    matrix, limits = rows(graph, epsilon, delta)
    blue = graph.codes == 0
    least = np.zeros(graph.size) if floor is None else floor
    bounds = [(f, 1.0) if b else (0.0, 1.0 - f) for f, b in zip(least.tolist(), blue.tolist(), strict=True)]
    for v, p in fixed.items():
        bounds[v] = (p, p)
    call: Any = linprog  # its stubs know fewer methods
    found = call(np.where(blue, -weights, weights), matrix, limits, bounds=bounds, method="highs")
    return np.asarray(found.x) if found.status == 0 else None


def private(rng: np.random.Generator, graph: DatasetGraph, epsilon: float, delta: float) -> Floats:
    """A random private mechanism: the largest one below random values."""
    drawn = dict(enumerate(rng.random(graph.size).tolist()))
    return np.array(list(below(graph, drawn, epsilon, delta).values()))


def accuracy(graph: DatasetGraph, p: Floats) -> Floats:
    """Pr[true colour] of every vertex."""
    return np.where(graph.codes == 0, p, 1 - p)


def answer(problem: BoundaryColouring, solver: str) -> Floats:
    """Pr[colour 1] of a solver's mechanism.

    Raises
    ------
    ValueError
        If it gave none.
    """
    found = solve(problem, solver, certify=False)
    if not found.status.ok:
        raise ValueError(f"{solver}: {found.status.name}, {found.reason}")
    return np.asarray(found.mechanism.probabilities[:, 0])


def initial(error: float, i: int, epsilon: float, delta: float) -> float:
    """R_Ini as printed."""
    rise = math.exp(i * epsilon)
    return 1 - rise * (1 - error) - delta * (rise - 1) / (math.exp(epsilon) - 1)


def terminal(error: float, i: int, epsilon: float, delta: float) -> float:
    """R_Ter as printed."""
    rise = math.exp(i * epsilon)
    return error / rise - delta * (rise - 1) / (rise * (math.exp(epsilon) - 1))


def switch(error: float, epsilon: float, delta: float) -> int:
    """Tau as printed."""
    growth = math.exp(epsilon)
    below_it = (1 - error) * (growth**3 - growth) + delta * (growth**2 + growth)
    return math.ceil(math.log((growth + 2 * delta - 1) / below_it) / epsilon)


def on_line(error: float, i: int, epsilon: float, delta: float, tau: int) -> float:
    """The theorem's error at i hops from the boundary, with the switch at tau."""
    if i <= tau + 1:
        return initial(error, i, epsilon, delta)
    return terminal(initial(error, tau + 1, epsilon, delta), i - tau - 1, epsilon, delta)


def balanced(i: int, epsilon: float, delta: float) -> float:
    """The printed error of the balanced mechanism at a distance."""
    growth, rise = math.exp(epsilon), math.exp(i * epsilon)
    return (growth - 1 - delta * (rise * growth + rise - 2)) / (rise * (growth + 1) * (growth - 1))


def worst_on_lines(setting: Setting, instances: int) -> tuple[float, int, int]:
    """The corrected theorem against the solver: largest difference, and how often each clip was needed."""
    rng, most, early, negative = setting.rng(), 0.0, 0, 0
    for _ in range(instances):
        epsilon, delta = budget(rng)
        error, n = float(rng.uniform(0.01, 0.99)), int(rng.integers(2, 9))
        tau = switch(error, epsilon, delta)
        raw = [on_line(error, i, epsilon, delta, max(tau, -1)) for i in range(n)]
        early, negative = early + (tau < -1), negative + (min(raw) < -1e-12)
        problem = BoundaryColouring(DatasetGraph.line(n, 2), epsilon, delta, boundary=(1 - error, None))
        ours = 1 - answer(problem, "line")[:n][::-1]
        most = max(most, float(np.abs(np.maximum(raw, 0.0) - ours).max()))
    return most, early, negative

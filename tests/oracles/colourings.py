"""Bounds and leaks of colourings by their definitions, in fractions and in 60 digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np

import privopt as po


def growth(epsilon: float, *, up: bool) -> Fraction:
    """A rational within 1e-60 of e^epsilon, relatively, on the side that ``up`` names."""
    if epsilon == 0:
        return Fraction(1)
    with mpmath.workdps(400):
        value = mpmath.e ** mpmath.mpf(epsilon)
        digits = 80
        scaled = int(mpmath.floor(value * mpmath.mpf(10) ** digits))
    return Fraction(scaled + (1 if up else 0), 10**digits)


def weights_of(problem: po.BoundaryColouring) -> list[Fraction]:
    """Weights that add to 1."""
    n = problem.graph.size
    weights = [Fraction(1)] * n if problem.weights is None else [Fraction(float(w)) for w in problem.weights]
    total = sum(weights, Fraction(0))
    return [w / total for w in weights]


def linear_bound(
    problem: po.BoundaryColouring, at: Sequence[int], values: Sequence[float], grown: Fraction
) -> Fraction:
    """The Lagrangian at given multipliers: what each vertex gains at most, and what delta adds."""
    graph, k = problem.graph, problem.k
    starts = np.repeat(np.arange(graph.size), np.diff(graph.indptr)).tolist()
    cells: dict[int, Fraction] = {}
    for place, value in zip(at, values, strict=True):
        cells[place] = cells.get(place, Fraction(0)) + Fraction(value)
    gain = [[Fraction(0)] * k for _ in range(graph.size)]
    for v, (w, c) in enumerate(zip(weights_of(problem), graph.codes.tolist(), strict=True)):
        gain[v][c] += w
    most: dict[int, Fraction] = {}
    for place, y in cells.items():
        arc, colour = divmod(place, k)
        gain[starts[arc]][colour] -= y
        gain[int(graph.indices[arc])][colour] += grown * y
        most[arc] = max(most.get(arc, Fraction(0)), y)
    return sum((max(row) for row in gain), Fraction(0)) + Fraction(problem.delta) * sum(most.values())


def star_optimum(epsilon: float, hub: float, leaves: int) -> Fraction:
    """The best total of a first-coloured hub and leaves of the second: a concave function of one number, at its bends."""
    grown = growth(epsilon, up=False)
    return max(Fraction(hub), Fraction(leaves), (Fraction(hub) + leaves) * grown / (1 + grown))


def furthest(p: mpmath.mpf, steps: int, epsilon: float, delta: float) -> mpmath.mpf:
    """U^steps(p), step by step."""
    grown, rest = mpmath.e ** mpmath.mpf(epsilon), mpmath.mpf(delta)
    for _ in range(steps):
        p = min(grown * p + rest, 1 - (1 - p - rest) / grown, mpmath.mpf(1))
    return p


def hops(graph: po.DatasetGraph, source: int) -> list[int]:
    """Hops from a vertex, -1 where none lead."""
    far = [-1] * graph.size
    far[source] = 0
    queue = [source]
    for v in queue:
        for w in graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist():
            if far[w] < 0:
                far[w] = far[v] + 1
                queue.append(w)
    return far


def worst_share(problem: po.BoundaryColouring) -> mpmath.mpf:
    """The largest t with sum_c (1 - U^dist(v, c)(1 - t)) <= 1 at every vertex, by bisection in 60 digits."""
    graph = problem.graph
    far = [hops(graph, v) for v in range(graph.size)]
    codes = graph.codes.tolist()
    rows = {
        tuple(
            min((d for d, own in zip(far[v], codes, strict=True) if own == c and d >= 0), default=-1)
            for c in range(problem.k)
        )
        for v in range(graph.size)
    }
    with mpmath.workdps(60):
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for _ in range(150):
            t = (low + high) / 2
            sums = [
                sum(
                    (1 - furthest(1 - t, d, problem.epsilon, problem.delta) for d in row if d >= 0),
                    mpmath.mpf(0),
                )
                for row in rows
            ]
            low, high = (t, high) if max(sums) <= 1 else (low, t)
        return +high


def arc_ratios(
    problem: po.BoundaryColouring, mechanism: po.Colouring
) -> dict[tuple[int, int], Fraction | None]:
    """The smallest e^epsilon of every arc, over all events, in fractions; None where there is none."""
    rows = mechanism.exact()
    exact = [[rows[i].fraction(c) for c in range(problem.k)] for i in mechanism.level.tolist()]
    ratios: dict[tuple[int, int], Fraction | None] = {}
    for u, v in problem.graph.edges().tolist():
        for a, b in ((u, v), (v, u)):
            best: Fraction | None = Fraction(1)
            for event in range(1, 2**problem.k):
                more = sum((exact[a][c] for c in range(problem.k) if event >> c & 1), Fraction(0))
                less = sum((exact[b][c] for c in range(problem.k) if event >> c & 1), Fraction(0))
                over = more - Fraction(problem.delta)
                if less == 0 and over > 0:
                    best = None
                elif less > 0 and best is not None:
                    best = max(best, over / less)
            ratios[a, b] = best
    return ratios


def log(ratio: Fraction | None) -> mpmath.mpf:
    """The logarithm of a ratio in 60 digits."""
    if ratio is None:
        return mpmath.inf
    with mpmath.workdps(60):
        return mpmath.log(mpmath.mpf(ratio.numerator) / mpmath.mpf(ratio.denominator))


def leaves(n: int) -> po.DatasetGraph:
    """A hub of the first colour with leaves of the second."""
    ends = np.stack([np.zeros(n, dtype=np.int64), np.arange(1, n + 1)], axis=1)
    return po.DatasetGraph(ends, np.r_[0, np.ones(n, dtype=np.int64)], palette=[0, 1])


def finite(value: float | None) -> bool:
    """Whether a bound says anything."""
    return value is not None and math.isfinite(value)

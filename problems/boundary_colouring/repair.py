"""Mechanisms next to a given one that are private: recomputed for two colours, mixed for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.measures.colouring.envelope import extend, lower, upper
from privopt.measures.colouring.reading import exact_differences, level_pairs
from privopt.measures.colouring.steps import GUARD, step
from privopt.mechanisms import Colouring

if TYPE_CHECKING:
    from privopt.problems.boundary_colouring.problem import BoundaryColouring

INSIDE = 2.0**-30
"""Relative distance from the budget of a mechanism that meets prescribed values."""
HALVINGS = 60


def anchor(problem: BoundaryColouring) -> Colouring:
    """Every colour equally likely; with prescribed values their optimal continuation, a little inside."""
    values, n, k = problem.prescribed, problem.graph.size, problem.k
    nowhere = np.zeros(n, dtype=np.int32)
    if values is not None and k == 2:
        graph = (problem.graph.indptr, problem.graph.indices)
        inside = step(problem.epsilon * (1 - INSIDE), problem.delta * (1 - INSIDE), GUARD)
        # Steep parts multiply what is missing on the way, so a smaller margin is tried where the values are missed.
        for one in (inside, problem.guarded):
            made = problem.two_colours(
                *extend(graph, problem.graph.codes == 0, values.sites, values.pair, one)
            )
            if problem.miss(made) == 0:
                break
        return made
    if values is not None and len(values.rows) and (values.rows == values.rows[0]).all():
        return problem.colouring(values.rows[:1], nowhere)
    return problem.colouring(np.full((1, k), 1.0 / k), nowhere)


def repair(problem: BoundaryColouring, mechanism: Colouring, margin: float) -> Colouring:
    """The mechanism with its probabilities moved as little as the reduced budget asks.

    Two colours: the largest private vector below that of Pr[first colour], or the smallest above it, whichever is
    better. More colours: the least mixture with equal chances.
    """
    epsilon, delta = problem.epsilon * (1 - margin), problem.delta * (1 - margin)
    if problem.k == 1:
        return mechanism
    if problem.k > 2:
        return _mixed(problem, mechanism, epsilon, delta)
    graph, one = (problem.graph.indptr, problem.graph.indices), step(epsilon, delta, GUARD)
    rows = mechanism.levels[mechanism.level]
    sites, pair = np.arange(problem.graph.size), (rows[:, 0].copy(), rows[:, 1].copy())
    tried = [problem.two_colours(*move(graph, sites, pair, one)) for move in (upper, lower)]
    readings = [problem.evaluate(made) for made in tried]
    return max(zip(tried, readings, strict=True), key=lambda t: (t[1].feasible, t[1].objective))[0]


def _mixed(problem: BoundaryColouring, mechanism: Colouring, epsilon: float, delta: float) -> Colouring:
    """The least share of equal chances, by bisection on the worst pair: the excess is convex in the share."""
    levels, k = mechanism.levels, problem.k
    graph = problem.graph
    first, second = level_pairs(graph.indptr, graph.indices, mechanism.level, len(levels))
    rise = step(epsilon, delta, GUARD)
    gains = exact_differences(levels, first, second) - (rise.growth - 1.0) * levels[second]
    # A pair gains (1 - s) g_c - s (e^eps - 1) / k at share s; rounding to floats may add a few units.
    slack = 8 * k * 2.0**-53

    def private(share: float) -> bool:
        over = (1 - share) * gains - share * (rise.growth - 1.0) / k + slack * levels[second]
        return bool((np.maximum(over, 0.0).sum(axis=1) <= rise.delta).all())

    low, high = 0.0, 1.0
    if not private(0.0):
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if private(middle) else (middle, high)
    else:
        high = 0.0
    return problem.colouring(mixture(levels, high), mechanism.level)


def mixture(levels: Floats, share: float) -> Floats:
    """Rows mixed with equal chances."""
    k = levels.shape[1]
    return np.asarray(np.full_like(levels, 1.0 / k) if share == 1 else (1 - share) * levels + share / k)

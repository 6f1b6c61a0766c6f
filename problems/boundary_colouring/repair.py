"""Mechanisms next to a given one that are private: recomputed for two colours, mixed for more."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.measures.colouring.envelope import extend, lower, upper
from privopt.measures.colouring.reading import exact_differences
from privopt.measures.colouring.steps import GUARD, step
from privopt.mechanisms import Colouring
from privopt.problems.boundary_colouring.data import ColouringData

INSIDE = 2.0**-30
"""Relative distance from the budget of a mechanism that meets prescribed values."""
HALVINGS = 60


def anchor(data: ColouringData) -> Colouring:
    """Every colour equally likely; with prescribed values their optimal continuation, a little inside."""
    values, n, k = data.prescribed, data.graph.size, data.k
    nowhere = np.zeros(n, dtype=np.int32)
    if values is not None and k == 2:
        graph = (data.graph.indptr, data.graph.indices)
        inside = step(data.epsilon * (1 - INSIDE), data.delta * (1 - INSIDE), GUARD)
        # Steep parts multiply what is missing on the way, so a smaller margin is tried where the values are missed.
        for one in (inside, data.guarded):
            made = data.two_colours(*extend(graph, data.graph.codes == 0, values.sites, values.pair, one))
            if data.miss(made) == 0:
                break
        return made
    if values is not None and len(values.rows) and (values.rows == values.rows[0]).all():
        return data.colouring(values.rows[:1], nowhere)
    return data.colouring(np.full((1, k), 1.0 / k), nowhere)


def nearest(data: ColouringData, mechanism: Colouring, margin: float) -> list[Colouring]:
    """Mechanisms with the probabilities moved as little as the budget, reduced by a relative margin, asks.

    Two colours: the largest private vector below that of Pr[first colour], and the smallest above it. More colours: the
    least mixtures with constant answers: equal chances, the share that every colour lacks, and the answer most often true.
    """
    epsilon, delta = data.epsilon * (1 - margin), data.delta * (1 - margin)
    if data.k == 1:
        return [mechanism]
    if data.k > 2:
        return _mixtures(data, mechanism, epsilon, delta)
    graph, one = (data.graph.indptr, data.graph.indices), step(epsilon, delta, GUARD)
    rows = mechanism.levels[mechanism.level]
    sites, pair = np.arange(data.graph.size), (rows[:, 0].copy(), rows[:, 1].copy())
    return [data.two_colours(*move(graph, sites, pair, one)) for move in (upper, lower)]


def _mixtures(data: ColouringData, mechanism: Colouring, epsilon: float, delta: float) -> list[Colouring]:
    """The least shares of constant answers, by bisection on the worst pair: the excess is convex in the share.

    A constant answer q is private, and a share s of it leaves room of s q_c (e^epsilon - 1) to each colour. Without delta the
    least that will do is, for every colour, what its worst pair lacks, whichever the pairs are.
    """
    levels, k, pairs = mechanism.levels, data.k, data.adjacent(mechanism)
    rise = step(epsilon, delta, GUARD)
    below = levels[pairs.second]
    gains = exact_differences(levels, pairs.first, pairs.second) - (rise.growth - 1.0) * below
    # A pair gains (1 - s) g_c - s (e^eps - 1) / k at share s; rounding to floats may add a few units.
    slack = 8 * k * 2.0**-53

    def private(share: float, constant: Floats) -> bool:
        over = (1 - share) * gains - share * (rise.growth - 1.0) * constant + slack * below
        return bool((np.maximum(over, 0.0).sum(axis=1) <= rise.delta).all())

    made = []
    for constant in _constants(data, np.maximum(gains, 0.0).max(axis=0, initial=0.0)):
        low, high = 0.0, 0.0 if private(0.0, constant) else 1.0
        for _ in range(HALVINGS if high else 0):
            middle = (low + high) / 2
            low, high = (low, middle) if private(middle, constant) else (middle, high)
        mixture = (1 - high) * levels + high * constant
        made.append(data.colouring(mixture, mechanism.level))
    return made


def _constants(data: ColouringData, lacking: Floats) -> list[Floats]:
    """Equal chances, what every colour lacks, and the answer that is most often true."""
    weights = np.ones(data.graph.size) if data.weights is None else data.weights
    truest = np.argmax(np.bincount(data.graph.codes, weights=weights, minlength=data.k))
    constants = [np.full(data.k, 1.0 / data.k), np.eye(data.k)[truest]]
    return [*constants, lacking / lacking.sum()] if lacking.any() else constants

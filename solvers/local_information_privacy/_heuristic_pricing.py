"""Heuristic pricing: descend from a posterior to a vertex whose entropy is below its price, by linear programmes."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.problems.local_information_privacy.tree import Pricing, phi
from privopt.solvers.local_information_privacy._pricing_lp import BoxLP

FLOOR = 1e-4
"""Entries below this count as this in the slope -ln t, which would be infinite at 0."""

STEPS = 30
"""Most programmes for one start; a descent takes about four."""


def costs(pricing: Pricing, posteriors: Floats) -> Floats:
    """Entropy of X at posteriors of W, the last axis."""
    seen = posteriors if pricing.matrix is None else posteriors @ pricing.matrix.T
    return np.asarray(phi(np.clip(seen, 0.0, 1.0)).sum(axis=-1))


def slopes(pricing: Pricing, posterior: Floats, floor: float = FLOOR) -> Floats:
    """Derivative of the entropy, shape (n,), but for a constant."""
    if pricing.matrix is None:
        return -np.log(np.maximum(posterior, floor))
    return np.asarray(-np.log(np.maximum(pricing.matrix @ posterior, floor)) @ pricing.matrix)


def descend(lp: BoxLP, prices: Floats, start: Floats) -> tuple[float, Floats] | None:
    """The last vertex on the way down from a start, and its reduced cost.

    The entropy is concave, so the vertex that is best for its tangent at the present point is no worse than it.
    """
    best, point = np.inf, start
    found: Floats | None = None
    for _ in range(STEPS):
        vertex = lp.solve(slopes(lp.pricing, point) - prices).point
        if vertex is None:
            break
        reduced = float(costs(lp.pricing, vertex) - prices @ vertex)
        if reduced >= best - 1e-12:
            break
        best, point, found = reduced, vertex, vertex
    return None if found is None else (best, found)

"""The relaxation of a batch of boxes: a point, a tangent law and multipliers for each."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.problems.entropy_boxes import secant_slopes
from privopt.problems.trade_off.tree import Cost
from privopt.solvers.common.columns.leaf import DIGITS, FINE, shortened, tangent_laws
from privopt.solvers.common.columns.relaxation import CENTRE, STEPS, Relaxation

PADDING = 1e-9
"""Boxes are widened by this for the interior-point method; the bounds are those of the boxes as they are."""

USUAL = 1e-8
"""Tolerance down to which the usual digits and widths do; below it all are refined in proportion."""

FINEST = 1e-4
"""The most that they are refined."""

EXTRA = 8
"""Newton steps more for a fine tolerance."""

THIN = 1e-8
"""Sides of boxes of C v shorter than this are treated as if they were unbounded."""


def refined(tolerance: float) -> float:
    """By how much digits and widths are refined for a tolerance."""
    return min(1.0, max(FINEST, tolerance / USUAL))


def relax(
    cost: Cost, prices: Floats, low: Floats, high: Floats, steps: int = STEPS, tolerance: float = USUAL
) -> tuple[Floats, Floats, Floats]:
    """Points (b, n), laws (b, n_q) and multipliers (b, 2 k) of the convex relaxations over boxes (b, k).

    The concave part is replaced by its secants, the rest kept.
    """
    if cost.coordinates is not None:
        return _relax_rows(cost, cost.coordinates, prices, (low, high), steps, refined(tolerance))
    points = np.zeros(low.shape)
    tilt = cost.concave * secant_slopes(low, high) - prices
    sizes = (high > 0).sum(axis=1)
    for size in set(sizes.tolist()):
        some = np.flatnonzero(sizes == size)
        index = np.nonzero(high[some] > 0)[1].reshape(len(some), size)
        rows = some[:, None]
        points[rows, index] = _relax_box(
            tilt[rows, index], cost, index, (low[rows, index], high[rows, index])
        )
    return points, tangent_laws(cost, points, DIGITS), np.zeros((len(low), 2 * cost.dimension))


def _relax_box(tilt: Floats, cost: Cost, index: NDArray[np.intp], box: tuple[Floats, Floats]) -> Floats:
    """Over some entries of v, of which the box has to hold the sum 1."""
    low, high = box
    b, n = low.shape
    if n == 1:
        return np.ones((b, 1))
    left = 1.0 - low.sum(axis=1, keepdims=True) + low
    low, high = np.maximum(low - PADDING, 0.0), np.minimum(high, left) + PADDING
    spare = (1.0 - low.sum(axis=1, keepdims=True)) / (high - low).sum(axis=1, keepdims=True)
    start = low + np.clip(spare, 0.0, 1.0) * (high - low)
    matrix = np.ascontiguousarray(cost.tangents[:, index].transpose(1, 0, 2))
    sides = np.vstack([np.eye(n), -np.eye(n)])
    programme = Relaxation(tilt, cost.convex, matrix, sides, np.hstack([high, -low]))
    return programme.solve(start / start.sum(axis=1, keepdims=True))[0]


def _relax_rows(
    cost: Cost, coordinates: Floats, prices: Floats, box: tuple[Floats, Floats], steps: int, fine: float
) -> tuple[Floats, Floats, Floats]:
    """Over the whole simplex, with the box as rows."""
    low, high = box
    b, n = len(low), cost.size
    tilt = cost.concave * secant_slopes(low, high) @ coordinates - prices
    sides = np.vstack([coordinates, -coordinates, -np.eye(n)])
    room = np.where(
        high - low > THIN * fine, PADDING * fine, 1.0
    )  # a side without width has no interior: its rows are left out
    limits = np.hstack([high + room, room - low, np.zeros((b, n))])
    programme = Relaxation(tilt, cost.convex, cost.tangents, sides, limits, CENTRE * fine)
    more = 0 if fine == 1 else EXTRA
    points, multipliers = programme.solve(np.full((b, n), 1.0 / n), steps + more)
    points = np.maximum(points, 0.0)
    points /= points.sum(axis=1, keepdims=True)
    kept = multipliers[:, : 2 * cost.dimension]
    digits = FINE - round(math.log10(fine))
    kept = shortened(np.where(kept < 1e-9 * fine, 0.0, kept), digits)
    return points, tangent_laws(cost, points, digits), kept

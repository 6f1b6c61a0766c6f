"""Convex relaxations of the pricing problem over a batch of boxes: a point, a tangent and multipliers for each.

They are solved many at a time by a primal-dual interior-point method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.problems.entropy_boxes import secant_slopes
from privopt.problems.trade_off.tree import Cost

STEPS = 16
"""Newton steps; each divides the complementarity by up to ten."""

NEAR = 0.995
"""Share of the way to the boundary that a step may go."""

CENTRE = 1e-11
"""The least product of slack and multiplier aimed at, unless more is wanted: far below it rounding takes over."""

RIDGE = 1e-12
COARSE = 1e-9
TINY = 1e-280
LARGEST = 1e90

LEAST = 1e-12
"""Entries of a tangent below this are raised to it."""

DIGITS, FINE = 6, 8
"""Significant digits that are kept of tangents over boxes of v, and of tangents and multipliers over boxes of C v."""

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
    """Points (b, n), tangents (b, n_q) and multipliers (b, 2 k) of the convex relaxations over boxes (b, k).

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
    return points, tangents_at(cost, points, DIGITS), np.zeros((len(low), 2 * cost.dimension))


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
    return points, tangents_at(cost, points, digits), kept


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Minimise g . v + d sum (D v) ln (D v) over sum v = 1 and G v <= h, for a batch of b programmes.

    Parameters
    ----------
    g : array (b, n)
    d : float
    D : array (b, n_q, n) or (n_q, n)
    G : array (m, n)
        Such that G v <= h keeps v >= 0.
    h : array (b, m)
    centre : float
        The least product of slack and multiplier aimed at.
    """

    g: Floats
    d: float
    D: Floats
    G: Floats
    h: Floats
    centre: float = CENTRE

    def solve(self, start: Floats, steps: int = STEPS) -> tuple[Floats, Floats]:
        """Points (b, n) and multipliers (b, m) of the rows, near the optimum; the latter grow if there is no point.

        Parameters
        ----------
        start : array (b, n)
            Sums to 1, with h - G v > 0 wherever that keeps v positive.
        steps : int
            Newton steps; more of them make the multipliers of an empty programme larger.
        """
        v = start
        room = self.h - v @ self.G.T
        slack = np.where(room > 0, room, 0.1)
        z = np.full(self.h.shape, 0.1)
        pairs = (self.G[:, :, None] * self.G[:, None, :]).reshape(len(self.G), -1)
        sigma = np.full((len(v), 1), 0.2)
        with np.errstate(all="ignore"):  # multipliers of an empty programme run away, and are dropped below
            for _ in range(steps):
                dv, ds, dz = self._direction(v, slack, z, sigma, pairs)
                step = np.minimum(1.0, NEAR * np.minimum(_reach(slack, ds), _reach(z, dz)))[:, None]
                slack, z = np.maximum(slack + step * ds, TINY), np.maximum(z + step * dz, TINY)
                v, sigma = v + step * dv, np.where(step > 0.8, 0.1, 0.4)
        good = np.isfinite(v).all(axis=1, keepdims=True) & np.isfinite(z).all(axis=1, keepdims=True)
        return np.where(good, v, start), np.where(good & (z < LARGEST), z, 0.0)

    def _direction(
        self, v: Floats, slack: Floats, z: Floats, sigma: Floats, pairs: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The Newton step of the perturbed optimality conditions."""
        q = np.maximum(_through(self.D, v), TINY)
        gradient = self.g + self.d * _back(self.D, np.log(q) + 1.0)
        missed = v @ self.G.T + slack - self.h
        target = np.maximum(sigma * (slack * z).mean(axis=1, keepdims=True), self.centre)
        ratio = z / slack
        n = v.shape[1]
        hessian = (ratio @ pairs).reshape(-1, n, n) + self.d * _curvature(self.D, 1.0 / q)
        hessian[:, range(n), range(n)] += RIDGE * np.abs(hessian[:, range(n), range(n)]) + RIDGE
        right = -gradient - (target / slack + ratio * missed) @ self.G
        both = np.stack([right, np.ones_like(right)], axis=2)
        free, ones = np.moveaxis(_solved(hessian, both), 2, 0)
        price = (free.sum(axis=1) + v.sum(axis=1) - 1.0) / ones.sum(axis=1)
        dv = free - price[:, None] * ones
        ds = -missed - dv @ self.G.T
        return dv, ds, target / slack - z - ratio * ds


def _solved(matrices: Floats, right: Floats) -> Floats:
    """Solutions of a batch of systems, made regular first if one of them is singular."""
    try:
        return np.asarray(np.linalg.solve(matrices, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        n = matrices.shape[1]
        size = np.trace(matrices, axis1=1, axis2=2)[:, None, None]
        ridge: Floats = COARSE * (1.0 + np.abs(size)) * np.eye(n)
        return np.asarray(np.linalg.solve(matrices + ridge, right), dtype=np.float64)


def _reach(value: Floats, change: Floats) -> Floats:
    """How far each row can go before an entry is 0."""
    return np.asarray(np.where(change < 0, -value / np.where(change < 0, change, -1.0), np.inf).min(axis=1))


def _through(matrix: Floats, v: Floats) -> Floats:
    if matrix.ndim == 2:
        return np.asarray(v @ matrix.T)
    return np.asarray((matrix @ v[:, :, None])[:, :, 0])


def _back(matrix: Floats, q: Floats) -> Floats:
    if matrix.ndim == 2:
        return np.asarray(q @ matrix)
    return np.asarray((q[:, None, :] @ matrix)[:, 0, :])


def _curvature(matrix: Floats, weights: Floats) -> Floats:
    """D^T diag(weights) D, shape (b, n, n)."""
    if matrix.ndim == 2:
        n = matrix.shape[1]
        pairs = (matrix[:, :, None] * matrix[:, None, :]).reshape(len(matrix), -1)
        return np.asarray((weights @ pairs).reshape(-1, n, n))
    return np.asarray(matrix.transpose(0, 2, 1) @ (weights[:, :, None] * matrix))


def shortened(values: Floats, digits: int) -> Floats:
    """Non-negative numbers rounded to a few significant digits."""
    scale = 10.0 ** np.minimum(digits - 1 - np.floor(np.log10(np.maximum(values, 1e-300))), 300)
    scale = np.where(scale > 0, scale, 1.0)
    return np.asarray(np.where(values > 1e-30, np.round(values * scale) / scale, 0.0))


def tangents_at(cost: Cost, points: Floats, digits: int) -> Floats:
    """The distributions D v at which tangents are taken, positive and short to write."""
    tangents = np.maximum(points, 0.0) @ cost.tangents.T
    return shortened(np.maximum(tangents / tangents.sum(axis=1, keepdims=True), LEAST), digits)

"""Convex relaxations of the pricing problem over a batch of boxes: a point, a tangent and multipliers for each.

They are solved many at a time by a primal-dual interior-point method.
"""

from __future__ import annotations

import math
import time
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

DENSE = 60
"""Symbols up to which Newton's systems are solved whole, which is more accurate where boxes are empty."""

THINNER = 4
"""Symbols for each value of S from which Newton's systems over boxes of v are solved as few rows beside a diagonal."""

THIN = 1e-8
"""Sides of boxes of C v shorter than this are treated as if they were unbounded."""


def refined(tolerance: float) -> float:
    """By how much digits and widths are refined for a tolerance."""
    return min(1.0, max(FINEST, tolerance / USUAL))


def relax(
    cost: Cost,
    prices: Floats,
    low: Floats,
    high: Floats,
    steps: int = STEPS,
    tolerance: float = USUAL,
    deadline: float = math.inf,
    near: float = 0.0,
) -> tuple[Floats, Floats, Floats]:
    """Points (b, n), tangents (b, n_q) and multipliers (b, 2 k) of the convex relaxations over boxes (b, k).

    The concave part is replaced by its secants, the rest kept. There are fewer steps when the deadline passes, and once no
    relaxation is further than ``near`` from its optimum.
    """
    if cost.coordinates is not None:
        fine = refined(tolerance)
        return _relax_rows(cost, cost.coordinates, prices, (low, high), steps, fine, deadline, near)
    points = np.zeros(low.shape)
    tilt = cost.concave * secant_slopes(low, high) - prices
    sizes = (high > 0).sum(axis=1)
    for size in set(sizes.tolist()):
        some = np.flatnonzero(sizes == size)
        index = np.nonzero(high[some] > 0)[1].reshape(len(some), size)
        rows = some[:, None]
        points[rows, index] = _relax_box(
            tilt[rows, index], cost, index, (low[rows, index], high[rows, index]), deadline, near
        )
    return points, tangents_at(cost, points, DIGITS), np.zeros((len(low), 2 * cost.dimension))


def _relax_box(
    tilt: Floats,
    cost: Cost,
    index: NDArray[np.intp],
    box: tuple[Floats, Floats],
    deadline: float,
    near: float,
) -> Floats:
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
    program = Relaxation(tilt, cost.convex, matrix, None, np.hstack([high, -low]))
    return program.solve(start / start.sum(axis=1, keepdims=True), deadline=deadline, near=near)[0]


def _relax_rows(
    cost: Cost,
    coordinates: Floats,
    prices: Floats,
    box: tuple[Floats, Floats],
    steps: int,
    fine: float,
    deadline: float,
    near: float,
) -> tuple[Floats, Floats, Floats]:
    """Over the whole simplex, with the box as rows."""
    low, high = box
    b, n = len(low), cost.size
    tilt = cost.concave * secant_slopes(low, high) @ coordinates - prices
    room = np.where(
        high - low > THIN * fine, PADDING * fine, 1.0
    )  # a side without width has no interior: its rows are left out
    limits = np.hstack([high + room, room - low, np.zeros((b, n))])
    program = Relaxation(
        tilt, cost.convex, None if cost.plain else cost.tangents, coordinates, limits, CENTRE * fine
    )
    more = 0 if fine == 1 else EXTRA
    points, multipliers = program.solve(np.full((b, n), 1.0 / n), steps + more, deadline, near)
    points = np.maximum(points, 0.0)
    points /= points.sum(axis=1, keepdims=True)
    kept = multipliers[:, : 2 * cost.dimension]
    digits = FINE - round(math.log10(fine))
    kept = shortened(np.where(kept < 1e-9 * fine, 0.0, kept), digits)
    return points, tangents_at(cost, points, digits), kept


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Minimise g . v + d sum (D v) ln (D v) over a box of the simplex, for a batch of b programs.

    With G = (C, -C, -1), or (1, -1) where C is the identity, the box is G v <= h.

    Parameters
    ----------
    g : array (b, n)
    d : float
    D : array (b, n_q, n) or (n_q, n), or None
        None for the identity.
    C : array (k, n) or None
        None for the identity; h then has to keep v >= 0.
    h : array (b, 2 k + n) or (b, 2 n)
    centre : float
        The least product of slack and multiplier aimed at.
    """

    g: Floats
    d: float
    D: Floats | None
    C: Floats | None
    h: Floats
    centre: float = CENTRE

    def solve(
        self, start: Floats, steps: int = STEPS, deadline: float = math.inf, near: float = 0.0
    ) -> tuple[Floats, Floats]:
        """Points (b, n) and multipliers (b, m) of the rows, near the optimum; the latter grow if there is no point.

        Parameters
        ----------
        start : array (b, n)
            Sums to 1, with h - G v > 0 wherever that keeps v positive.
        steps : int
            Newton steps; more of them make the multipliers of an empty program larger.
        deadline : float
            On the clock of ``time.monotonic()``.
        near : float
            Steps end once slacks and multipliers prove every point that near to its optimum, were there no rounding.
        """
        v = start
        room = self.h - self._sides(v)
        slack = np.where(room > 0, room, 0.1)
        z = np.full(self.h.shape, 0.1)
        n = v.shape[1]
        pairs = None if self.C is None or (self.D is None and n > DENSE) else _pairs(self.C)
        sigma = np.full((len(v), 1), 0.2)
        with np.errstate(all="ignore"):  # multipliers of an empty program run away, and are dropped below
            for _ in range(steps):
                if time.monotonic() > deadline or float((slack * z).sum(axis=1).max()) <= near:
                    break
                dv, ds, dz = self._direction(v, slack, z, sigma, pairs)
                step = np.minimum(1.0, NEAR * np.minimum(_reach(slack, ds), _reach(z, dz)))[:, None]
                slack, z = np.maximum(slack + step * ds, TINY), np.maximum(z + step * dz, TINY)
                v, sigma = v + step * dv, np.where(step > 0.8, 0.1, 0.4)
        good = np.isfinite(v).all(axis=1, keepdims=True) & np.isfinite(z).all(axis=1, keepdims=True)
        return np.where(good, v, start), np.where(good & (z < LARGEST), z, 0.0)

    def _sides(self, v: Floats) -> Floats:
        """G v."""
        if self.C is None:
            return np.hstack([v, -v])
        seen = v @ self.C.T
        return np.hstack([seen, -seen, -v])

    def _against(self, y: Floats) -> Floats:
        """G^T y."""
        k = self.g.shape[1] if self.C is None else len(self.C)
        both = y[:, :k] - y[:, k : 2 * k]
        return both if self.C is None else np.asarray(both @ self.C - y[:, 2 * k :])

    def _direction(
        self, v: Floats, slack: Floats, z: Floats, sigma: Floats, pairs: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """The Newton step of the perturbed optimality conditions."""
        q = np.maximum(v if self.D is None else _through(self.D, v), TINY)
        logs = np.log(q) + 1.0
        gradient = self.g + self.d * (logs if self.D is None else _back(self.D, logs))
        missed = self._sides(v) + slack - self.h
        target = np.maximum(sigma * (slack * z).mean(axis=1, keepdims=True), self.centre)
        ratio = z / slack
        right = -gradient - self._against(target / slack + ratio * missed)
        both = np.stack([right, np.ones_like(right)], axis=2)
        free, ones = np.moveaxis(self._newton(ratio, q, both, pairs), 2, 0)
        price = (free.sum(axis=1) + v.sum(axis=1) - 1.0) / ones.sum(axis=1)
        dv = free - price[:, None] * ones
        ds = -missed - self._sides(dv)
        return dv, ds, target / slack - z - ratio * ds

    def _newton(self, ratio: Floats, q: Floats, right: Floats, pairs: Floats | None) -> Floats:
        """Solutions with G^T diag(ratio) G + d D^T diag(1 / q) D, of which two parts are diagonal where they may be."""
        n = self.g.shape[1]
        k = n if self.C is None else len(self.C)
        across = ratio[:, :k] + ratio[:, k : 2 * k]
        diagonal = across if self.C is None else ratio[:, 2 * k :]
        if self.D is None:
            diagonal = diagonal + self.d / q
        if self.D is None and self.C is not None and pairs is None:
            return _thin(diagonal + RIDGE * np.abs(diagonal) + RIDGE, self.C, across, right)
        if self.C is None and self.D is not None and THINNER * self.D.shape[-2] <= n:
            return _thin(diagonal + RIDGE * np.abs(diagonal) + RIDGE, self.D, self.d / q, right)
        hessian = np.zeros((len(q), n, n)) if self.D is None else self.d * _curvature(self.D, 1.0 / q)
        if pairs is not None:
            hessian += (across @ pairs).reshape(-1, n, n)
        hessian[:, range(n), range(n)] += diagonal
        hessian[:, range(n), range(n)] += RIDGE * np.abs(hessian[:, range(n), range(n)]) + RIDGE
        return _solved(hessian, right)


def _thin(diagonal: Floats, rows: Floats, weights: Floats, right: Floats) -> Floats:
    """Solutions with diag(diagonal) + rows^T diag(weights) rows, for a few rows (k, n) or (b, k, n) (Woodbury)."""
    scaled = rows / diagonal[:, None, :]
    free = right / diagonal[:, :, None]
    small = scaled @ np.swapaxes(rows, -1, -2)
    k = rows.shape[-2]
    small[:, range(k), range(k)] += 1.0 / np.maximum(weights, TINY)
    return np.asarray(free - scaled.transpose(0, 2, 1) @ _solved(small, rows @ free))


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
        return np.asarray((weights @ _pairs(matrix)).reshape(-1, n, n))
    return np.asarray(matrix.transpose(0, 2, 1) @ (weights[:, :, None] * matrix))


def _pairs(matrix: Floats) -> Floats:
    """The outer product of each row with itself, flat."""
    return np.asarray((matrix[:, :, None] * matrix[:, None, :]).reshape(len(matrix), -1))


def shortened(values: Floats, digits: int) -> Floats:
    """Non-negative numbers rounded to a few significant digits."""
    scale = 10.0 ** np.minimum(digits - 1 - np.floor(np.log10(np.maximum(values, 1e-300))), 300)
    scale = np.where(scale > 0, scale, 1.0)
    return np.asarray(np.where(values > 1e-30, np.round(values * scale) / scale, 0.0))


def tangents_at(cost: Cost, points: Floats, digits: int) -> Floats:
    """The distributions D v at which tangents are taken, positive and short to write."""
    tangents = np.maximum(points, 0.0)
    if not cost.plain:
        tangents = tangents @ cost.tangents.T
    return shortened(np.maximum(tangents / tangents.sum(axis=1, keepdims=True), LEAST), digits)

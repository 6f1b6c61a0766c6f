"""Convex relaxations of the pricing problem, many at a time, by a primal-dual interior-point method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats

STEPS = 16
"""Newton steps; each divides the complementarity by up to ten."""

NEAR = 0.995
"""Share of the way to the boundary that a step may go."""

CENTRE = 1e-11
"""The least product of slack and multiplier aimed at, unless more is asked: far below it rounding takes over."""

RIDGE = 1e-12
COARSE = 1e-9
TINY = 1e-280
LARGEST = 1e90


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
        found = _solved(hessian, both)
        free, ones = found[:, :, 0], found[:, :, 1]
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

"""An interior-point method for the program of one release with thousands of inputs and some hundreds of releases.

The program is that of K and z = Q / theta, with slacks s = z - K. Each step of Newton's method for its optimality
conditions, K r = s w = a common number, is reduced by hand: K, s, r, w and the prices of the rows go out one entry or one
row at a time, and a symmetric system in the prices of the columns and z is left, twice as large as the releases are
many. Products are weighted by p, so that rare inputs are as well scaled as frequent ones. Steps are those of
S. Mehrotra, "On the Implementation of a Primal-Dual Interior Point Method".
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from privopt.arrays import Floats
from privopt.mechanisms.policy.fixed import Levels

MOST_STEPS = 300
CURVED = 2.0
"""Largest correction for curvature, relative to the mean product: where steps are short it is no guide."""
USABLE = 0.3
"""Relative gap beyond which an interrupted search is not an answer."""
NEARER, STALLED = 0.95, 12
"""A search ends where for so many steps no point has left less than this share of what the best one before them does."""
SHORT = 0.9
"""Share of the way to the border that a step goes."""


@dataclass(frozen=True, eq=False)
class Matter:
    """The program: weights p (n,), direct costs (n, m) and fixed costs (m,) of z, with theta."""

    p: Floats
    cost: Floats
    fixed: Floats
    theta: float

    @classmethod
    def of(cls, p: Floats, cost: Floats, means: Floats, levels: Levels) -> Matter:
        """From distortions D[x, y] and their means over everything that is drawn, which p may be a part of."""
        return cls(p, levels.room * cost, levels.theta * levels.low * means, levels.theta)


@dataclass(frozen=True, eq=False)
class Point:
    """Where the search is: K, s, w and r (n, m); z and prices mu of the columns (m,); prices nu of the rows (n,)."""

    kernel: Floats
    slack: Floats
    top: Floats
    spare: Floats
    z: Floats
    mu: Floats
    nu: Floats

    @classmethod
    def first(cls, matter: Matter) -> Point:
        """All releases alike: strictly inside, and nearly all products alike."""
        n, m = matter.cost.shape
        theta = matter.theta
        z = np.full(m, matter.p.sum() / (m * theta))
        kernel = np.full((n, m), 1.0 / m)
        sums = matter.cost + matter.fixed / theta
        means = sums.mean(axis=1)
        size = 1.5 * max(float(np.abs(sums - means[:, None]).max()), 1e-3)
        height = size / (m * (z[0] - 1.0 / m))
        top = np.full((n, m), height)
        mu = matter.p @ top - matter.fixed
        nu = means - mu.mean() / theta + height - size
        spare = np.maximum(matter.cost - nu[:, None] - mu / theta + top, 0.1 * size)
        nu = nu - np.maximum(spare - (matter.cost - nu[:, None] - mu / theta + top), 0.0).max(axis=1)
        return cls(kernel, z - kernel, top, matter.cost - nu[:, None] - mu / theta + top, z, mu, nu)

    def moved(self, step: Point, primal: float, dual: float) -> Point:
        """Along a direction."""
        return Point(
            self.kernel + primal * step.kernel,
            self.slack + primal * step.slack,
            self.top + dual * step.top,
            self.spare + dual * step.spare,
            self.z + primal * step.z,
            self.mu + dual * step.mu,
            self.nu + dual * step.nu,
        )

    def open(self, p: Floats) -> float:
        """What is left between value and bound."""
        return float((p @ (self.kernel * self.spare + self.slack * self.top)).sum())

    def broken(self, matter: Matter) -> float:
        """What equations that rounding has broken may be worth."""
        p = matter.p
        columns = np.abs(matter.theta * self.z - p @ self.kernel) @ np.abs(self.mu) / matter.theta
        tops = np.abs(matter.fixed + self.mu - p @ self.top) @ self.z
        return float(columns + tops)

    def lengths(self, step: Point) -> tuple[float, float]:
        """How far the direction may be followed until something is 0, at most the full step."""
        primal = max(_rate(self.kernel, step.kernel), _rate(self.slack, step.slack), SHORT)
        dual = max(_rate(self.top, step.top), _rate(self.spare, step.spare), SHORT)
        return SHORT / primal, SHORT / dual


def _rate(here: Floats, step: Floats) -> float:
    return float(-(step / here).min())


class Newton:
    """The reduced system at a point, for several right-hand sides."""

    def __init__(self, matter: Matter, at: Point) -> None:
        from scipy.linalg import lapack

        self.matter, self.at = matter, at
        p, m = matter.p, matter.cost.shape[1]
        whole = at.spare * at.slack + at.kernel * at.top
        self.h, self.hv = at.kernel * at.slack / whole, at.kernel * at.top / whole
        self.rows = self.h.sum(axis=1)
        self.both = np.hstack([self.h, self.hv])
        scaled = self.both * np.sqrt(p / self.rows)[:, None]
        system = -(scaled.T @ scaled)
        i, cross = np.arange(m), p @ self.hv - matter.theta
        system[i, i] += p @ self.h
        system[i, m + i] += cross
        system[m + i, i] += cross
        system[m + i, m + i] -= p @ (at.top * at.spare / whole)
        self.scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(system)), 1e-300))
        self.factors, self.pivots, singular = lapack.dgetrf(system * self.scale[:, None] * self.scale)
        if singular:
            raise np.linalg.LinAlgError("the reduced system is singular")

    def direction(self, first: Floats, second: Floats) -> Point:
        """Where products K r and s w change by ``first`` and ``second``, shape (n, m), to first order."""
        from scipy.linalg import lapack

        at, p, theta = self.at, self.matter.p, self.matter.theta
        free = self.h * (first / at.kernel - second / at.slack)
        rest = 1.0 - at.kernel.sum(axis=1) - free.sum(axis=1)
        columns = theta * at.z - p @ (at.kernel + free)
        tops = self.matter.fixed + at.mu - p @ (at.top + second / at.slack + at.top / at.slack * free)
        right = np.concatenate([columns, tops]) - self.both.T @ (p / self.rows * rest)
        solved, _ = lapack.dgetrs(self.factors, self.pivots, self.scale * right)
        columns_and_tops = self.scale * solved
        m = len(at.z)
        mu, z = columns_and_tops[:m], columns_and_tops[m:]
        nu = (rest - self.both @ columns_and_tops) / self.rows
        kernel = free + self.h * (nu[:, None] + mu) + self.hv * z
        slack = z - kernel
        top = (second - at.top * slack) / at.slack
        return Point(kernel, slack, top, top - nu[:, None] - mu, z, theta * mu, nu)


def interior(matter: Matter, gap: float, until: float) -> tuple[Point, int] | None:
    """A point within a relative gap of the optimum, and the steps; None where time is short and the gap still large.

    Examples
    --------
    >>> from privopt.mechanisms.policy.fixed import Levels
    >>> levels = Levels.of(0.5)
    >>> p, cost = np.array([0.6, 0.4]), 1 - np.eye(2)
    >>> matter = Matter.of(p, cost, p @ cost, levels)
    >>> answer, _ = interior(matter, 1e-9, np.inf)
    >>> round(float(p @ answer.nu), 7)
    0.2911347
    """
    # Systems are small: what runs beside this process would cost several threads more than they gain.
    with threadpool_limits(1, user_api="blas"):
        return _followed(matter, gap, until)


def _followed(matter: Matter, gap: float, until: float) -> tuple[Point, int] | None:
    """The best point that is met, and the steps: rounding ends a search that does not come nearer."""
    at, p, steps = Point.first(matter), matter.p, 0
    size = 2.0 * matter.cost.shape[1] * float(p.sum())
    best, least, since = at, np.inf, 0
    while True:
        left = at.open(p)
        worth = float((p @ (at.kernel * matter.cost)).sum() + matter.fixed @ at.z)
        missed = left + at.broken(matter)
        since += 1
        if missed < NEARER * least:
            best, least, since = at, missed, 0
        if missed <= gap * worth:
            return at, steps
        done = steps >= MOST_STEPS or since >= STALLED or time.perf_counter() > until
        step = None if done else _step(matter, at, left / size)
        if step is None:
            return (best, steps) if least <= USABLE * worth else None
        at = at.moved(step, *at.lengths(step))
        steps += 1


def _step(matter: Matter, at: Point, mean: float) -> Point | None:
    """A direction towards equal products, corrected for curvature; None where the system is singular."""
    try:
        newton = Newton(matter, at)
        products, others = at.kernel * at.spare, at.slack * at.top
        guess = newton.direction(-products, -others)
        ahead = at.moved(guess, *at.lengths(guess)).open(matter.p)
        left = at.open(matter.p)
        aim, most = mean * (ahead / left) ** 3, CURVED * mean
        return newton.direction(
            aim - products - np.clip(guess.kernel * guess.spare, -most, most),
            aim - others - np.clip(guess.slack * guess.top, -most, most),
        )
    except np.linalg.LinAlgError:
        return None

"""An interior-point method for the programme of one release with thousands of inputs and some hundreds of releases.

The programme is that of K and z = Q / theta, with slacks s = z - K. Each step of Newton's method for its optimality
conditions, K r = s w = a common number, is reduced by hand: K, s, r, w and the prices of the rows go out one entry or one
row at a time, and a symmetric system in the prices of the columns and z is left, twice as large as the releases are
many. Products are weighted by p, so that rare inputs are as well scaled as frequent ones. Steps are those of
S. Mehrotra, "On the Implementation of a Primal-Dual Interior Point Method".
"""

from __future__ import annotations

import time

import numpy as np

from privopt.arrays import Floats
from privopt.solvers.common.words.points import Matter, Point

MOST_STEPS = 300
CURVED = 2.0
"""Largest correction for curvature, relative to the mean product: where steps are short it is no guide."""
USABLE = 0.3
"""Relative gap beyond which an interrupted search is not an answer."""


class Newton:
    """The reduced system at a point, for several right-hand sides."""

    def __init__(self, matter: Matter, at: Point) -> None:
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
        self.system = system * self.scale[:, None] * self.scale

    def direction(self, first: Floats, second: Floats) -> Point:
        """Where products K r and s w change by ``first`` and ``second``, shape (n, m), to first order."""
        at, p, theta = self.at, self.matter.p, self.matter.theta
        free = self.h * (first / at.kernel - second / at.slack)
        rest = 1.0 - at.kernel.sum(axis=1) - free.sum(axis=1)
        columns = theta * at.z - p @ (at.kernel + free)
        tops = self.matter.fixed + at.mu - p @ (at.top + second / at.slack + at.top / at.slack * free)
        right = np.concatenate([columns, tops]) - self.both.T @ (p / self.rows * rest)
        found = self.scale * np.linalg.solve(self.system, self.scale * right)
        m = len(at.z)
        mu, z = found[:m], found[m:]
        nu = (rest - self.both @ found) / self.rows
        kernel = free + self.h * (nu[:, None] + mu) + self.hv * z
        slack = z - kernel
        top = (second - at.top * slack) / at.slack
        return Point(kernel, slack, top, top - nu[:, None] - mu, z, theta * mu, nu)


def interior(matter: Matter, gap: float, until: float) -> tuple[Point, int] | None:
    """A point within a relative gap of the optimum, and the steps; None where time is short and the gap still large.

    Examples
    --------
    >>> from privopt.mechanisms.policy.hamming_cases import Levels
    >>> levels = Levels.of(0.5)
    >>> p, cost = np.array([0.6, 0.4]), 1 - np.eye(2)
    >>> matter = Matter.of(p, cost, p @ cost, levels)
    >>> found, _ = interior(matter, 1e-9, np.inf)
    >>> round(float(p @ found.nu), 7)
    0.2911347
    """
    at, p, steps = Point.first(matter), matter.p, 0
    size = 2.0 * matter.cost.shape[1] * float(p.sum())
    while True:
        left = at.open(p)
        worth = float((p @ (at.kernel * matter.cost)).sum() + matter.fixed @ at.z)
        if left <= gap * worth:
            return at, steps
        step = None if steps >= MOST_STEPS or time.perf_counter() > until else _step(matter, at, left / size)
        if step is None:
            return (at, steps) if left <= USABLE * worth else None
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

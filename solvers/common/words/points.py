"""The programme of one release with many inputs, and points strictly inside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.hamming_cases import Levels

SHORT = 0.9
"""Share of the way to the border that a step goes."""


@dataclass(frozen=True, eq=False)
class Matter:
    """The programme: weights p (n,), direct costs (n, m) and fixed costs (m,) of z, with theta."""

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

    def lengths(self, step: Point) -> tuple[float, float]:
        """How far the direction may be followed until something is 0, at most the full step."""
        primal = max(_rate(self.kernel, step.kernel), _rate(self.slack, step.slack), SHORT)
        dual = max(_rate(self.top, step.top), _rate(self.spare, step.spare), SHORT)
        return SHORT / primal, SHORT / dual


def _rate(here: Floats, step: Floats) -> float:
    return float(-(step / here).min())

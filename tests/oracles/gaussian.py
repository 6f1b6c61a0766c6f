"""Reference implementation for Gaussian records: 50 digits and the formula with the precision matrix; quadrature for clipping."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import mpmath as mp
import numpy as np
from scipy.integrate import quad

from privopt.arrays import Floats


def coefficients(covariance: Floats) -> Iterator[list[mp.mpf]]:
    """For every adversary: how the mean of each unknown record moves with the target, -(P_UU)^-1 P_Ui.

    The adversary who knows all other records comes first, with none.
    """
    yield []
    m = len(covariance)
    with mp.workdps(50):
        precision: Any = mp.inverse(mp.matrix(covariance.tolist()))
        for i in range(m):
            others = [j for j in range(m) if j != i]
            for size in range(1, m):
                for unknown in combinations(others, size):
                    inner = mp.matrix([[precision[a, b] for b in unknown] for a in unknown])
                    yield list(mp.lu_solve(inner, mp.matrix([-precision[a, i] for a in unknown])))


def factor(covariance: Floats) -> float:
    """The largest 1 + |b|_1 over all adversaries."""
    return max(float(1 + sum(map(abs, b))) for b in coefficients(covariance))


def signed_factor(covariance: Floats) -> float:
    """The largest |1 + sum b| over all adversaries."""
    return max(float(abs(1 + sum(b))) for b in coefficients(covariance))


def clipped_sum_leakage(
    x: float, other: float, rho: float, mean: float, sd: float, interval: tuple[float, float]
) -> float:
    """Leakage about one of two Gaussian records by the Laplace sum of both clipped, of diameter level 1.

    The largest log ratio of the densities over a grid of outputs that goes far into both tails.
    """
    low, high = interval
    width = high - low
    grid = np.linspace(2 * low - 3 * width, 2 * high + 3 * width, 121)
    above, below = (_densities(v, grid, rho, mean, sd, interval) for v in (x, other))
    return float(np.abs(np.log(above / below)).max())


def _densities(
    x: float, grid: Floats, rho: float, mean: float, sd: float, interval: tuple[float, float]
) -> Floats:
    low, high = interval
    centre, spread = mean + rho * (x - mean), sd * math.sqrt(1 - rho * rho)
    target = min(max(x, low), high)

    def density(y: float) -> float:
        def at(v: float) -> float:
            noise = math.exp(-abs(y - target - v) / (high - low))
            return noise * math.exp(-(((v - centre) / spread) ** 2) / 2) / spread / math.sqrt(2 * math.pi)

        kinks = sorted(
            {p for p in (centre, centre - 6 * spread, centre + 6 * spread, y - target) if low < p < high}
        )
        inside = float(quad(at, low, high, points=kinks or None, limit=200, epsabs=1e-13)[0])
        tails = [(low, -1.0), (high, 1.0)]
        return inside + sum(
            math.exp(-abs(y - target - end) / (high - low))
            * 0.5
            * math.erfc(side * (end - centre) / spread / math.sqrt(2))
            for end, side in tails
        )

    return np.array([density(float(y)) for y in grid])

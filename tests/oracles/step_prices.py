"""The number that prices of one step define, in rationals: e^-epsilon to sixty digits, everything else exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import mpmath


def power(nats: float) -> Fraction:
    """e^-nats, off by less than 1e-60 of itself."""
    with mpmath.workdps(400):
        value = mpmath.exp(-mpmath.mpf(nats))
        exponent = int(mpmath.floor(mpmath.log10(value))) - 70
        return Fraction(int(mpmath.nint(value / mpmath.mpf(10) ** exponent))) * Fraction(10) ** exponent


def priced_cost(
    distribution: Sequence[Fraction], cost: Sequence[Sequence[float]], nats: float, lam: Sequence[float]
) -> Fraction:
    """What any channel of that budget costs at least: nu . P plus the cheapest column, groups filled letter by letter."""
    low = power(nats)
    room, theta = 1 - low, low / (1 + low)
    nu = [room * Fraction(price) for price in lam]
    columns = []
    for y in range(len(cost[0])):
        prices = sorted(
            (room * Fraction(row[y]) - v, p)
            for row, v, p in zip(cost, nu, distribution, strict=True)
            if p > 0
        )
        left, group = theta, Fraction(0)
        for price, p in prices:
            taken = min(p, left)
            group += taken * price
            left -= taken
        mean = sum((p * Fraction(row[y]) for row, p in zip(cost, distribution, strict=True)), Fraction(0))
        columns.append(low * mean + group / theta)
    return sum((p * v for p, v in zip(distribution, nu, strict=True)), Fraction(0)) + min(columns)

"""Small funnels and their proved answers, and numbers at the ends of what is allowed and beyond."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import privopt as po
from privopt.problems.trade_off.problem import TradeOff

LN2 = math.log(2)


def noisy(p: float) -> po.JointDistribution:
    """A fair coin, seen through flips of a probability."""
    return po.JointDistribution([[(1 - p) / 2, p / 2], [p / 2, (1 - p) / 2]])


def mergings_of(table: NDArray[np.float64]) -> list[TradeOff]:
    """The best deterministic releases that are asked for: under a floor, under a cap, weighed; and the same of a bottleneck."""
    joint = po.JointDistribution.normalised(table)
    return [
        po.PrivacyFunnel(joint, theta_fraction=0.7, form="merging"),
        po.PrivacyFunnel(joint, max_leakage=0.05, form="merging"),
        po.PrivacyFunnel(joint, trade_off=0.1, form="merging"),
        po.InformationBottleneck(joint, max_rate=1.0, form="merging"),
        po.InformationBottleneck(joint, trade_off=0.1, form="merging"),
    ]


def solved(problem: TradeOff, solver: str | None = None, seconds: float = 20.0) -> po.Solution[Any]:
    """An answer that is certified and verifies."""
    solution = po.solve(problem, solver, time_limit=seconds)
    assert solution.status.ok, solution.reason
    assert solution.certified
    verdict = po.verify(problem, solution)
    assert verdict.ok, verdict.reason
    return solution


def extreme_tables() -> dict[str, list[list[Fraction]]]:
    """Tables with rare symbols, rare cells, and partitions that are equal or nearly so."""
    rng = np.random.default_rng(6)
    plain = [[Fraction(int(v)) for v in row] for row in rng.integers(1, 100, (2, 5))]
    rare = [[v * (Fraction(1, 10**20) if j == 2 else 1) for j, v in enumerate(row)] for row in plain]
    cell = [
        [v if (i, j) != (1, 3) else Fraction(1, 10**300) for j, v in enumerate(row)]
        for i, row in enumerate(plain)
    ]
    ties = [[Fraction(v) for v in row] for row in ([3, 1, 2, 3, 1], [1, 3, 2, 1, 3])]
    near = [
        [v + (Fraction(1, 10**30) if (i, j) == (0, 0) else 0) for j, v in enumerate(row)]
        for i, row in enumerate(ties)
    ]
    return {"plain": plain, "rare": rare, "cell": cell, "ties": ties, "nearly ties": near}


BUDGETS: list[tuple[str, float, bool]] = [
    *(("trade_off", w, funnel) for w in (0.0, 1e-12, 0.2, 1.0, 1e6, 1e12) for funnel in (True, False)),
    *(("min_utility", v, True) for v in (0.0, 1e-9, 0.6, 1.2)),
    *(("max_leakage", v, True) for v in (0.0, 1e-20, 1e-9, 0.05, math.inf)),
    *(("max_rate", v, False) for v in (0.0, 1e-20, 0.7, math.inf)),
]
"""Budgets by name, and whether of a funnel."""

VALUES = (
    1e300,
    -1e300,
    1e16,
    1e13,
    5e-324,
    1e308,
    -1.0,
    0,
    10**400,
    math.nan,
    math.inf,
    -math.inf,
    "1",
    True,
    None,
    [],
    {},
)
"""What may stand where a number is expected."""

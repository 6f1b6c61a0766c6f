"""Small funnels and their proved answers."""

from __future__ import annotations

import math
from typing import Any

import privopt as po
from privopt.problems.trade_off.problem import TradeOff

LN2 = math.log(2)


def noisy(p: float) -> po.JointDistribution:
    """A fair coin, seen through flips of a probability."""
    return po.JointDistribution([[(1 - p) / 2, p / 2], [p / 2, (1 - p) / 2]])


def solved(problem: TradeOff, solver: str | None = None, seconds: float = 20.0) -> po.Solution[Any]:
    """An answer that is certified and verifies."""
    solution = po.solve(problem, solver, time_limit=seconds)
    assert solution.status.ok, solution.reason
    assert solution.certified
    verdict = po.verify(problem, solution)
    assert verdict.ok, verdict.reason
    return solution

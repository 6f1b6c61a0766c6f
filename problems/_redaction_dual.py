"""Checking an upper bound on the utility of a redaction question."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privopt.problems._redaction_bound import check
from privopt.problems._redaction_sides import sides

if TYPE_CHECKING:
    from privopt.problems.redaction import Redaction

ROUNDING = 1e-11
"""What float sums over the records may be off by, added to every bound."""

LIMITS = {"nodes": (2, 1 << 16), "rows": (1, 1 << 16), "share": (0.0, 1.0)}


def utility_bound(problem: Redaction, cost: float) -> float:
    """The utility that a lower bound on the cost of redaction leaves; the private records give none."""
    weights = problem.record_weights
    hidden = math.fsum(weights[list(problem.private)].tolist()) / math.fsum(weights.tolist())
    return 1.0 - hidden - cost + ROUNDING


def check_dual(problem: Redaction, dual: object, seconds: float = math.inf) -> float | None:
    """The bound on utility that value tables of the sizes in ``dual`` prove, computed afresh, or None.

    An empty dual stands for what needs no proof: the private records are redacted, or constant.
    """
    if not isinstance(dual, dict):
        return None
    constant = [p for p in problem.private if np.count_nonzero(problem.chain.marginal(p)) < 2]
    if constant:
        return 1.0
    if not dual:
        return utility_bound(problem, 0.0)
    if problem.chain.k != 2 or len(problem.private) != 1 or set(dual) != set(LIMITS):
        return None
    sizes = {name: value for name, value in dual.items() if isinstance(value, (int, float))}
    if any(name not in sizes or not low <= sizes[name] <= high for name, (low, high) in LIMITS.items()):
        return None
    left, right = sides(problem, problem.private[0])
    return utility_bound(problem, check(left, right, problem.epsilon, sizes))

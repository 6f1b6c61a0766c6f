"""Upper bounds on the objective of a funnel or a bottleneck, each proved afresh from its dual.

The kinds of dual:

- ``{"kind": "analytic"}``: I(S;Y) >= I(X;Y) - H(X | S), and what follows from data processing.
- ``{"kind": "pricing", "multiplier": m, "pi": [...], "tree": [...]}``: prices of the observations at which no
  posterior costs less than the tree shows (:mod:`privopt.problems._trade_off_tree`); this bounds I(S;Y) - m I(X;Y)
  over every release.
- ``{"kind": "partitions"}``: for form "merging", every partition tried again; small alphabets only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privopt.measures.shannon import entropy, mutual_information
from privopt.problems._observation import Floats
from privopt.problems._partitions import best_partition
from privopt.problems._trade_off_tree import cost_of, least_reduced_cost

if TYPE_CHECKING:
    from privopt.problems._trade_off import TradeOff

ALLOWANCE = 1e-12
"""Added to every bound for rounding, relative to max(1, the size of its terms)."""


def check_dual(problem: TradeOff, dual: object, seconds: float) -> float | None:
    """The upper bound on the objective that a dual proves, or None."""
    if not isinstance(dual, dict):
        return None
    kind = dual.get("kind")
    if kind == "analytic":
        return analytic_bound(problem) + ALLOWANCE
    if kind == "partitions" and problem.form == "merging":
        best = best_partition(problem, seconds)
        return None if best is None else best.objective + ALLOWANCE
    if kind == "pricing":
        return _priced(problem, dual)
    return None


def analytic_bound(problem: TradeOff) -> float:
    """What holds for every release without solving anything."""
    observed, budget = problem.observation, problem.budget
    table = problem.joint.table if problem.joint.table.ndim == 2 else problem.joint.table.sum(axis=2)
    rest = float(entropy(observed.p_x)) - float(mutual_information(table, normalise=True))
    told = float(mutual_information(observed.leaking.table, normalise=True))
    if problem.kind == "privacy_funnel":
        if problem.is_floor:
            return 0.0 - max(0.0, budget - rest)
        if problem.is_cap:
            return min(problem.most, budget + rest)
        reach = max(0.0, problem.most - rest)
        return budget * problem.most - reach if budget >= 1 else budget * min(rest, problem.most)
    if observed.useful is not None:
        return told
    if problem.is_cap:
        return min(told, budget)
    return max(0.0, 1.0 - budget) * told


def weighed_bound(problem: TradeOff, multiplier: float, prices: Floats, least: float) -> float:
    """A bound on I(S;Y) - m I(X;Y): from below for the funnel, from above for the bottleneck."""
    observed = problem.observation
    whole = float(entropy(observed.p_s)) - multiplier * float(entropy(observed.p_x))
    value = math.fsum((observed.p_w[observed.support] * prices).tolist()) + least
    slack = ALLOWANCE * max(1.0, float(np.abs(prices).max(initial=0.0)))
    return whole + value - slack if problem.kind == "privacy_funnel" else whole - value + slack


def _priced(problem: TradeOff, dual: dict[str, object]) -> float | None:
    try:
        multiplier = float(dual["multiplier"])  # type: ignore[arg-type]
        prices = np.array(dual["pi"], dtype=np.float64)
    except (KeyError, TypeError, ValueError):
        return None
    good = prices.shape == (len(problem.observation.support),) and np.isfinite(prices).all()
    if not good or not 0 <= multiplier < math.inf:
        return None
    least = least_reduced_cost(cost_of(problem, multiplier), prices, dual.get("tree"))
    if least is None or not math.isfinite(least):
        return None
    return from_weighed(problem, multiplier, weighed_bound(problem, multiplier, prices, least))


def from_weighed(problem: TradeOff, multiplier: float, weighed: float) -> float | None:
    """The bound on the objective that a bound on I(S;Y) - m I(X;Y) gives, or None if it gives none."""
    if problem.mode == "trade_off":
        if multiplier != problem.budget:
            return None
        return -weighed if problem.kind == "privacy_funnel" else weighed
    if problem.kind == "information_bottleneck":
        return weighed + multiplier * problem.budget
    if problem.is_floor:
        return -(weighed + multiplier * problem.budget)
    return None if multiplier == 0 else (problem.budget - weighed) / multiplier

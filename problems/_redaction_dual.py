"""Checking an upper bound on the utility of a redaction question."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from privopt.problems._redaction_bound import check
from privopt.problems._redaction_central import LARGEST, sizes
from privopt.problems._redaction_central import check as check_central
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

    One with a kind holds multipliers instead, see :mod:`privopt.problems._redaction_central`. An empty one
    stands for what needs no proof: the private records are redacted, or constant.
    """
    if not isinstance(dual, dict):
        return None
    if "kind" in dual:
        return _check_multipliers(problem, dual, seconds)
    constant = [p for p in problem.private if np.count_nonzero(problem.chain.marginal(p)) < 2]
    if constant or math.isinf(problem.epsilon):
        return 1.0
    if not dual:
        return utility_bound(problem, 0.0)
    if problem.chain.k != 2 or len(problem.private) != 1 or problem.form != "local":
        return None
    if set(dual) != set(LIMITS):
        return None
    given: dict[str, float] = {k: v for k, v in dual.items() if isinstance(v, (int, float))}
    if any(name not in given or not low <= given[name] <= high for name, (low, high) in LIMITS.items()):
        return None
    left, right = sides(problem, problem.private[0])
    stop = time.monotonic() + seconds
    try:
        cost = check(left, right, problem.epsilon, given, lambda: stop - time.monotonic())
    except TimeoutError:
        return None
    return utility_bound(problem, cost)


def _check_multipliers(problem: Redaction, dual: dict[object, object], seconds: float) -> float | None:
    """The bound that ``{"kind": "central", "multipliers": [...]}`` proves within some seconds, or None."""
    begun = time.monotonic()
    kind, given, size = dual["kind"], dual.get("multipliers"), sizes(problem)
    if not isinstance(kind, str) or kind != "central" or len(dual) != 2 or type(given) is not list:
        return None
    if seconds <= 0 or size is None or len(given) != size[1]:
        return None
    if not all(type(value) in (int, float) and 0 <= value <= LARGEST for value in given):
        return None
    bound = check_central(problem, np.array(given, dtype=np.float64))
    return bound if time.monotonic() - begun <= seconds else None

"""A cap on an average over a set of distributions: the problem at its nominal one, with caps so small that the whole set keeps the first."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from privopt.core.problem import Problem
from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Mechanism
from privopt.solvers.common.repaired import repaired_in_time

ROUNDS = 8
"""Caps that are tried."""

READINGS = 15
"""Readings of the leakage over the set that a repair takes, about."""

NEAR = 1e-4
"""Relative distance of the leakage from the cap at which no other cap is tried."""

FIRST = 0.5
"""Share of the time for the first cap, whose bound is that of the answer."""


def tightened(
    problem: Problem[Any], nominal: Callable[[float, Budget], Proposal], budget: Budget
) -> Proposal:
    """The best repaired answer of the nominal problem at smaller and smaller caps, and its bound at the cap itself.

    What keeps a cap over the whole set keeps it at the nominal distribution, so that a bound there bounds this problem. The
    next cap is the one at which the leakage over the set would meet the budget if both were in proportion.

    Parameters
    ----------
    problem : Problem
        Over a set, with a cap on an average.
    nominal : function (cap, Budget)
        Solves the problem at the nominal distribution.
    budget : Budget
    """
    start, left, cap = time.monotonic(), budget.remaining, problem.budget
    first: Proposal | None = None
    best: Mechanism | None = None
    reached, rounds = -math.inf, 0
    for rounds in range(1, ROUNDS + 1):
        end = start + (FIRST if first is None else FIRST + (1 - FIRST) * rounds / ROUNDS) * left
        proposal = nominal(cap, replace(budget, deadline=min(end, budget.deadline)))
        first = first or proposal
        if proposal.mechanism is None:
            break
        kept = repaired_in_time(problem, proposal.mechanism, budget, READINGS)
        if kept is None:
            break
        leakage = problem.evaluate(proposal.mechanism).leakage
        reading = problem.evaluate(kept)
        if reading.feasible and reading.objective > reached:
            best, reached = kept, reading.objective
            budget.report(reached, None if first.bound is None else first.bound, fraction=rounds / ROUNDS)
        if abs(leakage - problem.budget) <= NEAR * problem.budget or not 0 < leakage < math.inf:
            break
        if budget.remaining == 0:
            break
        cap *= problem.budget / leakage
    if best is None:
        best = problem.anchor()
    stats = {**(first.stats if first else {}), "caps": rounds}
    return Proposal(best, first.bound if first else None, first.dual if first else None, stats=stats)

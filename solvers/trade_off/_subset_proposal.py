"""The proposal of a merging of subsets: at the price given, or at the price that just keeps the bound."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Ints
from privopt.core.solver import Budget, Proposal
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.common.merging_answer import best_kept, impossible, proposed
from privopt.solvers.common.merging_table import MergingTable, merging_table
from privopt.solvers.trade_off.subset_search import Step, repeated


def subset_proposal(problem: PrivacyFunnel, step: Step, steps: int, budget: Budget) -> Proposal:
    """The best of the mergings found at some prices; releasing everything, or nothing, is among the candidates."""
    if (none := impossible(problem)) is not None:
        return none
    table = merging_table(problem)
    found = [
        np.arange(table.size),
        np.zeros(table.size, dtype=np.int64),
        *_found(problem, table, step, steps, budget),
    ]
    stats = {"iterations": len(found) - 2, "stop": "all tried" if budget.remaining > 0 else "out of time"}
    return proposed(problem, best_kept(problem, found), stats)


def _found(problem: PrivacyFunnel, table: MergingTable, step: Step, steps: int, budget: Budget) -> list[Ints]:
    if problem.mode == "trade_off":
        return [repeated(table, problem.budget, step, budget)] if problem.budget < 1 else []
    low, high, found = 0.0, 1.0, []
    for _ in range(steps):
        if budget.remaining <= 0:
            break
        price = (low + high) / 2
        found.append(repeated(table, price, step, budget))
        secret, useful = table.merged(found[-1]).informations
        reached = useful < problem.budget if problem.is_floor else secret < problem.budget
        low, high = (price, high) if reached else (low, price)
    return found


def refusal(problem: PrivacyFunnel, limit: int, steps: int) -> str | None:
    """Why a problem is not taken, or None."""
    size = len(problem.observation.support)
    if problem.observation.useful is not None:
        return "it is made for releases of X itself, here X is seen through an observation"
    if size > limit:
        return f"it takes at most {limit} symbols, this problem has {size}"
    return None if steps >= 1 else f"steps must be at least 1, got {steps}"

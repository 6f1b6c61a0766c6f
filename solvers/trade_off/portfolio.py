"""The best merging that pairwise merging, prices and single moves find within the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.partitions import best_partition
from privopt.solvers.common.merging_answer import best_kept, impossible, proposed
from privopt.solvers.common.pair_path import max_symbols, predicted_seconds
from privopt.solvers.trade_off.portfolio_steps import Portfolio as Searches


@register
@dataclass(frozen=True)
class Portfolio(Solver[PrivacyFunnel]):
    """Pairwise merging by two scores, and at several prices of information; moves of single symbols after each.

    Under a floor or a cap the price is searched by bisection: merge while dS > price dX, move symbols while that
    pays, then merge on up to the bound and move symbols within it. The best that was seen is proposed.

    Parameters
    ----------
    steps : int
        Prices tried, >= 1.
    enumerated : int
        Alphabets up to this size are also searched through, in fractions of a second.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "portfolio"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: nothing is proved."""

    steps: int = 10
    enumerated: int = 12

    def cost(self, problem: PrivacyFunnel) -> float:
        """As many merging paths as prices, and as much again for moves."""
        n, width = len(problem.observation.support), len(problem.observation.p_s)
        return 2 * self.steps * predicted_seconds(n, width) + 1e-3 * n

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse alphabets that are too large for memory, and less than one step."""
        size = len(problem.observation.support)
        if size > max_symbols():
            return f"it merges at most {max_symbols()} symbols here, this problem has {size}"
        return None if self.steps >= 1 else f"steps must be at least 1, got {self.steps}"

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best of all candidates."""
        if (none := impossible(problem)) is not None:
            return none
        everything = np.arange(len(problem.observation.support))
        found = [everything, np.zeros_like(everything)]
        if (
            len(everything) <= self.enumerated
            and (best := best_partition(problem, budget.remaining / 2)) is not None
        ):
            found.append(best.assignment[problem.observation.support])
        found += Searches(problem, budget, self.steps).candidates()
        stats = {"iterations": len(found), "stop": "all tried" if budget.remaining > 0 else "out of time"}
        return proposed(problem, best_kept(problem, found), stats)

"""Merging of subsets with the best set of all at every step: what ``submodular`` approximates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.trade_off._subset_proposal import refusal, subset_proposal
from privopt.solvers.trade_off.subset_search import tabulated

MAX_SYMBOLS = 20


@register
@dataclass(frozen=True)
class SubmodularExact(Solver[PrivacyFunnel]):
    """Every one of the 2^n sets is tried at each step; the sequence of steps is as greedy as that of ``submodular``.

    Parameters
    ----------
    steps : int
        Prices tried under a floor or a cap, >= 1.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "submodular-exact"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Kept for comparison: exact in each step, not in the whole."""

    steps: int = 10

    def cost(self, problem: PrivacyFunnel) -> float:
        """Twice as much with each symbol."""
        n, width = len(problem.observation.support), len(problem.observation.p_s)
        prices = 1 if problem.mode == "trade_off" else self.steps
        return prices * (0.01 + 4e-8 * 2.0**n * (width + 3))

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse more than 20 symbols, and observations that are not X itself."""
        return refusal(problem, MAX_SYMBOLS, self.steps)

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best merging found at the prices tried."""
        return subset_proposal(problem, tabulated, self.steps, budget)

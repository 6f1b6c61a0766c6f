"""Baseline: the published bound for Markov chains, epsilon less four times the logarithm of the largest ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class MarkovPublished(Solver[BayesianPrivacy]):
    """Noise of level epsilon - 4 ln gamma, where gamma is the largest ratio of two transition probabilities of a column.

    Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy", Theorem 6.2 and Corollary 6.3. Sound, and empty unless epsilon > 4 ln gamma.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "markov-published"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds of some thirty readings of the bound."""
        return 1e-3

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        return calibrated.not_a_chain(problem) or calibrated.out_of_reach(problem, self.name)

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level that the bound allows."""
        return calibrated.proposal(
            problem, calibrated.level_of(problem, self.name, budget), {"method": self.name}
        )

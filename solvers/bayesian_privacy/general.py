"""Noise for any dependence: the level is epsilon divided by the number of dependent records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class General(Solver[BayesianPrivacy]):
    """Noise of level epsilon / m, where m is the number of records that may depend on each other.

    Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy", Section 4: tight where nothing but m is known.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "general"

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """Optimal where this bound is exact and the best one."""
        return calibrated.standing(problem, self.name)

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds of some thirty readings of the bound."""
        return 1e-3

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        return calibrated.out_of_reach(problem, self.name)

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level that the bound allows."""
        return calibrated.proposal(
            problem, calibrated.level_of(problem, self.name, budget), {"method": self.name}
        )

"""Gaussian records of small correlations: the factor is a column sum of the covariance, exact up to the factor 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class GaussianColumn(Solver[BayesianPrivacy]):
    """Noise by the largest column sum of the covariance over its variance: exact for any size where it is at most 2.

    The least and most obvious adversary, who knows nothing, attains it.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "gaussian-column"

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """Optimal where this bound is exact and the best one."""
        return calibrated.standing(problem, self.name)

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds of some thirty readings of the bound."""
        return 2e-3 + 1e-8 * calibrated.blocks(problem) ** 2

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        return calibrated.not_gaussian(problem) or calibrated.out_of_reach(problem, self.name)

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level that the bound allows."""
        return calibrated.proposal(
            problem, calibrated.level_of(problem, self.name, budget), {"method": self.name}
        )

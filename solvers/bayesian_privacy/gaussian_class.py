"""Gaussian records of which only the size of a group and the largest correlation count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class GaussianClass(Solver[BayesianPrivacy]):
    """Noise by the factor of all groups of m records with correlations of at most rho.

    1 + (m - 1) rho where rho <= 1 / (m - 1), else 1 + rho / (1 - (m - 2) rho): never more than the published factor.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "gaussian-class"

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """Optimal where this bound is exact and the best one."""
        return calibrated.standing(problem, self.name)

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds of some thirty readings of the bound."""
        return 5e-3

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        return calibrated.not_gaussian(problem) or calibrated.out_of_reach(problem, self.name)

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level that the bound allows."""
        return calibrated.proposal(
            problem, calibrated.level_of(problem, self.name, budget), {"method": self.name}
        )

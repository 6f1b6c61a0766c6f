"""Gaussian records by the comparison matrix of their precision: exact for positive dependence, such as AR(1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class GaussianHMatrix(Solver[BayesianPrivacy]):
    """Noise by the inverse of the comparison matrix of the precision matrix, where that is an M-matrix.

    Exact where partial correlations are non-negative up to the signs of records: AR(1), equal correlations, trees.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "gaussian-h-matrix"

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """Optimal where this bound is exact and the best one."""
        return calibrated.standing(problem, self.name)

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds of some thirty readings of the bound."""
        return 2e-3 + 4e-10 * calibrated.blocks(problem) ** 3

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        return calibrated.not_gaussian(problem) or calibrated.out_of_reach(problem, self.name)

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level that the bound allows."""
        return calibrated.proposal(
            problem, calibrated.level_of(problem, self.name, budget), {"method": self.name}
        )

"""Gaussian records with every adversary enumerated: exact for blocks of up to sixteen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.bayesian.gaussian_enumeration import MOST_PROVED
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class GaussianBruteForce(Solver[BayesianPrivacy]):
    """Noise by the largest factor over all sets of known records and all targets of each independent block."""

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "gaussian-brute-force"

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """Optimal where this bound is exact and the best one."""
        return calibrated.standing(problem, self.name)

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds of some thirty readings of the bound."""
        return 2e-3 + 1e-6 * 3.0 ** min(calibrated.blocks(problem), 40)

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        refusal = calibrated.not_gaussian(problem)
        if refusal is None and calibrated.blocks(problem) > MOST_PROVED:
            return f"its proof takes blocks of up to {MOST_PROVED} records"
        return refusal or calibrated.out_of_reach(problem, self.name)

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level that the bound allows."""
        return calibrated.proposal(
            problem, calibrated.level_of(problem, self.name, budget), {"method": self.name}
        )

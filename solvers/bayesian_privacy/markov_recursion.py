"""Records of a Markov chain, side by side: a recursion over unknown records, exact for two states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class MarkovRecursion(Solver[BayesianPrivacy]):
    """Noise by the supremum over mechanisms of a level and adversaries, one side of the target at a time.

    Exact for chains of two states; an upper bound for more.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "markov-recursion"

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """Optimal where this bound is exact and the best one."""
        return calibrated.standing(problem, self.name)

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds of some thirty readings of the bound."""
        return 2e-3 * 4.0 ** min(getattr(problem.model, "k", 2), 12)

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        return calibrated.not_a_chain(problem) or calibrated.out_of_reach(problem, self.name)

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level that the bound allows."""
        return calibrated.proposal(
            problem, calibrated.level_of(problem, self.name, budget), {"method": self.name}
        )

"""Short chains, counted: the leakage of the noise itself, with every adversary enumerated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated

MOST_LEVEL = 2.0**60
"""A count that does not depend on any one record leaks nothing at any level; its error then counts as none."""


@register
@dataclass(frozen=True)
class ExactSmall(Solver[BayesianPrivacy]):
    """The least noise on the count of a short chain: what the noisy count leaks, not any mechanism of its level.

    The gain is large where neighbours differ: a chain that changes state with probability 0.8, six records, level 1: the
    count leaks 1 nat, some mechanism of that level 2.76.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "exact-small"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BayesianPrivacy) -> float:
        """Every adversary of every sequence, once."""
        return 0.02 + 1e-6 * 8.0 ** min(problem.length or 0, 8)

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what is not enumerated."""
        if not levels.enumerable(problem):
            return f"it enumerates counts of chains with at most {levels.ENUMERABLE} sequences, with Laplace noise"
        return None

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level at which the noisy count keeps epsilon."""

        def leakage(tau: float) -> float:
            return levels.reading(problem, tau).value

        tau = calibrated.largest_level(leakage, problem.epsilon, budget, MOST_LEVEL)
        return calibrated.proposal(problem, tau, {"method": self.name})

"""Counts of two positively dependent states: the tails of Laplace noise by transfer matrices, exact for any length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.models import MarkovChain
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class LaplaceTail(Solver[BayesianPrivacy]):
    """Noise by what the count leaks far out, which is all it leaks where a state makes itself more likely next.

    There it agrees with the recursion, from another side. Elsewhere the tails give only a lower bound.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "laplace-tail"

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """Optimal where the recursion is exact."""
        return calibrated.standing(problem, "markov-recursion")

    def cost(self, problem: BayesianPrivacy) -> float:
        """Two tails, some thirty times."""
        return 0.05

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse where the tails are not the whole leakage."""
        chain = problem.model
        if not isinstance(chain, MarkovChain):
            return calibrated.not_a_chain(problem)
        counts = problem.query == "count" or isinstance(problem.query, tuple)
        if chain.k != 2 or not counts or problem.mechanism == "randomised_response":
            return "it is for Laplace noise on the count of a chain of two states"
        if not chain.homogeneous or not chain.stationary or np.linalg.det(chain.transition) < 0:
            return "the tails are the whole leakage only where a state makes itself more likely, at all times alike"
        return None

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level whose tails keep epsilon."""
        from privopt.measures.bayesian.markov import laplace_tail

        chain = problem.model
        assert isinstance(chain, MarkovChain)

        def leakage(tau: float) -> float:
            return laplace_tail(chain, [0.0, 1.0], tau, problem.length)

        tau = calibrated.largest_level(leakage, problem.epsilon, budget)
        return calibrated.proposal(problem, tau, {"method": self.name})

"""The privacy funnel over a set of joints: smaller and smaller caps at the nominal one, until the whole set keeps the cap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privopt.core.dispatch import solve
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.bound import analytic_bound
from privopt.solvers.common.tightened import tightened
from privopt.solvers.trade_off.column_generation import ColumnGeneration

ANALYTIC = {"kind": "analytic"}


@register
@dataclass(frozen=True)
class TightenedCap(Solver[PrivacyFunnel]):
    """Over a set of joints: the optimum at the nominal one under a smaller cap, so that the whole set keeps the cap.

    What keeps the cap over the set keeps it at the nominal joint, so that the optimum there, proved by column generation, is a
    bound. The answer under a smaller cap is mixed with its own output distribution where its bound over the set is still above.
    Sets from samples are those of Grosse, Saeidian, Skoglund, Oechtering, "Privacy Mechanism Design based on Empirical
    Distributions" (2025).
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "tightened-cap"
    robust: ClassVar[bool] = True
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED

    def cost(self, problem: PrivacyFunnel) -> float:
        """The optimum at the nominal joint, and readings over the set; further caps take what is left."""
        return 0.2 + ColumnGeneration().cost(problem.at_nominal(problem.budget))

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse single joints."""
        return None if problem.robust else "it is for sets of distributions: give a JointAmbiguity"

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best answer met, and the bound at the nominal joint."""
        if problem.budget in (0, math.inf):
            mechanism = problem.everything() if problem.budget else problem.nothing()
            nominal = problem.at_nominal(problem.budget)
            return Proposal(mechanism, analytic_bound(nominal), dict(ANALYTIC), stats={"iterations": 0})
        return tightened(problem, lambda cap, until: _capped(problem, cap, until), budget)


def _capped(problem: PrivacyFunnel, cap: float, budget: Budget) -> Proposal:
    """The nominal problem under a cap; beyond what column generation takes, whatever answers it."""
    nominal = problem.at_nominal(cap)
    if ColumnGeneration().refuse(nominal) is None:
        return ColumnGeneration().run(nominal, Budget(budget.deadline, budget.seed, budget.progress))
    solution = solve(nominal, time_limit=min(budget.remaining, 1e6), certify=False, seed=budget.seed)
    mechanism = solution.mechanism if solution.status.ok else None
    return Proposal(nominal.check(mechanism) if mechanism else None, analytic_bound(nominal), dict(ANALYTIC))

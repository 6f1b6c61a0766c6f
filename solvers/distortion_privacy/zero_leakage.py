"""The best release that leaks nothing at all: it keeps every cap, however tiny."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.solvers.distortion_privacy.direct_lp import DirectLp


@register
@dataclass(frozen=True)
class ZeroLeakage(Solver[DistortionPrivacy]):
    """The best release that is independent of the secret, by a linear program: what a tiny cap on the leakage allows is little more.

    Caps of 1e-6 nats and less are lost among the roundings of other methods, which then release a constant.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "zero-leakage"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible, with no bound."""

    def cost(self, problem: DistortionPrivacy) -> float:
        """That of the linear program."""
        return DirectLp().cost(problem.with_budget(0.0))

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse bounds on the distortion, a cap of 0, and programs that are too large."""
        if problem.max_leakage is None:
            return "what leaks nothing need not be within a bound on the distortion"
        if problem.max_leakage == 0:
            return "where nothing may leak direct-lp is the same program, with a bound"
        return DirectLp().refuse(problem.with_budget(0.0))

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the optimum of a cap of 0."""
        alone = Budget(budget.deadline, budget.seed)
        found = DirectLp().run(problem.with_budget(0.0), alone)
        return replace(found, mechanism=found.mechanism or problem.anchor(), bound=None, dual=None)

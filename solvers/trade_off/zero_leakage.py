"""The most that can be said about X while nothing at all is said about S."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.bound import analytic_bound
from privopt.solvers.common.columns.channel import kept
from privopt.solvers.trade_off._independent import chord, independent_release, thinned


@register
@dataclass(frozen=True)
class ZeroLeakage(Solver[PrivacyFunnel]):
    """A release that is exactly independent of S, shown as often as the floor on utility asks.

    With theta0 the largest I(X;Y) at no leakage, every floor up to theta0 is met with leakage exactly 0: the best
    independent release is shown with a rational probability and withheld otherwise, which keeps the independence exact.
    Above theta0, and under a cap on the leakage, X itself is published with some probability, and which of the
    two it was; this keeps the bound but need not be optimal. Where |X| is well above |S|, theta0 is most of H(X).
    Source: the lectures on privacy-utility trade-offs (perfect privacy, null space of P(s | x)).
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "zero-leakage"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible; it comes with a bound where that closes the gap."""

    def cost(self, problem: PrivacyFunnel) -> float:
        """The exact search for independent releases, where there can be any."""
        n = len(problem.observation.support)
        return 0.02 + 1e-3 * n * n

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse what has no bound to keep, and mergings."""
        if problem.form != "stochastic":
            return 'it proposes channels, this problem asks for form "merging"'
        if problem.mode == "trade_off":
            return "it answers a floor on the utility or a cap on the leakage, this problem weighs the two"
        return None

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the independent release, thinned out or raised to the bound."""
        if (why := problem.check_infeasible({})) is not None:
            return Proposal(infeasible={"floor": problem.budget}, stats={"stop": why})
        free = independent_release(problem, budget.remaining)
        if problem.is_cap and problem.budget == 0:
            return free.proposal(problem)
        found = free.channel
        reach = 0.0 if found is None else problem.evaluate(found).utility
        stats: dict[str, float | int | str] = {"theta0": reach}
        release = problem.nothing() if found is None else found
        if problem.is_floor and problem.budget <= reach:
            release = thinned(problem, release, problem.budget)  # type: ignore[arg-type]  # a channel for this form
        elif problem.budget > (reach if problem.is_floor else 0.0):
            release = kept(problem, chord(problem, release, self._share(problem, reach)))  # type: ignore[arg-type]
        bound = analytic_bound(problem)
        if bound - problem.evaluate(release).objective <= 1e-9:
            return Proposal(release, bound, {"kind": "analytic"}, stats=stats)
        return Proposal(release, stats=stats)

    def _share(self, problem: PrivacyFunnel, reach: float) -> float:
        """How often X itself may or must be published."""
        if problem.is_floor:
            return float(np.clip((problem.budget - reach) / max(problem.most - reach, 1e-300), 0.0, 1.0))
        told = problem.evaluate(problem.everything()).leakage
        return 1.0 if told <= problem.budget else problem.budget / told

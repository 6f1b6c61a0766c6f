"""The closed form of one step: Hamming error for any belief, any metric where every letter is heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.mechanisms.policy.hamming_kernel import HammingKernel
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.solvers.sequence._level import (
    MOST,
    exact_pays,
    in_rationals,
    level,
    priced,
    unbound,
)
from privopt.solvers.sequence._metric import every_letter_is_heavy, is_metric, possible_costs
from privopt.solvers.sequence.hamming_prices import prices

MARGIN = 2.0**-36


@register
@dataclass(frozen=True)
class ClosedForm(Solver[BeliefRelease]):
    """One sort: letters of belief at least theta are released for themselves, the others share groups of mass theta.

    For another metric it takes beliefs of at least theta each, where conditional randomised response, as printed by
    Jiang, Li, Tandon ("Online Context-aware Data Release with Sequence Information Privacy", Theorem 4), is private
    and optimal: the prices L / (1 - L) sum_y P(y) D(x, y) change by no more than D between letters.
    """

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "closed-form"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BeliefRelease) -> float:
        """Writing the channel down is most of it."""
        return 1e-3 + 1e-7 * len(problem.letters) ** 2

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse what has no closed form."""
        if problem.distortion == "hamming":
            return None
        if problem.matrix.shape[0] != problem.matrix.shape[1] or not every_letter_is_heavy(problem):
            return "it knows the Hamming error, and metrics where every letter has belief 1 / (e^epsilon + 1) or more"
        if not is_metric(possible_costs(problem)):
            return "it knows the Hamming error and metrics, this distortion breaks a law of metrics"
        return None

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the channel with its prices."""
        known = unbound(problem, {"iterations": 0, "case": "all or nothing"})
        if known is not None:
            return known
        if problem.distortion != "hamming":
            return _metric(problem)
        lam = prices(HammingKernel(problem.p, problem.budget))
        if exact_pays(problem):  # groups of a little more than theta stay so when e^-epsilon is rounded up
            kernel = HammingKernel(problem.p, min(problem.budget, MOST) * (1 - MARGIN))
            stats: dict[str, float | int | str] = {"iterations": 0, "case": kernel.case}
            return priced(problem, in_rationals(problem, kernel.sent()), lam, stats)
        kernel = HammingKernel(problem.p, level(problem))
        return priced(problem, kernel.matrix(), lam, {"iterations": 0, "case": kernel.case})


def _metric(problem: BeliefRelease) -> Proposal:
    levels = Levels.of(level(problem))
    n, p = len(problem.letters), problem.p
    kernel = np.where((p > 0)[:, None], np.eye(n), p)
    matrix = levels.room * kernel + levels.low * p
    lam = levels.low / levels.room * (problem.matrix @ p)
    return priced(problem, matrix, lam, {"iterations": 0, "case": "conditional randomised response"})

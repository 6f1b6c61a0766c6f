"""The optimal channel by linear programming, a program for each component, with pairs added as they are broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.metric_privacy.bound import dual_of
from privopt.problems.metric_privacy.problem import MetricPrivacy
from privopt.solvers.metric_privacy._parts import Answer, parts
from privopt.solvers.metric_privacy._program import solve_part

MOST_CELLS = 200_000
"""Points times outputs above which the program is not tried."""


@register
@dataclass(frozen=True)
class DirectLp(Solver[MetricPrivacy]):
    """The linear program, one for each component, with pairs of points that are added as they are broken.

    Programs begin with few pairs. What is promised across others mostly follows; pairs that the answer breaks are added
    until none is broken. Large components are solved by an interior-point method that shares one sparse structure among the
    outputs, where numba is installed; small ones, and those of which next to nothing may be told, by HiGHS. The multipliers of
    the last round prove a bound.
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "direct-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL

    def cost(self, problem: MetricPrivacy) -> float:
        """The rows of pairs by outputs: the program of the largest component takes far longer than several of few rows."""
        points, outputs, pairs = problem.sizes
        share = float(np.bincount(problem.components).max()) / points
        rows = 2.0 * pairs * outputs
        return float(5e-3 + 4e-6 * rows + 10.0 * (share * rows / 2.6e5) ** 1.7)

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse programs that are too large."""
        cells = problem.losses.size
        if cells > MOST_CELLS:
            return f"its program has {cells} variables, at most {MOST_CELLS}; alternating-directions takes larger ones"
        return None

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose the channel of the program and the bound from its multipliers."""
        answer = Answer(np.tile(problem.constant().matrix[0], (len(problem.metric), 1)))
        done = 0
        for part in parts(problem):
            if not solve_part(part, answer, budget):
                answer.stop = "out of time"
            done += len(part.points)
            budget.report(fraction=done / len(problem.metric))
        dual = dual_of(*answer.multipliers())
        bound = problem.check_bound(-np.inf, dual)
        stats: dict[str, float | int | str] = {
            "iterations": answer.iterations,
            "rounds": answer.rounds,
            "stop": answer.stop,
        }
        return Proposal(problem.answer(answer.matrix), bound, dual, stats=stats)

"""A first-order method for thousands of points: alternating directions that share one sparse factorisation, with a proved bound."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.compiling import numba_installed
from privopt.mechanisms import Channel
from privopt.problems.metric_privacy.bound import dual_of
from privopt.problems.metric_privacy.problem import MetricPrivacy
from privopt.solvers.metric_privacy._parts import Answer, Part, alone, parts
from privopt.solvers.metric_privacy._program import solve_part
from privopt.solvers.metric_privacy._splitting import Splitting

MOST_ROWS = 30_000_000
"""Pairs by outputs above which the tables of the method take too much memory."""

SMALL = 20_000
"""Parts of at most so many rows are solved by linear programming."""

SHARE, LEAST = 0.8, 0.3
"""Parts of the time that the steps may take, at most and at least; the rest is for judging."""

AFTERWARDS, COMPILED = 2.5e-6, 0.7e-6
"""Seconds for each pair and output to repair what the last step left and to prove it; where numba is installed."""

LEAST_SHARE = 1 / 20
"""Part of the time left that each component may take, however small: most take next to none of it."""

MOST_STEPS = 100_000


@register
@dataclass(frozen=True)
class AlternatingDirections(Solver[MetricPrivacy]):
    """A first-order method for thousands of points, with a bound from its multipliers.

    Minimise cost . M with slack A M >= 0 and rows that sum to 1 by the alternating direction method of multipliers (Boyd
    et al., 2011). The normal matrix A'A is that of the pairs alone, so that one sparse factorisation serves all outputs
    and all penalties, and the rows sum to 1 after every step. The steps begin at the best answer that is known.

    Parameters
    ----------
    tolerance : float
        Gap, relative to the cost, at which a component is left.
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "alternating-directions"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED

    tolerance: float = 2e-3

    def cost(self, problem: MetricPrivacy) -> float:
        """A few thousand steps, each a few passes over pairs by outputs."""
        _, outputs, pairs = problem.sizes
        return float(0.02 + 3e-5 * pairs * outputs)

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse tables that are too large."""
        _, outputs, pairs = problem.sizes
        if 2 * pairs * outputs > MOST_ROWS:
            return (
                f"{2 * pairs * outputs:.2g} promised ratios are too many for its tables, at most {MOST_ROWS:.2g}; "
                "give a smaller radius, or fewer outputs"
            )
        return (
            "an infinite budget needs no steps; direct-lp takes it" if problem.epsilon == math.inf else None
        )

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose the channel of the last step, and the bound of the best multipliers."""
        end = time.monotonic() + _share(problem, budget.remaining) * budget.remaining
        answer = Answer(np.tile(problem.constant().matrix[0], (len(problem.metric), 1)))
        listed = list(parts(problem))
        left = float(sum(part.first.size for part in listed)) or 1.0
        for part in reversed(listed):  # small ones first: what they leave of their time is for the largest
            share = (end - time.monotonic()) * max(LEAST_SHARE, part.first.size / left)
            own = replace(budget, deadline=min(budget.deadline, time.monotonic() + max(0.0, share)))
            self._solve(part, answer, own)
            left -= part.first.size
            budget.report(fraction=1.0 - left / max(1.0, left + part.first.size))
        dual = dual_of(*answer.multipliers())
        bound = problem.check_bound(-math.inf, dual)
        stats: dict[str, float | int | str] = {"iterations": answer.iterations, "stop": answer.stop}
        return Proposal(problem.answer(answer.matrix), bound, dual, stats=stats)

    def _solve(self, part: Part, answer: Answer, budget: Budget) -> None:
        outputs = part.cost.shape[1]
        none = np.zeros(0, dtype=np.int64)
        if not len(part.first):
            answer.take(part, alone(part), none, none, np.zeros(0))
            return
        if len(part.first) * outputs <= SMALL and solve_part(part, answer, budget):
            return
        start = budget.incumbent.matrix[part.points] if isinstance(budget.incumbent, Channel) else None
        steps = Splitting(part, start)
        steps.run(budget, self.tolerance, MOST_STEPS)
        if steps.gap > self.tolerance:
            answer.stop = "out of time"
        answer.iterations += steps.steps
        used = steps.multipliers
        pairs, columns = np.nonzero(used > 0)
        answer.take(part, steps.matrix, pairs, columns, used[pairs, columns])


def _share(problem: MetricPrivacy, seconds: float) -> float:
    """The part of some seconds that the steps may take."""
    _, outputs, pairs = problem.sizes
    afterwards = (COMPILED if numba_installed() else AFTERWARDS) * pairs * outputs
    return min(SHARE, max(LEAST, 1.0 - afterwards / max(seconds, 1e-3)))

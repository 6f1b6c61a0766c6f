"""The slow and obvious optimum of small questions: a general non-linear solver from many starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.solvers.common.slsqp import minimise
from privopt.solvers.distortion_privacy._obvious import Obvious
from privopt.solvers.distortion_privacy._space import Space, at_once

MAX_CELLS = 20


@register
@dataclass(frozen=True)
class Oracle(Solver[DistortionPrivacy]):
    """SLSQP on all cells of the channel, from a constant, the best reproduction and random channels.

    The measures are written as they are defined; those with a largest ratio or probability get variables
    for it. No dual, no bound.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "oracle"
    interruptible: ClassVar[bool] = True

    starts: int = 6

    def guarantee(self, problem: DistortionPrivacy) -> Guarantee:
        """Slow and obvious."""
        return Guarantee.ORACLE

    def cost(self, problem: DistortionPrivacy) -> float:
        """Some runs of SLSQP."""
        return 0.1 * self.starts

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse beyond twenty cells, and exact independence."""
        if problem.max_leakage == 0:
            return "exact independence cannot be found in floats: direct-lp answers it exactly"
        cells = len(problem.observation.support) * problem.matrix.shape[1]
        if cells > MAX_CELLS:
            return f"it searches all cells at once: at most {MAX_CELLS} of them, not {cells}"
        return None

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the best of all starts, after the problem's own repair."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        view = Obvious(space)
        best, value, runs = problem.anchor(), -np.inf, 0
        for start in _starts(space, self.starts, np.random.default_rng(budget.seed)):
            found = minimise(view.cost, view.slack, view.variables(start), upper=view.largest)
            tried = _repaired(problem, space.release(view.channel(found)))
            objective = problem.evaluate(tried).objective
            best, value = (tried, objective) if objective > value else (best, value)
            runs += 1
            if budget.remaining <= 0:
                break
        return Proposal(best, stats={"iterations": runs, "stop": "all starts done"})


def _repaired(problem: DistortionPrivacy, release: Channel) -> Release:
    """Within the bound as the float reading sees it."""
    return problem.repair(release, 2.0**-44)


def _starts(space: Space, count: int, rng: np.random.Generator) -> list[Floats]:
    """Channels with all cells positive."""
    seen, outputs = space.excess.shape
    even = np.full((seen, outputs), 1 / outputs)
    best = np.eye(outputs)[space.excess.argmin(axis=1)]
    found = [0.5 * even + 0.5 * best, 0.1 * even + 0.9 * best]
    return (found + [rng.dirichlet(np.ones(outputs), seen) for _ in range(count)])[:count]

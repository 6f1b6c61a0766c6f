"""One of CVXPY's conic back ends on the convex programme of a question."""

from __future__ import annotations

import math
from typing import ClassVar

from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.solvers.distortion_privacy._bound import best_bound, better, tilted_posteriors
from privopt.solvers.distortion_privacy._exact_release import silent_release
from privopt.solvers.distortion_privacy._levels import least_level
from privopt.solvers.distortion_privacy._programmes import Backend, Programmes
from privopt.solvers.distortion_privacy._space import Space, at_once

LEAST_ORDER = {"clarabel": 0.1, "ecos": 0.3, "scs": 0.3}


class Conic(Solver[DistortionPrivacy]):
    """Relative entropies for mutual information, power cones for Sibson's, linear rows for the others.

    What the back end returns is proposed as it is: it may miss the budget by its tolerance. The bound is
    computed from its multipliers, or from its channel if that proves more.
    """

    solves: ClassVar = DistortionPrivacy
    backend: ClassVar[Backend]
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """Bounded: how near depends on the tolerance of the back end."""

    def cost(self, problem: DistortionPrivacy) -> float:
        """A process of its own with CVXPY, and cones for each pair of a secret and a release."""
        cells = max(len(problem.observation.p_s), len(problem.observation.p_w)) * int(problem.matrix.shape[1])
        return 1.5 + 4e-4 * cells * (20 if problem.order is None and problem.max_leakage is None else 1)

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse exact independence, and orders whose means the back end does not get right."""
        if problem.max_leakage == 0:
            return "exact independence is a linear question: direct-lp answers it exactly"
        if problem.order is not None and problem.order < LEAST_ORDER[self.backend]:
            return (
                f"its answers are poor below order {LEAST_ORDER[self.backend]:g}; conic-clarabel goes further"
            )
        return None

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the programme's channel, and the bound from its multipliers."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        programmes = Programmes(space, self.backend)
        if problem.order is None:
            return self._ratios(programmes, budget)
        if (silent := silent_release(space, budget)) is not None:
            return silent
        matrix, laws = programmes.information()
        bound, dual = better(best_bound(space, laws), best_bound(space, tilted_posteriors(space, matrix)))
        return Proposal(space.release(matrix), bound, dual, stats=_stats(programmes))

    def _ratios(self, programmes: Programmes, budget: Budget) -> Proposal:
        space, problem = programmes.space, programmes.space.problem
        if problem.max_leakage is None:
            found = least_level(space, programmes.distortion, budget)
            stats = {**_stats(programmes), "stop": found.stats["stop"]}
            return Proposal(found.mechanism, found.bound, found.dual, stats=stats)
        answer = programmes.distortion(problem.ratios(problem.budget))
        dual = {"kind": "linear", "multipliers": answer.multipliers.tolist()}
        bound = problem.check_bound(-math.inf, dual)
        return Proposal(space.release(answer.matrix), bound, dual, stats=_stats(programmes))


def _stats(programmes: Programmes) -> dict[str, float | int | str]:
    return {
        "iterations": programmes.iterations,
        "programmes": programmes.programmes,
        "stop": programmes.status,
    }

"""Linear programming by HiGHS where the leakage is linear: maximal leakage, bounds on ratios, no leakage at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.solvers.distortion_privacy._bound import best_bound, better, tilted_posteriors
from privopt.solvers.distortion_privacy._linear import (
    OutOfTime,
    independent_release,
    least_distortion,
    least_guess,
    least_level,
    silent_release,
)
from privopt.solvers.distortion_privacy._space import Space, at_once


@register
@dataclass(frozen=True)
class DirectLp(Solver[DistortionPrivacy]):
    """One linear program, or for the least level of ratios a search with one a level; proofs are its multipliers.

    Where nothing may leak, whatever the measure, the optimal vertex is solved again in rational numbers.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "direct-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal, to the tolerance of the program."""

    def cost(self, problem: DistortionPrivacy) -> float:
        """A program with a row for each ratio and release; about fifteen for a least level."""
        observed = problem.observation
        secrets, outputs = len(observed.p_s), int(problem.matrix.shape[1])
        pairs = secrets * (secrets - 1) if problem.leakage == "ldp" else 2 * secrets
        rows = pairs * outputs + len(observed.p_w)
        once = 5e-3 + 2e-9 * (rows * len(observed.p_w) * outputs) ** 1.2
        return float(once * (15 if problem.max_leakage is None and problem.order is None else 1))

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse measures that are not linear."""
        if problem.order in (None, math.inf) or problem.max_leakage == 0:
            return None
        return f"{problem.leakage!r} is not linear in the channel; conic-clarabel takes it"

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the program's channel and the bound from its multipliers."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        try:
            if problem.order is not None and problem.max_leakage != 0:
                return silent_release(space, budget) or _guess(space, budget)
            if problem.max_leakage is None:
                return least_level(space, lambda ratios: least_distortion(space, ratios, budget), budget)
            return _ratios(space, budget)
        except OutOfTime as cause:
            stats: dict[str, float | int | str] = {"iterations": 0, "stop": f"out of time: {cause}"}
            return Proposal(problem.anchor(), stats=stats)


def _ratios(space: Space, budget: Budget) -> Proposal:
    """The least distortion within a bound on ratios; exact where the bound is 0."""
    problem = space.problem
    best = least_distortion(space, problem.ratios(problem.budget), budget)
    exact = independent_release(space, best.matrix) if problem.budget == 0 else None
    release = space.release(best.matrix) if exact is None else exact
    dual = {"kind": "linear", "multipliers": best.multipliers.tolist()}
    bound = problem.check_bound(-math.inf, dual)
    return Proposal(release, bound, dual, stats={"iterations": best.iterations, "stop": "solved"})


def _guess(space: Space, budget: Budget) -> Proposal:
    """Maximal leakage, either way."""
    limit = None if space.problem.max_leakage is None else math.exp(min(700.0, space.problem.budget))
    best = least_guess(space, limit, budget)
    posteriors = best.multipliers + 1e-300 * space.prior
    bound, dual = better(
        best_bound(space, posteriors), best_bound(space, tilted_posteriors(space, best.matrix))
    )
    stats: dict[str, float | int | str] = {"iterations": best.iterations, "stop": "solved"}
    return Proposal(space.release(best.matrix), bound, dual, stats=stats)

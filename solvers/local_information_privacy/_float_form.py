"""From posteriors in floats to a proposal."""

from __future__ import annotations

from privopt.arrays import Floats
from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Channel
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy._answer import channel_from_posteriors, exact_law
from privopt.solvers.local_information_privacy._exact_form import exact_mixture
from privopt.solvers.local_information_privacy._exact_polytope import exact_polytope
from privopt.solvers.local_information_privacy._rational import Point
from privopt.solvers.local_information_privacy._vertex_form import Best, best_mixture, proof
from privopt.solvers.local_information_privacy._whole import ANALYTIC, width

THIN = 1e-4
"""Widths of lifts below which the posteriors in use are solved again exactly."""


def float_proposal(
    problem: LocalInformationPrivacy, posteriors: Floats, budget: Budget, *, complete: bool, stop: str
) -> Proposal:
    """The best mixture of posteriors, with a proof of its bound if they are all the vertices.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    posteriors : array (m, k)
        On the k observations of positive probability.
    budget : Budget
    complete : bool
        Whether all vertices are among them.
    stop : str
        Why the search for them stopped.
    """
    stats: dict[str, float | int | str] = {"iterations": 1, "vertices": len(posteriors), "stop": stop}
    try:
        best = best_mixture(problem, posteriors, budget.remaining)
    except ArithmeticError as cause:
        late = {**stats, "stop": str(cause)}
        return Proposal(problem.safe(), analytic_bound(problem), ANALYTIC, stats=late)
    channel = _snapped(problem, best) if width(problem) < THIN else None
    stats |= {"exact": "no" if channel is None else "yes", "least_reduced_cost": best.least}
    if channel is None:
        channel = channel_from_posteriors(problem, best.solved.weights, best.posteriors)
    bound, dual = proof(problem, best.solved.prices, best.least, budget, complete=complete)
    return Proposal(channel, bound, dual, stats=stats)


def _snapped(problem: LocalInformationPrivacy, best: Best) -> Channel | None:
    """The mixture in Fractions: on a thin slab the rounding of floats takes a share of the width, and of the utility."""
    law, polytope = exact_law(problem), exact_polytope(problem)

    def point(i: int) -> Point | None:
        return law if i == len(best.posteriors) - 1 else polytope.snapped(best.posteriors[i])

    return exact_mixture(problem, best, point, law)

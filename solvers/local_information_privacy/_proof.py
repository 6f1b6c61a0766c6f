"""A proof of how useful a release can be, from prices of the observations."""

from __future__ import annotations

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.bound import priced_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.tree import pricing_of
from privopt.solvers.local_information_privacy._pricing import Search
from privopt.solvers.local_information_privacy._pricing_lp import BoxLP

TOLERANCE = 1e-7
"""How far the proof may stay above the best bound that the prices allow, as a share of the utility, or of 1 nat if less."""

FINEST = 1e-11
"""No proof in floats is driven further, in nats."""


def prove(
    problem: LocalInformationPrivacy, prices: Floats, budget: Budget
) -> tuple[float, dict[str, object]] | None:
    """An upper bound on the mutual information, with the dual that ``problem.check_bound`` accepts.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    prices : array (n,)
        One for each observation of positive probability, in nats; best are the duals of the rows
        sum_y weight_y v_y = P(w) in the linear programme over posteriors.
    budget : Budget
        Any time gives a bound; more time a better one, until it is within 1e-7 of the best.

    Returns
    -------
    tuple of (bound, dual), or None where no such proof exists: another utility, or delta > 0.
    """
    if problem.matrix is not None or problem.cost is not None or problem.delta > 0:
        return None
    utility = min(1.0, priced_bound(problem, prices, 0.0))
    search = Search(BoxLP(pricing_of(problem)), prices, max(FINEST, TOLERANCE * utility))
    search.run(budget)
    return written(problem, search)


def written(problem: LocalInformationPrivacy, search: Search) -> tuple[float, dict[str, object]]:
    """The bound and the dual of a search, finished or not."""
    bound = priced_bound(problem, search.prices, search.bound)
    dual = {"kind": "pricing", "pi": search.prices.tolist(), "tree": search.root.preorder()}
    return bound, dual

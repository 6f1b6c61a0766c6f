"""From a list of posteriors to a proposal: the master programme, the channel, and a proof of the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.bound import analytic_bound, priced_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.rows import posterior_rows
from privopt.problems.local_information_privacy.systems import system
from privopt.problems.local_information_privacy.vertices import costs
from privopt.solvers.local_information_privacy._linear import problem_matrix
from privopt.solvers.local_information_privacy._master import Master, master
from privopt.solvers.local_information_privacy._proof import prove
from privopt.solvers.local_information_privacy._whole import ANALYTIC


def enumeration_seconds(problem: LocalInformationPrivacy) -> float:
    """Predicted seconds to solve all small systems of a question, measured with most of them regular; rather too many."""
    given = system(problem)
    n = given.rows.shape[1]
    return sum(
        math.comb(n, k) * given.count(k - 1) * (3e-7 + 4e-9 * k**3)
        for k in range(1, min(n, given.largest) + 1)
    )


@dataclass(frozen=True, eq=False)
class Best:
    """The best mixture of some posteriors, and the least reduced cost among them."""

    posteriors: Floats
    solved: Master
    least: float


def best_mixture(problem: LocalInformationPrivacy, posteriors: Floats, seconds: float = math.inf) -> Best:
    """Solve the master programme over these posteriors and the one that says nothing.

    Parameters
    ----------
    posteriors : array (m, k)
        On the k observations of positive probability.

    Raises
    ------
    ArithmeticError
        If time ran out.
    """
    p = problem.observation.p_w[problem.observation.support]
    columns = np.vstack([posteriors, p])
    price = costs(problem, columns)
    solved = master(columns, price, p, seconds)
    return Best(columns, solved, float((price - columns @ solved.prices).min()))


def proof(
    problem: LocalInformationPrivacy, prices: Floats, least: float, budget: Budget, *, complete: bool
) -> tuple[float, object]:
    """The best bound that these prices give and a checker has time for: by linear multipliers, vertices, or boxes."""
    fallback: tuple[float, object] = (analytic_bound(problem), ANALYTIC)
    if problem.delta > 0 or not complete:
        return fallback
    if problem.matrix is not None:
        return _linear(problem, prices)
    if enumeration_seconds(problem) <= min(0.6 * budget.remaining, 60.0):
        found: tuple[float, object] | None = (
            priced_bound(problem, prices, min(least, 0.0)),
            {"kind": "vertices", "pi": prices.tolist()},
        )
    else:
        found = prove(problem, prices, budget) if problem.cost is None else None
    return fallback if found is None or found[0] >= fallback[0] else found


def _linear(problem: LocalInformationPrivacy, prices: Floats) -> tuple[float, object]:
    """Multipliers that show, column by column, that no posterior costs less than its price."""
    from scipy.optimize import linprog

    observed, rows = problem.observation, posterior_rows(problem)
    support = observed.support
    seen = (observed.x_given_w.T @ problem_matrix(problem))[support]
    multipliers = []
    for column in seen.T:
        found = linprog(
            column - prices,
            A_ub=rows[:, support],
            b_ub=np.zeros(len(rows)),
            A_eq=np.ones((1, len(support))),
            b_eq=[1.0],
            method="highs",
        )
        multipliers.append(np.maximum(-found.ineqlin.marginals, 0.0).tolist())
    return linear_bound(problem, np.array(multipliers)), {"kind": "linear", "multipliers": multipliers}


def linear_bound(problem: LocalInformationPrivacy, multipliers: Floats) -> float:
    """The bound that multipliers of the posterior rows, one row of them a release, claim by weak duality."""
    observed = problem.observation
    priced = observed.x_given_w.T @ problem_matrix(problem) + (multipliers @ posterior_rows(problem)).T
    return -math.fsum((observed.p_w * priced.min(axis=1)).tolist())

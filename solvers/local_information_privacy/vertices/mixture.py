"""From a list of posteriors to their best mixture, and a proof of its bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import Rows, minimise
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.bound import analytic_bound, priced_bound
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import ANALYTIC
from privopt.solvers.local_information_privacy.columns.master import Master, master
from privopt.solvers.local_information_privacy.columns.pricing import prove
from privopt.solvers.local_information_privacy.direct_lp import linear_bound, problem_matrix
from privopt.solvers.local_information_privacy.vertices.systems import costs, enumeration_seconds

TOGETHER = 2000
"""Entries of the constraints that one program for several columns may have: small ones cost more to call than to solve."""

SEARCHED = 0.3
"""Predicted seconds of solving all systems from which on a search over boxes proves a bound sooner than solving them all again."""

CHECKED = 0.9
"""Share of the time that solving all systems again to check a bound is predicted to take at most; it takes two thirds of that or less."""


@dataclass(frozen=True, eq=False)
class Best:
    """The best mixture of some posteriors, and the least reduced cost among them."""

    posteriors: Floats
    solved: Master
    least: float


def best_mixture(problem: LocalInformationPrivacy, posteriors: Floats, seconds: float = math.inf) -> Best:
    """Solve the master program over these posteriors and the one that says nothing.

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
        try:
            return _linear(problem, prices)
        except ArithmeticError:
            return fallback
    priced: tuple[float, object] | None = None
    enumerated = enumeration_seconds(problem)
    if enumerated > SEARCHED and problem.cost is None:
        priced = prove(problem, prices, budget)
    elif enumerated <= min(CHECKED * budget.remaining, 60.0):
        tried = {"kind": "vertices", "pi": prices.tolist()}
        priced = priced_bound(problem, prices, min(least, 0.0)), tried
    return fallback if priced is None or priced[0] >= fallback[0] else priced


def _linear(problem: LocalInformationPrivacy, prices: Floats) -> tuple[float, object]:
    """Multipliers that show, column by column, that no posterior costs less than its price."""
    observed, rows = problem.observation, posterior_rows(problem)
    support = observed.support
    seen = (observed.x_given_w.T @ problem_matrix(problem))[support]
    together = max(1, TOGETHER // max(1, rows.size))
    pieces = [
        _cheapest(seen[:, i : i + together].T - prices, rows[:, support])
        for i in range(0, seen.shape[1], together)
    ]
    multipliers = np.concatenate(pieces)
    return linear_bound(problem, multipliers), {"kind": "linear", "multipliers": multipliers.tolist()}


def _cheapest(losses: Floats, rows: Floats) -> Floats:
    """Multipliers (columns, rows) of the cheapest posterior of each column of losses, in one program."""
    count, n = losses.shape
    solved = minimise(
        losses.ravel(),
        Rows.dense(np.asarray(np.kron(np.eye(count), rows), dtype=np.float64), 0.0),
        Rows.dense(np.repeat(np.eye(count), n, axis=1), 1.0),
    )
    if solved is None:
        raise ArithmeticError("the program of the multipliers ended without an optimum")
    return solved.multipliers.reshape(count, len(rows))

"""Prices of releases whose preceding state is revealed: in closed form for Hamming distortion, else by programmes.

The programme is that of :mod:`privopt.problems.sequence_information_privacy.revealed`: the least cost of L T + (1 - L) K, K <= T / theta, over
kernels K and laws T, for the law of what is read given each state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.problems.sequence_information_privacy.bound import sequence_bound
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.revealed import MAX_CELLS, MIN_THETA
from privopt.problems.sequence_information_privacy.steps import Step, steps

MAX_PRICES = 40_000
"""States times words, for a dual that is written as text."""
MAX_PROGRAMME = 4096
"""Words times releases of a programme."""
SHARE = 0.5
"""Of the time that is left, what stays for the bound."""


def revealed_prices(problem: SequenceInformationPrivacy, budget: Budget) -> Floats | None:
    """A row of prices for each state before a release; None where there is none, or time or memory is short.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> coin = MarkovChain([[0.5, 0.5], [0.2, 0.8]])
    >>> revealed_prices(SequenceInformationPrivacy(coin, 1.0), Budget()).round(4).tolist()
    [[0.0, 0.0], [0.0594, 0.0]]
    """
    found = (step for step in steps(problem) if step.before is not None)
    step = next(found, None)
    if step is None:
        return None
    k, (n, m) = problem.chain.k, step.release.setting.cost.shape
    if k * n > MAX_PRICES or k * n * m > MAX_CELLS:
        return None
    cost, levels = step.release.setting.cost, Levels.of(step.release.setting.epsilon)
    if levels.theta < MIN_THETA:
        return np.zeros((k, n))
    if n == m and np.array_equal(cost, 1.0 - np.eye(n)):
        return hamming_prices(step.revealed, levels)
    return _by_programmes(step, levels, budget) if n * m <= MAX_PROGRAMME else None


def proved(
    problem: SequenceInformationPrivacy, lam: list[Floats], budget: Budget
) -> tuple[float | None, dict[str, Any] | None]:
    """The bound that prices for each release prove, helped by those with the state before revealed, and its dual."""
    revealed = revealed_prices(problem, budget)
    bound = sequence_bound(problem, lam, revealed, budget.remaining + 1.0)
    if bound is None:
        return None, None
    dual: dict[str, Any] = {"kind": "sequence", "lam": [row.tolist() for row in lam]}
    return bound, dual if revealed is None else {**dual, "revealed": revealed.tolist()}


def hamming_prices(rows: Floats, levels: Levels) -> Floats:
    """Prices nu(x) = min(theta (L (1 - r(x)) - mu), (1 - L) r(x)), mu as large as pays, shape (k, n).

    With them each release costs at least mu, and the sum of nu(x) + mu rises in mu while at most 1 / theta letters are
    below their limit. So mu is where the next one gets there, at most the L (1 - max r) at which a price is 0.
    """
    low, room, theta = levels.low, levels.room, levels.theta
    sure = low * (1.0 - rows)
    order = np.sort(sure - room * rows / theta, axis=1)
    count = int(1.0 / theta)
    top = sure.min(axis=1)
    mu = np.minimum(top, order[:, count]) if count < rows.shape[1] else top
    found: Floats = np.minimum(theta * (sure - mu[:, None]), room * rows)
    return found


def _by_programmes(step: Step, levels: Levels, budget: Budget) -> Floats | None:
    rows, cost = step.revealed, step.release.setting.cost
    found, until = np.zeros(rows.shape), SHARE * budget.remaining if budget.remaining < np.inf else 0.0
    for i, row in enumerate(rows):
        seen = row > 0
        if budget.remaining < until:
            return None
        prices = _programme(row[seen], cost[seen], levels)
        if prices is None:
            return None
        found[i, seen] = prices
    return found


def _programme(row: Floats, cost: Floats, levels: Levels) -> Floats | None:
    """The prices of one law, all positive: variables T, then K row by row."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    (n, m), cells = cost.shape, np.arange(cost.size)
    ones = np.ones(cost.size)
    tops: Any = csr_array(
        (np.r_[-ones / levels.theta, ones], (np.r_[cells, cells], np.r_[cells % m, m + cells])),
        shape=(n * m, m + n * m),
    )
    sums: Any = csr_array(
        (np.r_[ones, np.ones(m)], (np.r_[cells // m, np.full(m, n)], np.r_[m + cells, np.arange(m)])),
        shape=(n + 1, m + n * m),
    )
    price = np.r_[levels.low * (row @ cost), (levels.room * row[:, None] * cost).ravel()]
    found = linprog(price, A_ub=tops, b_ub=0.0 * ones, A_eq=sums, b_eq=np.ones(n + 1), method="highs")
    return np.asarray(found.eqlin.marginals[:n]) if found.status == 0 else None

"""The exact optimum from few releases: solve for some, price the others, and take in those that would help.

Most optimal kernels use a fraction of the releases. The prices of a programme with some of them prove its value for
all as soon as none of the others is cheaper.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.solvers.common.words.answer import WordAnswer, finish, release_everything
from privopt.solvers.common.words.pricing import Table
from privopt.solvers.common.words.programme import Solved, solve_programme

FAINT = 1e-12
"""Inputs of less probability are left out of the programme and then go wherever is cheapest for them."""

NEGLIGIBLE = 1e-11
"""A release this rare, relative to theta, is rounding rather than part of the answer."""

MOST = 20.0
"""Larger budgets are solved at this level: 1 / theta is a coefficient of the programme."""

SLACK = 1e-9


def order_of_releases(p: Floats, cost: Floats) -> Ints:
    """Releases by how much of the mass they serve best, most first; ties by mean distortion.

    Examples
    --------
    >>> order_of_releases(np.array([0.2, 0.5, 0.3]), 1 - np.eye(3)).tolist()
    [1, 2, 0]
    """
    served = np.bincount(cost.argmin(axis=1), weights=p, minlength=cost.shape[1])
    return np.lexsort((p @ cost, -served))


def first_releases(p: Floats, cost: Floats, levels: Levels) -> Ints:
    """The releases to begin with: a few groups' worth, at least 32, at most a fifth of the inputs beyond 64."""
    start = int(min(max(32.0, 4.0 / levels.theta), max(64.0, min(cost.shape) / 5)))
    return order_of_releases(p, cost)[:start]


def solve_restricted(p: Floats, cost: Floats, levels: Levels, seconds: float) -> Solved | None:
    """The optimum over all releases; the best over some where time is short; None where there is none yet.

    Parameters
    ----------
    p : array (k,)
        Positive probabilities.
    cost : array (k, m)
        Distortions of the size of 1.
    """
    until = time.perf_counter() + seconds
    m, chosen = cost.shape[1], first_releases(p, cost, levels)
    table, best, steps = Table.of(p, cost, levels), None, 0
    while True:
        found = solve_programme(p, cost[:, chosen], levels, until - time.perf_counter())
        if found is None:
            return best
        steps += found.iterations
        best = _widen(found, chosen, m, steps)
        costs = table.costs(levels.room * found.prices)
        limit = costs[chosen].min() - SLACK * levels.theta
        others = np.setdiff1d(np.flatnonzero(costs < limit), chosen)
        if not len(others):
            return best
        add = others[np.argsort(costs[others], kind="stable")][: max(16, len(chosen) // 2)]
        chosen = np.concatenate([chosen, add])


def _widen(found: Solved, chosen: Ints, m: int, steps: int) -> Solved:
    kernel, law = np.zeros((len(found.kernel), m)), np.zeros(m)
    kernel[:, chosen], law[chosen] = found.kernel, found.law
    return replace(found, kernel=kernel, law=law, iterations=steps)


Programme = Callable[[Floats, Floats, Levels, float], Solved | None]


def solve_words(
    p: Floats, cost: Floats, epsilon: float, seconds: float, programme: Programme = solve_restricted
) -> WordAnswer | None:
    """The optimal kernel with its proof, for any law and cost; None if there is none in time.

    Parameters
    ----------
    p : array (n,)
        Sums to 1; zeros allowed.
    cost : array (n, m)
    epsilon : float
        Budget of the release in nats, >= 0, perhaps inf.
    seconds : float
    programme : function
        ``solve_restricted``, or ``solve_programme`` for all releases at once.

    Examples
    --------
    >>> found = solve_words(np.array([0.45, 0.35, 0.2]), 1 - np.eye(3), 0.4, 10.0)
    >>> round(found.value, 12), found.gap < 1e-9
    (0.461512786727, True)
    """
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    levels = Levels.of(min(epsilon, MOST))
    unit = float(np.abs(cost).max()) or 1.0
    heavy = np.flatnonzero(p >= FAINT)
    solved = programme(p[heavy], cost[heavy] / unit, levels, seconds)
    if solved is None:
        return None
    kernel, tops = without_rounding(solved, levels)
    step, lam = np.zeros(cost.shape), np.zeros(len(p))
    step[heavy], lam[heavy] = kernel, solved.prices
    for x in np.flatnonzero((p < FAINT) & (p > 0)):
        step[x], lam[x] = cheapest_row(cost[x] / unit, tops)
    return finish(p, cost, epsilon, step, unit * lam, solved.iterations, solved.message)


def without_rounding(solved: Solved, levels: Levels) -> tuple[Floats, Floats]:
    """K within the limits Q / theta of its columns, and these limits: 0 for releases that only rounding uses."""
    used = solved.law > NEGLIGIBLE * levels.theta
    tops = np.where(used, solved.law / levels.theta, 0.0)
    return np.minimum(solved.kernel, tops), tops


def cheapest_row(cost: Floats, tops: Floats) -> tuple[Floats, float]:
    """The cheapest row of K with at most ``tops`` in each column, and the price of its last part.

    Examples
    --------
    >>> row, price = cheapest_row(np.array([0.0, 0.5, 1.0]), np.array([0.6, 0.6, 0.6]))
    >>> row.tolist(), price
    ([0.6, 0.4, 0.0], 0.5)
    """
    order = np.argsort(cost, kind="stable")
    filled = np.minimum(np.cumsum(tops[order]), 1.0)
    row = np.zeros(len(cost))
    row[order] = np.diff(filled, prepend=0.0)
    return row, float(cost[row > 0].max(initial=0.0))

"""Bounds from distributions of S: the best price for some of them, and those that a channel suggests."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.problems.distortion_privacy.bound import posterior_bound, scores, transformed
from privopt.solvers.distortion_privacy._space import Space

HALVINGS = 70
LARGEST_PRICE = 1e18
FAINT = 1e-6
FAINTEST = 1e-13


def tilted_posteriors(space: Space, matrix: Floats) -> Floats:
    """r[y, s] proportional to P(s) P(y|s)^order, which proves a tight bound when the channel is optimal.

    Parameters
    ----------
    matrix : array (n_w, n_y)
        A release that nobody leaves gets the distribution of S.
    """
    order = space.problem.order or 1.0
    conditional = (space.table @ matrix) / space.prior[:, None]
    top = conditional.max(axis=0)
    relative = np.where(top > 0, conditional / np.where(top > 0, top, 1.0), 1.0)
    if math.isinf(order):
        raised = (relative >= 1.0 - 1e-9).astype(np.float64)
    else:
        raised = np.exp(order * np.log(np.maximum(relative, FAINTEST)))
    posteriors = (space.prior[:, None] * raised).T
    return np.asarray(posteriors / posteriors.sum(axis=1, keepdims=True))


def completed_posteriors(space: Space, matrix: Floats, price: float) -> Floats:
    """The same, but a release that is hardly left gets whichever posterior in use keeps it dearest at this price.

    The posterior of a release that dies out drifts to its last observation, and proves little.

    Parameters
    ----------
    price : float
        Of distortion in the unit of ``space.excess``.
    """
    posteriors, mass = tilted_posteriors(space, matrix), space.weights @ matrix
    faint = np.flatnonzero(mass < FAINT)
    if not len(faint):
        return posteriors
    known = np.vstack([posteriors[mass >= FAINT], space.prior[None, :]])
    order = space.problem.order or 1.0
    used = space.table.T @ scores(posteriors[mass >= FAINT], space.prior, order).T
    cheapest = (used + price * space.excess[:, mass >= FAINT]).min(axis=1)
    for y in faint:
        tried = np.vstack([posteriors[y], known])
        sums = space.table.T @ scores(tried, space.prior, order).T
        slack = sums + (price * space.excess[:, y] - cheapest)[:, None]
        posteriors[y] = tried[int(slack.min(axis=0).argmax())]
    return posteriors


def best_bound(space: Space, posteriors: Floats) -> tuple[float | None, dict[str, object]]:
    """The best bound that these distributions of S prove, over all prices, and its dual.

    The bound is concave in the price, so the price is where its slope changes sign.
    """
    problem = space.problem
    order = problem.order or 1.0
    value = (
        problem.observation.leaking.table[problem.observation.p_s > 0].T
        @ scores(posteriors, space.prior, order).T
    )
    excess = problem.costs.excess
    bounded = problem.max_leakage is None
    base, priced = (value, excess) if bounded else (excess, value)
    limit = space.room / problem.magnitude if bounded else transformed(problem.budget, order)
    rows = np.arange(len(value))

    def slope(price: float) -> float:
        return float(priced[rows, (base + price * priced).argmin(axis=1)].sum()) - limit

    low, high = 0.0, 1.0
    while slope(high) > 0 and high < LARGEST_PRICE:
        low, high = high, 4 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    # Without room a higher price proves as much, and is away from where large sums cancel.
    prices = (4 * high,) if bounded and limit == 0 else (low, high)
    bounds = [(posterior_bound(problem, value, price), price) for price in prices]
    proved = [(bound, price) for bound, price in bounds if bound is not None]
    if not proved:
        return None, {}
    bound, price = min(proved)
    return bound, {"kind": "posteriors", "laws": posteriors.tolist(), "multiplier": price}


def better(*bounds: tuple[float | None, dict[str, object]]) -> tuple[float | None, dict[str, object]]:
    """The smallest bound with its dual."""
    proved = [(bound, i) for i, (bound, _) in enumerate(bounds) if bound is not None]
    return bounds[min(proved)[1]] if proved else (None, {})


def better_bound(space: Space, posteriors: Floats, matrix: Floats) -> tuple[float | None, dict[str, object]]:
    """The better of what a back end's multipliers and its channel, shape (n_w, n_y), prove."""
    return better(best_bound(space, posteriors), best_bound(space, tilted_posteriors(space, matrix)))

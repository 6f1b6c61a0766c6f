"""Convex relaxations of the pricing problem where D is the identity, in as many variables as C v has entries.

At slopes y of lines below the concave part the best posterior of all is known, v proportional to
exp((prices - C^T y) / d), and with it the bound. So the slopes alone are sought, for many boxes at a time, by a primal-dual
interior-point method for the dual of the relaxation: slopes are those of the secants, plus multipliers of C v <= high, less
multipliers of C v >= low. A step takes O(n k^2) for n symbols.
"""

from __future__ import annotations

import math
import time

import numpy as np

from privopt.arrays import Floats
from privopt.problems.entropy_boxes import knapsack_prices, secant_slopes
from privopt.problems.trade_off.tree import Cost

STEPS = 14
"""Newton steps; each divides the complementarity by up to ten."""

FINER = 6
"""Steps more where small tolerances are sought."""

NEAR = 0.995
"""Share of the way to the boundary that a step may go."""

CENTRE, FINE_CENTRE = 1e-11, 1e-15
"""The least product of slack and multiplier aimed at."""

PADDING, FINE_PADDING = 1e-9, 1e-13
"""Boxes are widened by this; the bounds are those of the boxes as they are."""

TINY = 1e-280
STEEPEST = 1e8
"""Slopes are at most this steep: those of empty boxes run away."""


def relax_slopes(
    cost: Cost,
    prices: Floats,
    low: Floats,
    high: Floats,
    *,
    fine: bool = False,
    deadline: float = math.inf,
    near: float = 0.0,
) -> tuple[Floats, Floats]:
    """Points (b, n) and slopes (b, k) of the convex relaxations over boxes (b, k); fewer steps when the deadline passes.

    Parameters
    ----------
    cost : Cost
        With ``cost.sloped``.
    prices : array (n,)
    low, high : array (b, k)
    fine : bool
        Whether bounds are to be right to 1e-12 rather than to 1e-9.
    deadline : float
        On the clock of ``time.monotonic()``.
    near : float
        Steps end once no relaxation is further than this from its optimum.
    """
    seen, d = _seen(cost), cost.convex
    k = low.shape[1]
    products = (seen[:, None, :] * seen[None, :, :]).reshape(k * k, -1).T
    secants = cost.concave * secant_slopes(low, high)
    centre, padding = (FINE_CENTRE, FINE_PADDING) if fine else (CENTRE, PADDING)
    sides = np.stack([high + padding, padding - low])
    dual = np.full((2, *low.shape), 0.1)
    v = _posteriors(prices, seen, secants, d)
    room = _room(v @ seen.T, sides)
    slack = np.where(room > 0, room, 0.1)
    sigma = np.full((len(low), 1), 0.2)
    with np.errstate(all="ignore"):  # multipliers of an empty box run away
        for _ in range(STEPS + FINER * fine):
            gaps = (dual * slack).sum(axis=(0, 2))
            if time.monotonic() > deadline or float(gaps.max()) <= near:
                break
            q = v @ seen.T
            curvature = ((v @ products).reshape(-1, k, k) - q[:, :, None] * q[:, None, :]) / d
            target = np.maximum(sigma * (dual * slack).mean(axis=(0, 2))[:, None], centre)
            d_slack, d_dual = _direction(curvature, _room(q, sides) - slack, dual, slack, target)
            step = np.minimum(1.0, NEAR * np.minimum(_reach(slack, d_slack), _reach(dual, d_dual)))[:, None]
            slack, dual = np.maximum(slack + step * d_slack, TINY), np.maximum(dual + step * d_dual, TINY)
            v, sigma = (
                _posteriors(prices, seen, secants + dual[0] - dual[1], d),
                np.where(step > 0.8, 0.1, 0.4),
            )
    alive = np.asarray(np.isfinite(dual).all(axis=(0, 2)))
    good = np.isfinite(v).all(axis=1, keepdims=True) & alive[:, None]
    slopes = np.where(good, np.clip(secants + dual[0] - dual[1], -STEEPEST, STEEPEST), secants)
    points = np.where(good, v, _posteriors(prices, seen, secants, d))
    return points, shifted(cost, low, high, slopes)


def shifted(cost: Cost, low: Floats, high: Floats, slopes: Floats) -> Floats:
    """The same slopes plus the number, for each box, that makes the bound best: as C v sums to 1, no other part of it changes.

    Examples
    --------
    >>> cost = Cost(1.0, np.eye(2), 0.5, np.eye(2), 2, 2)
    >>> low, high, slopes = np.zeros((1, 2)), np.ones((1, 2)), np.array([[5.0, 6.0]])
    >>> before, after = (float(cost.slope_bounds(np.zeros(2), low, high, y)[0]) for y in (slopes, shifted(cost, low, high, slopes)))
    >>> before < after
    True
    """
    over = cost.concave * secant_slopes(low, high) - slopes
    return slopes + knapsack_prices(over, low, high)[:, None]


def _direction(
    curvature: Floats, missed: Floats, dual: Floats, slack: Floats, target: Floats
) -> tuple[Floats, Floats]:
    """The Newton step of slacks and multipliers, of shape (2, b, k): those of the upper sides first."""
    weights = dual / slack
    right = target / slack - dual - weights * missed
    matrix = (weights[0] + weights[1])[:, :, None] * curvature
    k = matrix.shape[1]
    matrix[:, range(k), range(k)] += 1.0
    try:
        change = np.linalg.solve(matrix, (right[0] - right[1])[:, :, None])
    except np.linalg.LinAlgError:  # one that has run away: it keeps the others from no step
        change = np.zeros((*matrix.shape[:2], 1))
    moved = (curvature @ change)[:, :, 0]
    d_slack = missed + np.stack([moved, -moved])
    return d_slack, target / slack - dual - weights * d_slack


def _posteriors(prices: Floats, seen: Floats, slopes: Floats, d: float) -> Floats:
    """The best posteriors at some slopes, shape (b, n)."""
    through = (prices - slopes @ seen) / d
    through -= through.max(axis=1, keepdims=True)
    weights = np.exp(through)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _room(q: Floats, sides: Floats) -> Floats:
    """What is left to the upper and to the lower sides, shape (2, b, k)."""
    return np.stack([sides[0] - q, sides[1] + q])


def _reach(value: Floats, change: Floats) -> Floats:
    """How far each box can go before an entry is 0."""
    return np.asarray(
        np.where(change < 0, -value / np.where(change < 0, change, -1.0), np.inf).min(axis=(0, 2))
    )


def _seen(cost: Cost) -> Floats:
    if cost.coordinates is None:
        raise ValueError("slopes are for boxes of C v")
    return cost.coordinates

"""Closed-form steps downhill: of many posteriors at once towards the lowest price-reduced cost, and of a whole release."""

from __future__ import annotations

import math
import time

import numpy as np

from privopt.arrays import Floats
from privopt.problems.entropy_boxes import phi
from privopt.problems.trade_off.tree import Cost

LOWEST = -61.0
"""Logarithms below this give entries that become 0."""

FLOOR = 1e-300
GONE = float(np.log(FLOOR))

DROPPED = 1e-15
"""Releases of less probability than this are left out."""


def reduced_costs(cost: Cost, prices: Floats, columns: Floats) -> Floats:
    """C H(C v) - d H(D v) - prices . v of posteriors (m, n), shape (m,).

    Examples
    --------
    >>> cost = Cost(1.0, None, 1.0, np.eye(2), 2, 2)
    >>> reduced_costs(cost, np.array([1.0, 2.0]), np.array([[0.5, 0.5], [0.0, 1.0]])).tolist()
    [-1.5, -2.0]
    """
    seen = columns if cost.coordinates is None else columns @ cost.coordinates.T
    down = columns if cost.plain else columns @ cost.tangents.T
    weighed = cost.concave * phi(seen).sum(axis=1) - cost.convex * phi(down).sum(axis=1)
    return np.asarray(weighed - columns @ prices)


def descend(cost: Cost, prices: Floats, starts: Floats, rounds: int, deadline: float = math.inf) -> Floats:
    """Posteriors (m, n) after some rounds of a step that never raises the reduced cost.

    The concave part lies below its tangent; the convex part lies below its tangent plus the divergence
    D(v || v0), because data processing lowers a divergence. The minimum of this upper bound is
    v0 exp((prices + c C^T ln(C v0) - d D^T ln(D v0)) / d), normalised.

    Parameters
    ----------
    cost : Cost
        With a positive convex part.
    prices : array (n,)
    starts : array (m, n)
    rounds : int
        At most; fewer when the deadline passes.
    deadline : float
        On the clock of ``time.monotonic()``.
    """
    logs, tilt = _log(starts), prices / cost.convex
    v, ratio = starts, cost.concave / cost.convex
    for _ in range(rounds):
        if time.monotonic() > deadline:
            break
        up = logs if cost.coordinates is None else _log(v @ cost.coordinates.T) @ cost.coordinates
        step = logs + tilt + ratio * up - _pulled_back(cost, v)
        step -= step.max(axis=1, keepdims=True)
        v = np.exp(np.maximum(step, LOWEST))  # results below the smallest normal float would be slow
        v[step <= LOWEST] = 0.0
        total = v.sum(axis=1, keepdims=True)
        v /= total
        logs = np.where(step <= LOWEST, GONE, step - np.log(total))
    return v


def alternate(
    cost: Cost, p_w: Floats, joint: Floats, rounds: int, *, bold: bool = False, deadline: float = math.inf
) -> Floats:
    """The joint distribution of release and observation (m, n) after some rounds; its expected cost never rises.

    The cost is a difference of convex functions of the channel P(y | w). The concave one lies below its tangent;
    the convex one lies below its tangent plus sum_w P(w) D(P(. | w) || P0(. | w)), because data processing lowers
    a divergence. The minimum is P0(y | w) exp((c C^T ln(C v_y) - d D^T ln(D v_y))_w / d), normalised over y.

    Parameters
    ----------
    cost : Cost
        With a positive convex part.
    p_w : array (n,)
    joint : array (m, n)
        Sums over m to p_w.
    rounds : int
    bold : bool
        Keep the conditional entropy of the release exact, instead of its tangent: longer steps, for C = 1 and
        c < d only.
    deadline : float
        On the clock of ``time.monotonic()``; there are fewer rounds when it passes.
    """
    bold = bold and cost.coordinates is None and cost.concave < cost.convex
    for _ in range(rounds):
        if time.monotonic() > deadline:
            break
        mass = joint.sum(axis=1)
        joint = joint[mass > DROPPED]
        mass = joint.sum(axis=1, keepdims=True)
        step = _exponent(cost, joint / mass, bold=bold) + np.log(mass)
        step -= step.max(axis=0)
        channel = np.exp(step)
        joint = channel * (p_w / channel.sum(axis=0))
    return joint


def marginal_costs(cost: Cost, p_w: Floats, joint: Floats) -> Floats:
    """What one more unit of each observation costs where it is released now, on average, shape (n,).

    At an optimum these are the only prices at which no posterior costs less than its price: on the support of a
    posterior in use the gradient of its cost, which is homogeneous in the masses, equals them.
    """
    v = joint / joint.sum(axis=1, keepdims=True)
    seen = v if cost.coordinates is None else v @ cost.coordinates.T
    up = _log(seen) if cost.coordinates is None else _log(seen) @ cost.coordinates
    gradient = cost.convex * _pulled_back(cost, v) - cost.concave * up
    return np.asarray((joint * gradient).sum(axis=0) / p_w)


def _exponent(cost: Cost, v: Floats, *, bold: bool) -> Floats:
    """Ln of P(y | w) / P(y), up to what depends on w only."""
    down = _pulled_back(cost, v)
    if bold:
        return np.asarray((_log(v) - down) / (1.0 - cost.concave / cost.convex))
    up = _log(v) if cost.coordinates is None else _log(v @ cost.coordinates.T) @ cost.coordinates
    return np.asarray(_log(v) + cost.concave / cost.convex * up - down)


def _pulled_back(cost: Cost, v: Floats) -> Floats:
    """D^T ln(D v) of posteriors (m, n)."""
    return _log(v) if cost.plain else np.asarray(_log(v @ cost.tangents.T) @ cost.tangents)


def _log(v: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(v, FLOOR)))

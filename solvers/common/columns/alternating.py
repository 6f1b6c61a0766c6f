"""Closed-form descent on a whole release at a fixed multiplier: all its posteriors and weights move together."""

from __future__ import annotations

import math
import time

import numpy as np

from privopt.arrays import Floats
from privopt.problems.trade_off.tree import Cost

FLOOR = 1e-300
DROPPED = 1e-15
"""Releases of less probability than this are left out."""


def alternate(
    cost: Cost, law: Floats, joint: Floats, rounds: int, *, bold: bool = False, deadline: float = math.inf
) -> Floats:
    """The joint law of release and observation (m, n) after some rounds; its expected cost never rises.

    The cost is a difference of convex functions of the channel P(y | w). The concave one lies below its tangent;
    the convex one lies below its tangent plus sum_w P(w) D(P(. | w) || P0(. | w)), because data processing lowers
    a divergence. The minimum is P0(y | w) exp((c C^T ln(C v_y) - d D^T ln(D v_y))_w / d), normalised over y.

    Parameters
    ----------
    cost : Cost
        With a positive convex part.
    law : array (n,)
    joint : array (m, n)
        Sums over m to the law.
    rounds : int
    bold : bool
        Keep the entropy of the release given the observation exact, instead of its tangent: longer steps, for C = 1 and
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
        joint = channel * (law / channel.sum(axis=0))
    return joint


def marginal_costs(cost: Cost, law: Floats, joint: Floats) -> Floats:
    """What one more unit of each observation costs where it is released now, on average, shape (n,).

    At an optimum these are the only prices at which no posterior costs less than its price: on the support of a
    posterior in use the gradient of its cost, which is homogeneous in the masses, equals them.
    """
    v = joint / joint.sum(axis=1, keepdims=True)
    seen = v if cost.coordinates is None else v @ cost.coordinates.T
    up = _log(seen) if cost.coordinates is None else _log(seen) @ cost.coordinates
    gradient = cost.convex * (_log(v @ cost.tangents.T) @ cost.tangents) - cost.concave * up
    return np.asarray((joint * gradient).sum(axis=0) / law)


def _exponent(cost: Cost, v: Floats, *, bold: bool) -> Floats:
    """Ln of P(y | w) / P(y), up to what depends on w only."""
    down = _log(v @ cost.tangents.T) @ cost.tangents
    if bold:
        return np.asarray((_log(v) - down) / (1.0 - cost.concave / cost.convex))
    up = _log(v) if cost.coordinates is None else _log(v @ cost.coordinates.T) @ cost.coordinates
    return np.asarray(_log(v) + cost.concave / cost.convex * up - down)


def _log(v: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(v, FLOOR)))

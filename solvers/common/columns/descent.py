"""Local pricing: many posteriors walk downhill at once, towards the lowest price-reduced cost."""

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


def reduced_costs(cost: Cost, prices: Floats, columns: Floats) -> Floats:
    """C H(C v) - d H(D v) - prices . v of posteriors (m, n), shape (m,).

    Examples
    --------
    >>> cost = Cost(1.0, None, 1.0, np.eye(2), 2, 2)
    >>> reduced_costs(cost, np.array([1.0, 2.0]), np.array([[0.5, 0.5], [0.0, 1.0]])).tolist()
    [-1.5, -2.0]
    """
    seen = columns if cost.coordinates is None else columns @ cost.coordinates.T
    weighed = cost.concave * phi(seen).sum(axis=1) - cost.convex * phi(columns @ cost.tangents.T).sum(axis=1)
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
        step = logs + tilt + ratio * up - _log(v @ cost.tangents.T) @ cost.tangents
        step -= step.max(axis=1, keepdims=True)
        v = np.exp(np.maximum(step, LOWEST))  # results below the smallest normal float would be slow
        v[step <= LOWEST] = 0.0
        total = v.sum(axis=1, keepdims=True)
        v /= total
        logs = np.where(step <= LOWEST, GONE, step - np.log(total))
    return v


def _log(v: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(v, FLOOR)))

"""A bound on a release that does not fade with the horizon: the state before it might as well be revealed.

Let b be the law of what a release reads given all releases before it, T the law of its output and M its kernel. The
budget asks that M(y | x) lies in e^+-w epsilon T(y). The kernels that lie so for some law T, whether or not it is
their own, do not depend on b, and the cost of each is linear in b: so the least cost of them, R(b), is concave. Now b is
the mean of the laws r_i of what is read given the state i before, with weights whose mean over the earlier releases is
the law P of that state. So the release costs at least sum P(i) R(r_i).

With L = e^-w epsilon and theta = 1 / (e^w epsilon + 1), such kernels are L T + (1 - L) K with K <= T / theta. So for any
prices nu of the rows of K

    R(r) >= sum nu(x) + min over y of [L r . D(., y) + sum over x of min(0, (1 - L) r(x) D(x, y) - nu(x)) / theta],

and R(r) >= sum r(x) min over y of D(x, y). Both are computed in balls, and the better one counts.
"""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import Balls
from privopt.problems.belief_release.bound import CELLS, BallLevels

MAX_CELLS = 2**24
"""States times words times releases of a table of prices that is read."""
MIN_THETA = 2.0**-60
"""Below, a budget of some 42 nats forbids nothing that rounding would show: each word is charged its least distortion."""


def least_costs(rows: Floats | Balls, cost: Floats, budget: float, prices: Floats) -> Floats:
    """Lower bounds on R of each row, shape (k,).

    Parameters
    ----------
    rows : array or balls (k, n)
        Laws r.
    cost : array (n, m)
        Distortions.
    budget : float
        Nats of the release.
    prices : array (k, n)
        Numbers nu; any prices prove a bound.

    Examples
    --------
    >>> coin, sure = [0.5, 0.5], [1.0, 0.0]
    >>> nu = 0.25 / (1 + np.exp(1)) * (1 - np.exp(-1)) / np.exp(1) * np.ones((2, 2))
    >>> bool((least_costs(np.array([coin, sure]), 1 - np.eye(2), 1.0, nu) <= [0.5 / np.e, 0]).all())
    True
    """
    laws = rows if isinstance(rows, Balls) else Balls.exact(rows)
    return costs_of(laws, cost, Balls.exact(budget) if budget < np.inf else None, prices).lower


def costs_of(rows: Balls, cost: Floats, budget: Balls | None, prices: Floats) -> Balls:
    """The same as balls; None is an infinite budget."""
    free: Balls = rows @ cost.min(axis=1)
    levels = None if budget is None else BallLevels.of(budget)
    if levels is None or not float(levels.theta.mid) >= MIN_THETA:
        return free
    found = [_cost(rows[i], cost, levels, nu) for i, nu in enumerate(prices)]
    ends = np.array([ball.ends for ball in found])
    known = Balls.between(np.where(np.isfinite(ends[:, 0]), ends[:, 0], -1e300), ends[:, 1])
    return free.maximum(known)


def _cost(row: Balls, cost: Floats, levels: BallLevels, nu: Floats) -> Balls:
    width = max(1, CELLS // len(nu))
    low = high = np.inf
    heavy = (levels.room * row).reshape(-1, 1)
    for begin in range(0, cost.shape[1], width):
        part = cost[:, begin : begin + width]
        gap = Balls.exact(nu[:, None]) - heavy * part
        over = Balls.exact(gap.upper.clip(0.0)).sum(axis=0) / levels.theta
        each = levels.low * (row @ part) - over
        low, high = min(low, float(each.lower.min())), min(high, float(each.upper.min()))
    found: Balls = Balls.exact(nu).sum() + Balls.between(low, high)
    return found

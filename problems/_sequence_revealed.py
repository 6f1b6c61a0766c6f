"""A bound on a release that does not fade with the horizon: the state before it might as well be revealed.

Let b be the law of what a release reads given all releases before it, T the law of its output and M its kernel. The
budget asks that M(y | x) lies in e^+-w epsilon T(y). The kernels that lie so for some law T, whether or not it is
their own, do not depend on b, and the cost of each is linear in b: so the least cost of them, R(b), is concave. Now b is
the mean of the laws r_i of what is read given the state i before, with weights whose mean over the earlier releases is
the law P of that state. So the release costs at least sum P(i) R(r_i).

With L = e^-w epsilon and theta = 1 / (e^w epsilon + 1), such kernels are L T + (1 - L) K with K <= T / theta. So for any
prices nu of the rows of K

    R(r) >= sum nu(x) + min over y of [L r . D(., y) + sum over x of min(0, (1 - L) r(x) D(x, y) - nu(x)) / theta].

Rounding: each of the n terms errs by a few units of 2^-53 of the prices and the distortions, divided by theta.
"""

from __future__ import annotations

import numpy as np

from privopt.mechanisms._hamming_cases import Levels
from privopt.problems._observation import Floats

MAX_CELLS = 2**24
"""States times words times releases of a table of prices that is read."""
MIN_THETA = 2.0**-60
"""Below, a budget of some 42 nats forbids nothing that rounding would show: each word is charged its least distortion."""


def least_costs(rows: Floats, cost: Floats, budget: float, prices: Floats) -> Floats:
    """Lower bounds on R of each row, shape (k,), its allowance for rounding included.

    Parameters
    ----------
    rows, prices : array (k, n)
        Laws r, and numbers nu; any prices prove a bound.
    cost : array (n, m)
        Distortions.
    budget : float
        Nats of the release.

    Examples
    --------
    >>> coin, sure = [0.5, 0.5], [1.0, 0.0]
    >>> nu = 0.25 / (1 + np.exp(1)) * (1 - np.exp(-1)) / np.exp(1) * np.ones((2, 2))
    >>> bool((least_costs(np.array([coin, sure]), 1 - np.eye(2), 1.0, nu) <= [0.5 / np.e, 0]).all())
    True
    """
    levels = Levels.of(budget)
    if levels.theta < MIN_THETA:
        return np.asarray(rows @ cost.min(axis=1))
    found = np.empty(len(rows))
    for i, (row, nu) in enumerate(zip(rows, prices, strict=True)):
        below = np.minimum(levels.room * row[:, None] * cost - nu[:, None], 0.0).sum(axis=0) / levels.theta
        least = float((levels.low * (row @ cost) + below).min())
        size = (float(np.abs(cost).max()) + float(np.abs(nu).sum())) * (1.0 + 1.0 / levels.theta)
        found[i] = float(nu.sum()) + least - (cost.shape[0] + 16) * 2.0**-49 * size
    return found

"""The level of differential privacy that a mechanism needs for a level of Bayesian privacy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from privopt.errors import InvalidProblem

_MOST_ROUNDS = 200


def calibrate(
    bound: Callable[[float], float], epsilon: float, *, tol: float = 1e-12, most: float | None = None
) -> float:
    """The largest tau with bound(tau) <= epsilon, rounded down.

    Parameters
    ----------
    bound : callable
        Bayesian leakage in nats as a function of the level tau: never falling, 0 at 0.
    epsilon : float
        Level of Bayesian privacy in nats, > 0.
    tol : float
        Relative precision of tau.
    most : float, optional
        The largest level that is considered; epsilon by default, as most bounds are at least tau.

    Returns
    -------
    float
        A level in (0, most] at which ``bound`` was evaluated and found to be at most epsilon.

    Raises
    ------
    InvalidProblem
        If epsilon is not positive and finite, or even a vanishing tau exceeds it.

    Examples
    --------
    >>> tau = calibrate(lambda t: t + t**2, 2.0)
    >>> tau <= 1, 1 - tau < 1e-11
    (True, True)
    """
    if not 0 < epsilon < math.inf:
        raise InvalidProblem(f"epsilon must be positive and finite, got {epsilon}")
    once = cache(bound)
    top = epsilon if most is None else most
    low = min(epsilon, top)
    if once(low) > epsilon:
        low = _feasible(once, low, epsilon)
        top = min(8 * low, top)
    while once(high := min(8 * low, top)) <= epsilon:
        if high == top:
            return top
        low = high
    root = _root(once, low, high, epsilon, tol)
    return _rounded_down(once, low, root, epsilon, tol)


def _feasible(bound: Callable[[float], float], high: float, epsilon: float) -> float:
    """Some level that meets epsilon, by division."""
    low = high
    while low > 1e-12 * high:
        low /= 8
        if bound(low) <= epsilon:
            return low
    raise InvalidProblem(
        f"no level of differential privacy gives a Bayesian leakage of {epsilon:g} nats by this bound: "
        "raise epsilon, or use another bound"
    )


def _root(bound: Callable[[float], float], low: float, high: float, epsilon: float, tol: float) -> float:
    """A level near the largest one; an infinite bound stands for a very large one."""
    from scipy.optimize import brentq

    def excess(tau: float) -> float:
        return min(bound(tau), 1e6 * epsilon) - epsilon

    if excess(low) == 0:
        return low
    return float(brentq(excess, low, high, xtol=tol * low, rtol=max(tol, 1e-15), maxiter=_MOST_ROUNDS))


def _rounded_down(
    bound: Callable[[float], float], low: float, root: float, epsilon: float, tol: float
) -> float:
    shrink = tol
    while root > low:
        if bound(root) <= epsilon:
            return root
        root *= 1 - shrink
        shrink *= 4
    return low

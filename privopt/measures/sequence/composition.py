"""What several releases leak together, but for a probability of delta."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem


def composition(epsilons: Iterable[float], delta: float = 0.0) -> float:
    """Composition: a level that the leakage of a whole sequence exceeds with probability at most delta.

    Each step leaks at most its epsilon, |ln Pr(y_k | x, past y) / Pr(y_k | past y)| <= e_k. Then the sum of the steps'
    logarithms, ln Pr(x | y) / Pr(x), is at most the sum of the e_k always; and at most c with probability 1 - delta
    over the joint distribution of data and releases, where

        c = inf over t > 0 of [sum_k ln((e^{e_k (1 + t)} + e^{-e_k t}) / (1 + e^{e_k})) + ln(1 / delta)] / t.

    That is Markov's inequality for the exponential of t times the sum: given the past, a step has the largest moment
    generating function when it is binary randomised response. For equal levels it is the Chernoff bound
    e T (2 q - 1) with T KL(q, e^e / (1 + e^e)) = ln(1 / delta). The other sign is easier:
    ln Pr(x | y) / Pr(x) <= -c has probability at most e^-c. For a statement on both sides, share delta.

    Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Theorems 1 and 2;
    the second is sharpened, and corrected where steps are batches.

    Parameters
    ----------
    epsilons : iterable of float
        Level of each step in nats, >= 0, perhaps inf. For batches: the level of each batch.
    delta : float
        In [0, 1]; 0 gives the sum.

    Returns
    -------
    float
        In nats, never above the sum.

    Raises
    ------
    InvalidProblem
        If a level is negative or not a number, or delta is not in [0, 1].

    Examples
    --------
    >>> composition([0.5, 0.25, 0.25])
    1.0
    >>> round(composition([0.2] * 200, delta=1e-5), 6)
    17.204401
    """
    levels = _levels(epsilons)
    if isinstance(delta, bool) or not 0 <= delta <= 1:
        raise InvalidProblem(f"delta must be in [0, 1], got {delta!r}")
    total = math.fsum(levels.tolist())
    levels = levels[levels > 0]
    if delta == 0 or total in (0.0, math.inf):
        return total
    if delta == 1:
        return _mean(levels)
    return min(total, _least(levels, math.log(1 / delta)))


def _levels(epsilons: Iterable[float]) -> Floats:
    try:
        levels = np.array(list(epsilons), dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidProblem(f"epsilons must be numbers of nats, one a step: {cause}") from cause
    if levels.ndim != 1 or np.isnan(levels).any() or (levels < 0).any():
        raise InvalidProblem("epsilons must be numbers of nats >= 0, one a step")
    return levels


def _mean(levels: Floats) -> float:
    """The limit of t -> 0 at delta = 1: sum of e tanh(e / 2)."""
    return math.fsum((levels * np.tanh(levels / 2)).tolist())


def _exponent(levels: Floats, t: float) -> float:
    """The logarithm of the largest moment generating function at t."""
    grown = np.logaddexp(levels * (1 + t), -levels * t) - np.logaddexp(0.0, levels)
    return math.fsum(grown.tolist())


def _least(levels: Floats, price: float) -> float:
    """The least bound over t, by a search on ln t: (convex + constant) / t has one valley, and any t gives a bound."""
    from scipy.optimize import minimize_scalar

    def value(u: float) -> float:
        t = math.exp(u)
        return (_exponent(levels, t) + price) / t

    ends = (-40.0, 40.0 - math.log(float(levels.max())))
    return float(
        minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-9, "maxiter": 500}).fun
    )

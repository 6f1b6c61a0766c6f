"""The level of differential privacy that noise of a scale gives, rounded up, and the scale for a level."""

from __future__ import annotations

import math
from fractions import Fraction

from privopt.core.exact import ball_ceiling
from privopt.errors import InvalidMechanism
from privopt.mechanisms.noise.statistics import up

OPENDP = 2.0**-50
"""OpenDP rounds the odds before it takes their logarithm: its map may exceed the exact level by less than this."""

NOISES = ("laplace", "discrete_laplace", "randomised_response")


def level(noise: str, scale: float, sensitivity: float) -> float:
    """The level tau of noise, rounded up: sensitivity / scale, or ln((1 - q) / q) for lies of probability q = scale.

    An infinite scale stands for an answer that does not read the data, of level 0.

    Parameters
    ----------
    noise : {"laplace", "discrete_laplace", "randomised_response"}
    scale : float, > 0, perhaps inf
    sensitivity : float, > 0

    Examples
    --------
    >>> level("laplace", 4.0, 1.0), level("laplace", math.inf, 1.0), round(level("randomised_response", 0.25, 1.0), 12)
    (0.25, 0.0, 1.098612288668)
    """
    if scale == math.inf:
        return 0.0
    if noise != "randomised_response":
        return up(Fraction(sensitivity) / Fraction(scale))
    return _odds(keep(scale))


def keep(lie: float) -> float:
    """The probability of the truth, as the float that is sampled."""
    return min(1.0 - lie, math.nextafter(1.0, 0.0))


def _odds(truth: float) -> float:
    from flint import arb, ctx, fmpq

    exact = Fraction(truth)
    ratio = exact / (1 - exact)
    if ratio <= 1:
        return 0.0
    saved = ctx.prec
    try:
        ctx.prec = 160
        found = ball_ceiling(arb(fmpq(ratio.numerator, ratio.denominator)).log())
    finally:
        ctx.prec = saved
    return math.nextafter(found + OPENDP, math.inf)


def scale_for(noise: str, tau: float, sensitivity: float) -> float:
    """The least scale found whose level is at most tau.

    Examples
    --------
    >>> scale = scale_for("laplace", 0.3, 1.0)
    >>> level("laplace", scale, 1.0) <= 0.3, round(scale, 9)
    (True, 3.333333333)
    """
    if not tau >= 0:
        raise InvalidMechanism(f"tau must be >= 0 nats, got {tau}")
    if tau == 0:
        return math.inf
    if noise == "randomised_response":
        if tau > 36:
            raise InvalidMechanism(f"randomised response of level {tau} tells the truth: take tau <= 36")
        scale = 1.0 / (1.0 + math.exp(tau))
    else:
        scale = sensitivity / tau
    if not 0 < scale < math.inf:
        return math.inf if scale else math.ulp(0.0)
    while level(noise, scale, sensitivity) > tau:
        scale += math.ulp(scale) if noise != "randomised_response" else 2.0**-53
    return math.inf if noise == "randomised_response" and scale >= 0.5 else scale

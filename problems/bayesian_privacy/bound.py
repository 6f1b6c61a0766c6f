"""Upper bounds on the utility of noise, proved from a level of differential privacy that is too high.

The dual is ``{"kind": "level", "tau": t}``. The family is one noise of any scale. Let L(t) be the leakage of noise of
level t. It never falls: for all mechanisms of a level, because the classes are nested; for the noisy count itself,
because noise of a larger scale is noise of a smaller one with more added (the characteristic function of Laplace noise of
scale b' is that of scale b times (b / b')^2 + (1 - (b / b')^2) / (1 + b'^2 s^2), a mixture of nothing and Laplace noise;
for the discrete noise of ratios a < a' the weight of nothing is a (1 - a')^2 / (a' (1 - a)^2)). So if L(t) > epsilon, an allowed mechanism has a level
below t, a scale above the one of t, and at least its error. The leakage of all mechanisms of a level even grows with slope 1
or in proportion, so that L(t) >= epsilon suffices. That of the noisy count may stay the same, even at 0: only if somebody can know all
records but one, which is counted for one of two possible values and not for the other, L(t) >= t.

L(t) is proved from below: in balls by enumeration, by the recursion for two states with every step rounded down, by a rational
factor of one adversary of Gaussian records, or by a mechanism that reads one record. The error of a scale is enclosed in balls.

``{"kind": "error"}`` proves 0: no error is expected to be negative.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privopt.core.exact import ball_floor
from privopt.core.problem import Enclosure
from privopt.measures.bayesian.proof import prove_leak
from privopt.mechanisms.noise.accuracy import enclosed_error
from privopt.problems.bayesian_privacy import levels

if TYPE_CHECKING:
    from privopt.problems.bayesian_privacy.problem import BayesianPrivacy

_BITS = 160


def prove_dual(problem: BayesianPrivacy, dual: object) -> Enclosure | None:
    """Floats around the upper bound on utility that a dual proves, or None."""
    if not isinstance(dual, dict):
        return None
    if dual.get("kind") == "error":
        return 0.0, 0.0
    tau = dual.get("tau")
    if dual.get("kind") != "level" or isinstance(tau, bool) or not isinstance(tau, (int, float)):
        return None
    return prove_level(problem, float(tau)) if 0 < tau < math.inf else None


def prove_level(problem: BayesianPrivacy, tau: float) -> Enclosure | None:
    """Floats around the upper bound on utility of a level, or None where it is not proved to be too high.

    Examples
    --------
    >>> from privopt.models import GaussianModel
    >>> from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
    >>> pair = BayesianPrivacy(GaussianModel([[1, 0.5], [0.5, 1]]), "sum", 1.5, clip=(0, 1))
    >>> prove_level(pair, 0.999), prove_level(pair, 1.0)
    (None, (-1.0, -1.0))
    """
    if not _too_high(problem, tau):
        return None
    if problem.mechanism == "randomised_response":
        return _reports(problem, tau)
    lo, hi = enclosed_error(problem.mechanism, Fraction(problem.sensitivity) / Fraction(tau), problem.length)
    return (-hi, -lo) if math.isfinite(hi) else None


def _too_high(problem: BayesianPrivacy, tau: float) -> bool:
    """Whether noise of every level above leaks more than epsilon."""
    if levels.enumerable(problem):
        if levels.enclosed(problem, tau)[0] > problem.epsilon:
            return True
        return tau >= problem.epsilon and levels.tells_its_level(problem)
    return prove_leak(levels.setting(problem), tau) >= problem.epsilon


def _reports(problem: BayesianPrivacy, tau: float) -> Enclosure | None:
    """The error of the largest probability of the truth, as a float, whose level is at most tau."""
    from flint import arb, ctx

    saved = ctx.prec
    try:
        ctx.prec = _BITS
        truth = min(ball_floor(1 / (1 + (-arb(tau)).exp())), math.nextafter(1.0, 0.0))
    finally:
        ctx.prec = saved
    lo, hi = enclosed_error(problem.mechanism, 1.0 - truth, problem.length)
    return (-hi, -lo) if truth > 0.5 and math.isfinite(hi) else None

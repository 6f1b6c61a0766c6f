"""How far noise takes an answer from the truth: expected errors and quantiles, the same for all data."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privopt.core.exact import ball_ceiling, ball_floor
from privopt.mechanisms.noise.level import keep

if TYPE_CHECKING:
    from flint import arb

EXACT_REPORTS = 512
"""Records up to which the distribution of randomised reports is written out."""

_BITS = 128


def expected_error(noise: str, scale: float, length: int | None) -> float:
    """E|error| of a number (of one cell of a histogram), the largest over all data.

    Laplace: the scale b. Discrete Laplace: 1 / sinh(1/b). Randomised response on n records: the mean deviation of the
    unbiased estimate for the worst true count, and beyond 512 records its bound by the standard deviation.

    Examples
    --------
    >>> expected_error("laplace", 2.0, None), round(expected_error("discrete_laplace", 2.0, None), 9)
    (2.0, 1.919034751)
    """
    if scale == math.inf or noise == "laplace":
        return scale
    if noise == "discrete_laplace":
        return 1.0 / math.sinh(1.0 / scale) if scale > 1 / 700 else 0.0
    n, truth = length or 1, keep(scale)
    gain = 2.0 * truth - 1.0
    if n > EXACT_REPORTS:
        return math.sqrt(n * truth * (1 - truth)) / gain
    return max(_deviation(n, k, truth) for k in range(n // 2 + 1)) / gain


@lru_cache(maxsize=1024)
def enclosed_error(noise: str, scale: Fraction | float, length: int | None) -> tuple[float, float]:
    """Floats around what :func:`expected_error` reads, proved in balls; for lies the scale is the float that is stored.

    Examples
    --------
    >>> enclosed_error("laplace", Fraction(1, 4), None)
    (0.25, 0.25)
    >>> lo, hi = enclosed_error("discrete_laplace", 2.0, None)
    >>> lo <= expected_error("discrete_laplace", 2.0, None) <= hi, hi - lo < 1e-15
    (True, True)
    """
    from flint import arb, ctx, fmpq

    if scale == math.inf:
        return math.inf, math.inf
    saved = ctx.prec
    try:
        ctx.prec = _BITS
        if noise == "randomised_response":
            found = _reports_error(Fraction(keep(float(scale))), length or 1)
        else:
            exact = arb(fmpq(*Fraction(scale).as_integer_ratio()))
            found = exact if noise == "laplace" else 1 / (1 / exact).sinh()
        low, high = ball_floor(found), ball_ceiling(found)
    finally:
        ctx.prec = saved
    return (max(low, 0.0), high) if math.isfinite(high) else (0.0, math.inf)


def _reports_error(truth: Fraction, n: int) -> arb:
    from flint import arb, fmpq

    p = arb(fmpq(truth.numerator, truth.denominator))
    q = 1 - p
    if n > EXACT_REPORTS:
        return (n * p * q).sqrt() / (p - q)
    largest = arb(0)
    for k in range(n // 2 + 1):
        largest = largest.max(_exact_deviation(n, k, p, q))
    return largest / (p - q)


def _exact_deviation(n: int, count: int, p: arb, q: arb) -> arb:
    """E|reports - their mean| for a true count, from the generating polynomial of the reports."""
    from flint import arb, arb_poly

    reports = arb_poly([q, p]) ** count * arb_poly([p, q]) ** (n - count)
    mean = count * p + (n - count) * q
    return sum((weight * abs(i - mean) for i, weight in enumerate(reports.coeffs())), arb(0))


def _deviation(n: int, count: int, truth: float) -> float:
    """E|reports - their mean| for a true count; by symmetry the same for n - count."""
    from scipy.stats import binom

    law = np.convolve(
        binom.pmf(np.arange(count + 1), count, truth),
        binom.pmf(np.arange(n - count + 1), n - count, 1 - truth),
    )
    mean = count * truth + (n - count) * (1 - truth)
    return float(law @ np.abs(np.arange(n + 1) - mean))


def quantile(noise: str, scale: float, length: int | None, beta: float) -> float:
    """The least alpha found with Pr(|error| > alpha) <= beta, for every data set.

    Laplace: b ln(1/beta), exact. Discrete Laplace: exact, an integer. Randomised response: Hoeffding's inequality.

    Examples
    --------
    >>> round(quantile("laplace", 2.0, None, 0.05), 9), quantile("discrete_laplace", 2.0, None, 0.05)
    (5.991464547, 6.0)
    """
    if scale == math.inf:
        return math.inf
    if noise == "laplace":
        return scale * math.log(1.0 / beta)
    if noise == "discrete_laplace":
        ratio = math.exp(-1.0 / scale)
        # Pr(|N| > a) = 2 ratio^(a + 1) / (1 + ratio)
        return float(max(0, math.ceil(scale * math.log(2.0 / (beta * (1.0 + ratio)))) - 1))
    return math.sqrt((length or 1) * math.log(2.0 / beta) / 2.0) / (2.0 * keep(scale) - 1.0)

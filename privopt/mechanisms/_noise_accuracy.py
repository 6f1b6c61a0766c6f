"""How far noise takes an answer from the truth: expected errors and quantiles, the same for all data."""

from __future__ import annotations

import math

import numpy as np

from privopt.mechanisms._noise_level import keep

EXACT_REPORTS = 512
"""Records up to which the law of randomised reports is written out."""


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

"""Every adversary of a group of Gaussian records in bounded floats: batches of small systems, each checked by its residual.

For known records T (the target among them) and unknown ones U let Y be a computed S_UT S_T^-1, and R = S_UT - Y S_T. Then
S_UT S_T^-1 - Y = R S_T^-1, and S_T^-1 has no eigenvalue above 1 / l where l > 0 is at most the least eigenvalue of S. So
each entry in the row of an unknown record errs by at most |R_u|_2 / l, whatever the computation of Y did.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, islice

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.bayesian.condition import scales_of, spectrum_of

MOST_RECORDS = 18
"""Records of the largest block that is enumerated like this: 2^18 systems, some seconds."""

_AT_ONCE = 4096
_DIGITS = 36
"""Binary digits to which a factor is rounded up, so that it hardly depends on how a processor adds."""


def prove_subsets(covariance: Floats, *, sums: bool = False) -> Fraction | None:
    """A proved upper bound on the factor, equal to it but for roundings.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Exactly symmetric; taken as the rational numbers that it stores.
    sums : bool
        Whether only sums of the records are asked for, see :mod:`privopt.measures.bayesian.gaussian_sums`.

    Returns
    -------
    Fraction or None
        None with more than 18 records, or where the covariance is not proved to be positive definite.

    Examples
    --------
    >>> proved = prove_subsets(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    >>> 1.5 <= proved <= 1.5 + 1e-10
    True
    """
    m = len(covariance)
    if m > MOST_RECORDS:
        return None
    scales = scales_of(covariance)[-1]
    scaled = covariance / scales / scales[:, None]
    ends = spectrum_of(scaled)
    if ends is None:
        return None
    largest = 0.0
    for size in range(1, m):
        subsets = combinations(range(m), size)
        while batch := list(islice(subsets, _AT_ONCE)):
            largest = max(largest, _largest(scaled, scales, np.array(batch), ends[0], sums))
    if not math.isfinite(largest):
        return None
    mantissa, exponent = math.frexp(1.0 + largest * (1.0 + 2.0**-50))
    return Fraction(math.ceil(mantissa * 2.0**_DIGITS) + 1) * Fraction(2) ** (exponent - _DIGITS)


def _largest(covariance: Floats, scales: Floats, known: Ints, least: float, sums: bool) -> float:
    """The largest sum of coefficients over some sets of known records, rounded up; nan counts as inf."""
    m = len(covariance)
    unit = 2.0 * (m + 8) * 2.0**-53
    hidden = np.ones((len(known), m), dtype=np.bool_)
    np.put_along_axis(hidden, known, False, axis=1)
    unknown = np.nonzero(hidden)[1].reshape(len(known), -1)
    inside = covariance[known[:, :, None], known[:, None, :]]
    across = covariance[unknown[:, :, None], known[:, None, :]]
    try:
        slopes = across @ np.linalg.inv(inside)
    except np.linalg.LinAlgError:
        return math.inf
    residual = np.abs(across - slopes @ inside)
    residual += unit * (np.abs(across) + np.abs(slopes) @ np.abs(inside)) + 2.0**-900
    errors = np.sqrt((residual * residual).sum(axis=2)) / least * (1.0 + 2.0 * unit)
    weights = scales[unknown]
    lost = (weights * errors).sum(axis=1)[:, None]
    weighted = slopes * weights[:, :, None]
    if sums:
        up, down = (np.maximum(side, 0.0).sum(axis=1) for side in (weighted, -weighted))
        size = np.maximum(up, down - 2.0 * scales[known])
        size = np.maximum(size + unit * (up + down), 0.0)
    else:
        size = np.abs(weighted).sum(axis=1)
    totals = (size + lost) / scales[known] * (1.0 + 2.0 * unit)
    largest = float(totals.max())
    return math.inf if math.isnan(largest) else largest

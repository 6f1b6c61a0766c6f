"""The factor of Gaussian records for sums of clipped records alone: relatives that move the other way do not add to a leak.

An adversary with coefficients b who compares two values of the target at a distance of d couples the unknown records by
shifts of b_j d. Clipping is non-decreasing and moves no further, so that record j moves by something between 0 and b_j d, and
the sum by at most

    max(1 + sum of b_j^+, sum of b_j^- - 1) d,

which is also how far it moves if all records of one sign lie beyond the interval and the others well inside. So it is the factor
of all sums of records that are clipped anywhere, a mean included, and never more than 1 + |b|_1, the factor of all
mechanisms of the level.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privopt.arrays import Floats

_STEPS = 200
_INFLATED = 1e-12
_EQUAL = 1e-9


def sum_of_coefficients(up: float, down: float) -> float:
    """The factor of coefficients whose positive parts and whose negative parts have these sums."""
    return max(1.0 + up, down - 1.0)


def nothing_known_sum(covariance: Floats) -> float:
    """The factor for sums against adversaries who know no record, or all others: a lower bound on the factor against all.

    Examples
    --------
    >>> nothing_known_sum(np.array([[1, -0.9], [-0.9, 1]])), nothing_known_sum(np.array([[1, 0.3], [0.3, 1]]))
    (1.0, 1.3)
    """
    up, down = _columns(covariance)
    return max(1.0, sum_of_coefficients(float(up.max()), float(down.max())))


def _columns(covariance: Floats) -> tuple[Floats, Floats]:
    """Sums over j != i of the positive parts, and of the negative ones, of S_ji / S_ii; row after row."""
    shares = covariance / np.diag(covariance)
    np.fill_diagonal(shares, 0.0)
    up, down = np.zeros(len(shares)), np.zeros(len(shares))
    for row in shares:
        up += np.maximum(row, 0.0)
        down += np.maximum(-row, 0.0)
    return up, down


def column_sum_factor(covariance: Floats) -> tuple[float, bool]:
    """Upper bound for sums of records whose column sums are at most 1; ``(inf, False)`` for others.

    In the notation of :func:`privopt.measures.bayesian.gaussian.column_factor` b = sum over k of (-1)^k E_UT E_T^k e_i: paths from i
    through T that end in U, whose sign turns with each positive entry after the first. The mass that ends in U with the
    sign + is at most that of a walk that may choose at every record whether it ends there. Where the sign is + it ends, as
    column sums are at most 1. Where it is - it ends with nothing, or goes on: W_j = r_j^+ + sum over l of E_lj^- W_l, with r^+ the sums of
    positive parts. The first step has the same form, so the sum of b^+ is at most the largest W_i, and that of b^-, at most 1,
    does not count. Any 0 <= W <= 1 with W >= r^+ + E^-' W serves, by monotonicity.

    Examples
    --------
    >>> value, exact = column_sum_factor(np.full((5, 5), -0.2) + 1.2 * np.eye(5))
    >>> round(value, 9), exact
    (1.0, True)
    """
    bound = _column_bound(covariance)
    if bound is None:
        return np.inf, False
    lower = nothing_known_sum(covariance)
    return (lower, True) if bound <= lower * (1 + _EQUAL) else (bound, False)


def prove_column_sum(covariance: Floats) -> Fraction | None:
    """The same where column sums are proved to be at most 1, with every rounding upward."""
    bound = _column_bound(covariance)
    return None if bound is None else Fraction(bound)


def _column_bound(covariance: Floats) -> float | None:
    """One more than the largest W, rounded up, where the column sums are at most 1 but for rounding.

    A solution of the equations that is a little enlarged, or else what a few steps down from 1 reach: every step from a W that
    serves gives one that serves.
    """
    up, down = _columns(covariance)
    if float((up + down).max()) > 1.0 + 1e-9:
        return None
    unit = 4.0 * (len(up) + 16) * 2.0**-53
    shares = np.maximum(-(covariance / np.diag(covariance)), 0.0).T

    def step(walk: Floats) -> Floats:
        after: Floats = np.minimum((up + shares @ walk) * (1.0 + unit) + 2.0**-1000, 1.0)
        return after

    try:
        solved: Floats = np.asarray(np.linalg.solve(np.eye(len(up)) - shares, up), dtype=np.float64)
    except np.linalg.LinAlgError:
        solved = np.full(len(up), np.nan)
    walk: Floats = np.asarray(np.clip(solved, 0.0, 1.0) * (1.0 + _INFLATED) + _INFLATED, dtype=np.float64)
    if not bool((step(walk) <= walk).all()):
        walk = np.ones(len(up))
        for _ in range(_STEPS):
            walk = step(walk)
    return 1.0 + float(walk.max()) * (1.0 + unit)


def prove_halves(total: Fraction, signed: Fraction) -> Fraction:
    """The factor for sums if the absolute coefficients of one target sum to at most ``total``, by paths through unknown records.

    Let B be the matrix of regressions on all others, P_ij / P_ii negated off the diagonal for the precision matrix P. Then b_U is the
    sum of all paths from U through U to the target. Those of positive and of negative sign sum to p and n; both are largest for
    the adversary who knows nothing, p + n is bounded by the comparison matrix, and p - n is her b: S_ji / S_ii, which sums to ``signed``.
    """
    return max(1 + (total + signed) / 2, (total - signed) / 2 - 1, Fraction(1))

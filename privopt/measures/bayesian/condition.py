"""Gaussian records by the condition number of their covariance: a bound on the factor for groups of any size.

Take an adversary who leaves the records U unknown and targets i, and let S be the covariance of i and U given what is known.
The coefficients are b = S_Ui / S_ii. If all eigenvalues of S lie in [l, L], so do those of every two-dimensional compression
[[p, q], [q, r]] of S, hence q^2 <= (L - p)(p - l), and |b|_2 <= sqrt((L - p)(p - l)) / p for p = S_ii, which is largest at
p = 2 l L / (l + L): with k = L / l

    |b|_2 <= (k - 1) / (2 sqrt(k))

(Wielandt's inequality: Horn and Johnson, "Matrix Analysis", Section 7.4). Conditioning and leaving records out do not enlarge
[l, L], as the inverse of S is a principal block of the inverse of the whole covariance, and Cauchy's inequality gives

    |b|_1 <= sqrt(sum over j != i of s_j^2) / s_i (k - 1) / (2 sqrt(k))

for records divided by any scales s > 0; with scales of 1, sqrt(m - 1) (k - 1) / (2 sqrt(k)).

An eigenvalue is bounded by a Cholesky decomposition in floats that ends: then the matrix that was decomposed, but for a
multiple of the identity that bounds the rounding, is positive definite (Rump, "Verification of positive definiteness").
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats

_GROWN = 2.0**-20
"""How much farther the ends of the spectrum are tried than they are computed, relatively to the largest eigenvalue or to each."""
TIE = 1e-6
"""Octaves by which a deviation half way between two powers of 2 counts as nearer to the smaller one, whatever its rounding."""
FARTHEST = 2.0**400
"""Deviations farther apart have scales whose squares are no floats."""
_TRIES = 8
_BITS = 128


def condition_factor(covariance: Floats) -> float:
    """The bound in floats, for scales of 1 and for powers of 2 near the standard deviations; inf where it is singular.

    Examples
    --------
    >>> round(condition_factor(np.array([[1, 0.5], [0.5, 1]])), 6)
    1.57735
    """
    factors = [math.inf]
    for scales in scales_of(covariance):
        spectrum = np.linalg.eigvalsh(covariance / scales / scales[:, None])
        if spectrum[0] > 1e-12 * spectrum[-1]:
            condition = float(spectrum[-1] / spectrum[0])
            factors.append(1.0 + _weight(scales) * (condition - 1.0) / (2.0 * math.sqrt(condition)))
    return min(factors)


def scales_of(covariance: Floats) -> list[Floats]:
    """Scales of 1, and powers of 2, by which entries are divided without rounding.

    They are near the standard deviations in units of the least one, so that no unit of the records counts.

    Examples
    --------
    >>> scales_of(np.diag([17.0, 17 * 16.0]))[1].tolist(), scales_of(np.diag([3.0, 3.0]))[0].tolist()
    ([1.0, 4.0], [1.0, 1.0])
    """
    deviations = np.sqrt(np.diag(covariance))
    octaves = np.log2(deviations) - np.log2(deviations.min())
    near = np.exp2(np.floor(octaves + 0.5 - TIE))
    ones = np.ones(len(deviations))
    return [ones] if near.max() == 1 or near.max() > FARTHEST else [ones, near]


def _weight(scales: Floats) -> float:
    """The largest norm of the other scales over one scale."""
    squares = scales * scales
    return float(np.sqrt((squares.sum() - squares) / squares).max())


def prove_condition(covariance: Floats) -> Fraction | None:
    """An upper bound on the factor that is proved, or None.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Exactly symmetric; taken as the rational numbers that it stores.

    Examples
    --------
    >>> proved = prove_condition(np.array([[1, 0.5], [0.5, 1]]))
    >>> 0 <= proved - Fraction(1.5773502691896257) < 1e-4
    True
    """
    proved = [_prove_scaled(covariance, scales) for scales in scales_of(covariance)]
    return min((factor for factor in proved if factor is not None), default=None)


def _prove_scaled(covariance: Floats, scales: Floats) -> Fraction | None:
    from flint import arb, ctx, fmpq

    ends = spectrum_of(covariance / scales / scales[:, None])
    if ends is None:
        return None
    condition = Fraction(ends[1]) / Fraction(ends[0])
    squares = [Fraction(float(s)) ** 2 for s in scales]
    weight = max((sum(squares) - square) / square for square in set(squares))
    with ctx.workprec(_BITS):
        k, w = (arb(fmpq(x.numerator, x.denominator)) for x in (condition, weight))
        mantissa, exponent = (1 + w.sqrt() * (k - 1) / (2 * k.sqrt())).upper().mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def spectrum_of(matrix: Floats) -> tuple[float, float] | None:
    """Floats between which all eigenvalues of a symmetric matrix lie, both positive."""
    if not bool(np.isfinite(matrix).all()) or matrix.max() > 2.0**200 or np.diag(matrix).min() < 2.0**-200:
        return None
    spectrum = np.linalg.eigvalsh(matrix)
    least, most = float(spectrum[0]), float(spectrum[-1])
    identity = np.eye(len(matrix))
    for attempt in range(_TRIES):
        wide = _GROWN * 4.0**attempt
        low, high = _rounded(least * (1.0 - wide), -1), _rounded(most * (1.0 + wide), 1)
        if not low > 0:
            return None
        if _definite(matrix - low * identity, matrix, low) and _definite(
            high * identity - matrix, matrix, high
        ):
            return low, high
    return None


def _rounded(value: float, side: int) -> float:
    """A float of few digits, which hardly depends on the last ones of the computed eigenvalue."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp((math.ceil if side > 0 else math.floor)(mantissa * 2.0**26), exponent - 26)


def _definite(difference: Floats, matrix: Floats, shift: float) -> bool:
    """Whether the exact difference is proved to be positive definite.

    Its diagonal is rounded once. A decomposition that ends proves the computed matrix plus g / (1 - g) times its trace, with
    g = (m + 1) 2^-53, to be positive definite (Rump, Theorem 2.3 and Corollary 2.4).
    """
    m = len(matrix)
    rounding = (float(np.diag(matrix).max()) + shift) * 2.0**-52
    trace = float(np.abs(np.diag(difference)).sum())
    slack = 4.0 * ((m + 8) * 2.0**-53 * trace + rounding) + 2.0**-600
    try:
        np.linalg.cholesky(difference - slack * np.eye(m))
    except np.linalg.LinAlgError:
        return False
    return True

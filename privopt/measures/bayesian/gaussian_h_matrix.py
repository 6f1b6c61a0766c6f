"""The H-matrix bound: Gaussian dependence of any strength whose precision matrix is dominated by its diagonal."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.measures.bayesian.gaussian_column import nothing_known
from privopt.models.gaussian_parts import correlation_of

_LEAST_PIVOT = 1e-8  # squared pivots of the correlation matrix below this leave fewer than half of the digits
_ROUNDING = 1e-9


def h_matrix_factor(covariance: Floats) -> tuple[float, bool]:
    """Upper bound on the factor of Gaussian records from the comparison matrix of their precision matrix.

    Let P be the inverse of the covariance S, and W its comparison matrix: |P_ii| on the diagonal, -|P_ij| elsewhere.
    If W is positive definite, the factor is at most 1 + max over i of the sum over j != i of (W^-1)_ji / (W^-1)_ii.

    An adversary who targets i and leaves the records U unknown has the coefficients b = -(P_UU)^-1 P_Ui, and
    h = 1 + |b|_1. W_UU is an M-matrix, so |(P_UU)^-1| <= (W_UU)^-1 entry by entry (Ostrowski, "Über die
    Determinanten mit überwiegender Hauptdiagonale", 1937) and |b| <= (W_UU)^-1 |P_Ui|. Inverses of M-matrices are
    non-negative and grow with U, so the worst adversary of this bound knows nothing; then
    (W_UU)^-1 |P_Ui| = (W^-1)_Ui / (W^-1)_ii by the inverse of a block matrix.

    The value is exact when it equals the factor 1 + r of an adversary who knows nothing. That is so when signs of
    records can be flipped to make P an M-matrix: autoregressions, equal non-negative correlations, trees, and all
    laws that are totally positive of order 2 (Karlin and Rinott, "M-matrices as covariance matrices of multinormal
    distributions", 1983).

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Positive definite for a finite value.

    Returns
    -------
    tuple of float and bool
        The bound, >= 1, and whether it is exact up to rounding; ``(inf, False)`` where W is not positive definite,
        or too near singular for floating point.

    Examples
    --------
    >>> value, exact = h_matrix_factor(np.full((4, 4), 0.6) + 0.4 * np.eye(4))
    >>> round(value, 12), exact
    (2.8, True)
    >>> value, exact = h_matrix_factor(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    >>> round(value, 5), exact
    (1.70755, False)
    """
    comparison = _inverse(correlation_of(covariance))
    if comparison is None:
        return math.inf, False
    diagonal = np.abs(np.diag(comparison))
    np.negative(np.abs(comparison, out=comparison), out=comparison)
    np.fill_diagonal(comparison, diagonal)
    inverse = _inverse(comparison / np.sqrt(diagonal) / np.sqrt(diagonal)[:, None])
    if inverse is None:
        return math.inf, False
    scale = np.sqrt(np.diag(covariance) / diagonal)
    sums = scale @ (inverse - np.diag(np.diag(inverse))) / np.diag(inverse) / scale
    value = 1.0 + float(sums.max())
    lower = nothing_known(covariance)
    return max(value, lower), value <= lower * (1 + _ROUNDING)


def _inverse(matrix: Floats) -> Floats | None:
    """Inverse of a symmetric matrix with unit diagonal; None unless safely positive definite."""
    try:
        pivots = np.diag(np.linalg.cholesky(matrix))
        if pivots.min() ** 2 < _LEAST_PIVOT:
            return None
        found = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(found / 2 + found.T / 2, dtype=np.float64)

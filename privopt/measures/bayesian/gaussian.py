"""Bayesian differential privacy of Gaussian records: the bounds on their factor, and the best of them, block by block.

The factor h of a covariance S is the least number such that every mechanism that is tau-private for the l1 distance
leaks at most h tau |x - x'| about a record, whoever attacks. An adversary who knows x_K and targets i has
h = 1 + ||S_UT S_T^-1 e_i||_1, where T = K + {i} and U is the rest (Lange, Guerra-Balboa, Parra-Arnau, Strufe,
"Balancing Privacy and Utility in Correlated Data", proof of Theorem 5.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.bayesian.condition import condition_factor
from privopt.measures.bayesian.gaussian_enumeration import brute_force_factor
from privopt.measures.bayesian.gaussian_sums import column_sum_factor, nothing_known_sum
from privopt.measures.bound import Bound
from privopt.models import GaussianModel
from privopt.models.gaussian import correlation_of, spread

FAMILY = "gaussian-"
"""What the names of these bounds begin with."""

ENUMERATED = 18
"""Records of the largest block that the best method enumerates; as many as can be proved."""

NEGLIGIBLE = 2.0**-400
"""Entries of matrices below this are next to nothing, and their products denormal: processors take ten times as long for them."""

_EQUAL = 1e-9  # of variances and factors, for rounding
_LEAST_PIVOT = 1e-8  # squared pivots of the correlation matrix below this leave fewer than half of the digits


def nothing_known(covariance: Floats) -> float:
    """The factor against adversaries who know no record: a lower bound on the factor against all.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Positive diagonal.

    Returns
    -------
    float
        1 + r, where r is the maximum over i of the sum over j != i of |S_ji| / S_ii.

    Examples
    --------
    >>> nothing_known(np.array([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]]))
    2.0
    """
    diagonal = np.diag(covariance)
    off = np.abs(covariance)
    np.fill_diagonal(off, 0.0)
    # dividing first loses nothing to overflow; row after row, so that every processor gives the same bits
    totals = np.zeros(len(off))
    with np.errstate(over="ignore"):
        for row in off / diagonal:
            totals += row
    return 1.0 + float(totals.max())


def column_factor(covariance: Floats) -> tuple[float, bool]:
    """Exact factor of Gaussian records whose column sums are at most 1; ``(inf, False)`` for others.

    Write S_T = (I + E_T) D with D = diag(S_T), so S_UT = E_UT D and the columns of |E| sum to r at most. Then
    |S_UT S_T^-1 e_i| <= |E_UT| v with v = (I - |E_T|)^-1 e_i, and since 1'|E_UT| <= r 1' - 1'|E_T|,

        1'|E_UT| v <= r 1'v - 1'|E_T| v = r 1'v - (1'v - 1) = 1 - (1 - r) 1'v <= r,

    because 1'v >= v_i >= 1 and r <= 1. With K empty the left side is a column sum, so r is attained.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Positive diagonal; singular or not.

    Returns
    -------
    tuple of float and bool
        The factor 1 + r in [1, 2] and True; or inf and False.

    Examples
    --------
    >>> column_factor(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    (1.5, True)
    >>> column_factor(np.ones((3, 3)))
    (inf, False)
    """
    value = nothing_known(covariance)
    return (value, True) if value <= 2.0 else (math.inf, False)


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
    distributions that are totally positive of order 2 (Karlin and Rinott, "M-matrices as covariance matrices of multinormal
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
    sums = _dominated_sums(covariance)
    if sums is None:
        return math.inf, False
    value = 1.0 + float(sums.max())
    lower = nothing_known(covariance)
    return max(value, lower), value <= lower * (1 + _EQUAL)


def h_matrix_sum_factor(covariance: Floats) -> tuple[float, bool]:
    """The same for sums of the records, see :func:`privopt.measures.bayesian.gaussian_sums.prove_halves`.

    Examples
    --------
    >>> value, exact = h_matrix_sum_factor(np.array([[1, -0.9, 0.81], [-0.9, 1, -0.9], [0.81, -0.9, 1]]))
    >>> round(value, 12), exact
    (1.81, True)
    """
    sums = _dominated_sums(covariance)
    if sums is None:
        return math.inf, False
    diagonal = np.diag(covariance)
    signed = (covariance.sum(axis=0) - diagonal) / diagonal
    value = max(1.0, float((1.0 + (sums + signed) / 2).max()), float(((sums - signed) / 2).max()) - 1.0)
    lower = nothing_known_sum(covariance)
    return max(value, lower), value <= lower * (1 + _EQUAL)


def _dominated_sums(covariance: Floats) -> Floats | None:
    """For each target a bound on the sum of its absolute coefficients by the comparison matrix; None where that is no M-matrix."""
    comparison = symmetric_inverse(correlation_of(covariance), _LEAST_PIVOT)
    if comparison is None:
        return None
    diagonal = np.abs(np.diag(comparison))
    np.negative(np.abs(comparison, out=comparison), out=comparison)
    np.fill_diagonal(comparison, diagonal)
    inverse = symmetric_inverse(comparison / np.sqrt(diagonal) / np.sqrt(diagonal)[:, None], _LEAST_PIVOT)
    if inverse is None:
        return None
    scale = np.sqrt(np.diag(covariance) / diagonal)
    sums: Floats = scale @ (inverse - np.diag(np.diag(inverse))) / np.diag(inverse) / scale
    return sums


def symmetric_inverse(matrix: Floats, least_pivot: float = 0.0) -> Floats | None:
    """A computed inverse, symmetric; None unless squared pivots are positive, and at least that. Nothing is claimed of its rounding."""
    from scipy.linalg import lapack

    try:
        root = np.asarray(np.linalg.cholesky(without_negligible(matrix)), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    if root.diagonal().min() ** 2 < least_pivot:
        return None
    half, singular = lapack.dtrtri(without_negligible(root).T, lower=0)
    half = without_negligible(half)
    return None if singular else np.asarray(half @ half.T, dtype=np.float64)


def without_negligible(matrix: Floats) -> Floats:
    """The matrix with 0 for its entries that are next to nothing."""
    return np.where(np.abs(matrix) < NEGLIGIBLE, 0.0, matrix)


def class_factor(m: int, rho: float) -> float:
    """Factor of every group of m Gaussian records of equal variance with correlations of at most rho.

    With k = |K| known records and correlation matrix R, the rows of R_UT have entries of at most rho, and
    |R_T^-1 e_i|_1 <= 1 / (1 - k rho) (Neumann series; columns of R_T - I sum to k rho at most). So
    h <= 1 + (m - 1 - k) rho / (1 - k rho). This falls with k when rho (m - 1) <= 1, where the column bound 1 +
    (m - 1) rho is attained by equal correlations, and grows with k otherwise, up to k = m - 2. It is never above
    the value of :func:`published_factor`, which bounds the entries of R_T^-1 one by one.

    Parameters
    ----------
    m : int
        Number of records in a group, >= 1.
    rho : float
        Largest absolute correlation, in [0, 1].

    Returns
    -------
    float
        1 + (m - 1) rho for rho <= 1 / (m - 1), else 1 + rho / (1 - (m - 2) rho); inf where rho (m - 2) >= 1, since
        the class then has no finite factor.

    Examples
    --------
    >>> class_factor(3, 0.275), class_factor(10, 0.1), class_factor(3, 1.0)
    (1.55, 1.9, inf)
    """
    if m <= 1:
        return 1.0
    if rho * (m - 1) <= 1:
        return 1.0 + (m - 1) * rho
    return 1.0 + rho / (1.0 - (m - 2) * rho) if rho * (m - 2) < 1 else math.inf


def published_factor(m: int, rho: float) -> float:
    """The factor of Theorem 5.5 as published, for records of equal variance.

    Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of Bayesian
    Differential Privacy", Theorem 5.5 and Definition 5.4.

    Parameters
    ----------
    m : int
        Number of records in a group, >= 1.
    rho : float
        Largest absolute correlation, in [0, 1].

    Returns
    -------
    float
        1 + m^2 / (4 (1 / rho - m + 2)), or inf where rho (m - 2) >= 1.

    Examples
    --------
    >>> round(published_factor(2, 0.45), 12), round(published_factor(3, 0.275), 6), published_factor(4, 0.5)
    (1.45, 1.853448, inf)
    """
    if m <= 1 or rho == 0:
        return 1.0
    return 1.0 + m * m / (4.0 * (1.0 / rho - m + 2)) if rho * (m - 2) < 1 else math.inf


@dataclass(frozen=True)
class _Factor:
    """A factor of one block, whether it is exact, and the bound that gave it."""

    value: float
    exact: bool
    method: str


def _class_bound(covariance: Floats) -> tuple[float, bool]:
    """The factor of the class: coefficients are those of the correlations times sd_j / sd_i; or that of the condition."""
    largest = class_factor(len(covariance), _largest_correlation(covariance))
    return min(1.0 + (largest - 1.0) * spread(covariance), condition_factor(covariance)), False


def _published_bound(covariance: Floats) -> tuple[float, bool]:
    """The published factor, which is for equal variances."""
    if spread(covariance) > 1 + _EQUAL:
        return math.inf, False
    return published_factor(len(covariance), _largest_correlation(covariance)), False


def _largest_correlation(covariance: Floats) -> float:
    return float(np.abs(correlation_of(covariance) - np.eye(len(covariance))).max())


_BOUNDS: dict[str, Callable[[Floats], tuple[float, bool]]] = {
    "published": _published_bound,
    "class": _class_bound,
    "column": column_factor,
    "h-matrix": h_matrix_factor,
    "brute-force": brute_force_factor,
}
_SUMS: dict[str, Callable[[Floats], tuple[float, bool]]] = {
    **_BOUNDS,
    "column": column_sum_factor,
    "h-matrix": h_matrix_sum_factor,
    "brute-force": partial(brute_force_factor, sums=True),
}
"""The same for sums of the records alone; those that are not sharper there hold as they are."""

METHODS = ("general", *(FAMILY + name for name in _BOUNDS))
"""Names of the methods, beside ``"best"``."""


@lru_cache(maxsize=64)
def gaussian_factor(
    model: GaussianModel, method: str = "best", scope: str = "targets_in_interval", *, sums: bool = False
) -> Bound:
    """Factor h such that a mechanism of level tau leaks at most h tau about a Gaussian record.

    The largest over independent blocks of the least of two bounds: the method's, and the number of records of the
    block, which holds for any dependence.

    Parameters
    ----------
    model : GaussianModel
        The distribution of a group.
    method : str
        ``"best"``, ``"general"`` or one of ``"gaussian-column"``, ``"gaussian-h-matrix"``,
        ``"gaussian-brute-force"``, ``"gaussian-class"``, ``"gaussian-published"``.
    scope : str
        As in :func:`~privopt.measures.bayesian.leakage.bayesian_leakage`.
    sums : bool
        Whether the mechanisms add noise to sums or means of the clipped records, see
        :mod:`privopt.measures.bayesian.gaussian_sums`.

    Returns
    -------
    Bound
        The factor, with the method of the block that gave it: ``"general"`` where the method gave nothing better.

    Raises
    ------
    InvalidProblem
        If there is no such method, or it is to serve ``all_reals``, where only the general bound holds, or enumeration is
        too large.

    Examples
    --------
    >>> gaussian_factor(GaussianModel([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]))
    Bound(value=1.5, exact=True, method='gaussian-column', scope='targets_in_interval')
    """
    if method not in ("best", *METHODS):
        raise InvalidProblem(f"method {method!r} does not serve a Gaussian model")
    if scope == "all_reals":
        if method not in ("best", "general"):
            raise InvalidProblem(
                f"{method} holds for targets inside the clipping interval: for all_reals use 'general'"
            )
        return _all_reals(model)
    factors = [_block(model, i, method, sums) for i in range(len(model.blocks))]
    top = max(factor.value for factor in factors)
    # of equal factors an exact one is named: it shows that the maximum is attained
    best = max((factor for factor in factors if factor.value == top), key=lambda factor: factor.exact)
    return Bound(best.value, best.exact, best.method, scope)


def _all_reals(model: GaussianModel) -> Bound:
    """The general bound: targets far outside the interval force dependent records to its opposite ends.

    It is approached by an adversary who knows nothing if some record is correlated with all others of a largest block.
    """
    m = max(map(len, model.blocks))
    exact = any(
        bool((model.covariance[np.ix_(block, block)] != 0).all(axis=0).any())
        for block in model.blocks
        if len(block) == m
    )
    return Bound(float(m), exact, "general", "all_reals")


def _block(model: GaussianModel, i: int, method: str, sums: bool) -> _Factor:
    """The factor of one block, at most its size."""
    m = len(model.blocks[i])
    if m == 1:
        return _Factor(1.0, True, method if method != "best" else FAMILY + "column")
    general = _Factor(float(m), False, "general")
    if method == "general":
        return general
    factor = (
        _best(model, i, sums) if method == "best" else _bounded(model, i, method.removeprefix(FAMILY), sums)
    )
    return factor if factor.value <= m else general


def _best(model: GaussianModel, i: int, sums: bool) -> _Factor:
    """Cheap exact bounds, then enumeration, then the least upper bound."""
    tried: list[_Factor] = []
    few = len(model.blocks[i]) <= ENUMERATED
    for name in ("column", "h-matrix", *(["brute-force"] if few else []), "class"):
        tried.append(_bounded(model, i, name, sums))
        if tried[-1].exact:
            break
    return min(tried, key=lambda factor: (not factor.exact, factor.value))


@lru_cache(maxsize=256)
def _bounded(model: GaussianModel, i: int, name: str, sums: bool) -> _Factor:
    """What one bound gives for one block; inf where it gives nothing."""
    block = model.blocks[i]
    return _Factor(*(_SUMS if sums else _BOUNDS)[name](model.covariance[np.ix_(block, block)]), FAMILY + name)

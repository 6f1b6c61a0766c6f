"""Factors of Gaussian records over a set of covariances: read in floats, and proved in rationals.

The proof of the column factor needs nothing of a covariance but its column sums, see
:func:`privopt.measures.bayesian.gaussian.column_factor`. So with r the largest over i of sum_j max |S_ji| / min S_ii, over all covariances
of the set, r <= 1 bounds the factor of each by 1 + r. Beyond that the number of dependent records bounds it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidModel, InvalidProblem
from privopt.measures.bayesian.gaussian import FAMILY, column_factor
from privopt.measures.bayesian.gaussian_proof import prove_column, prove_least_factor
from privopt.measures.bound import Bound
from privopt.models.ambiguity.covariances import CovarianceAmbiguity
from privopt.models.gaussian import GaussianModel

METHOD = FAMILY + "column"
METHODS = ("general", METHOD)
"""Names of the methods, beside ``"best"``."""

_MOST_PROVED = 60
"""Records up to which a corner of the set is proved to be a covariance."""


def extreme_columns(ambiguity: CovarianceAmbiguity) -> Floats:
    """The least variances on the diagonal, and the largest sizes of the covariances beside it; seldom a covariance itself.

    Examples
    --------
    >>> extreme_columns(CovarianceAmbiguity([[1, -0.5], [-0.5, 2]], [[2, 0.25], [0.25, 4]], nominal=[[1, 0], [0, 2]]))
    array([[1. , 0.5],
           [0.5, 2. ]])
    """
    extreme = np.maximum(np.abs(ambiguity.lower), np.abs(ambiguity.upper))
    np.fill_diagonal(extreme, np.diag(ambiguity.lower))
    return extreme


def dependent_blocks(ambiguity: CovarianceAmbiguity) -> tuple[tuple[int, ...], ...]:
    """Positions of the records that may depend on each other under some covariance of the set, block by block."""
    linked = extreme_columns(ambiguity) != 0
    return GaussianModel(np.where(linked, 1e-3 / len(linked), 0.0) + np.eye(len(linked))).blocks


@lru_cache(maxsize=64)
def set_factor(
    ambiguity: CovarianceAmbiguity, method: str = "best", scope: str = "targets_in_interval"
) -> Bound:
    """Factor h such that a mechanism of level tau leaks at most h tau about a Gaussian record, for every covariance of a set.

    Parameters
    ----------
    ambiguity : CovarianceAmbiguity
    method : {"best", "general", "gaussian-column"}
    scope : {"targets_in_interval", "all_reals"}

    Raises
    ------
    InvalidProblem
        If the method is to serve ``all_reals``, where only the general bound holds.

    Examples
    --------
    >>> center = np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]])
    >>> low, high = center - 0.1 * abs(center), center + 0.1 * abs(center)
    >>> round(set_factor(CovarianceAmbiguity(low, high, nominal=center)).value, 4)
    1.6111
    """
    if scope == "all_reals" and method not in ("best", "general"):
        raise InvalidProblem(
            f"{method} holds for targets inside the clipping interval: for all_reals use 'general'"
        )
    extreme, blocks = extreme_columns(ambiguity), dependent_blocks(ambiguity)
    values = []
    for block in blocks:
        column, _ = column_factor(extreme[np.ix_(block, block)])
        only = method == "general" or scope == "all_reals" or column > len(block)
        values.append((float(len(block)), "general") if only else (column, METHOD))
    value, name = max(values)
    least = 1.0 if scope == "all_reals" else float(prove_least_set_factor(ambiguity))
    return Bound(value, value <= least * (1 + 1e-12), name, scope)


@lru_cache(maxsize=64)
def prove_set_factor(ambiguity: CovarianceAmbiguity) -> tuple[Fraction, str]:
    """The same for targets inside the clipping interval, in rationals, and how.

    Examples
    --------
    >>> prove_set_factor(CovarianceAmbiguity([[1, 0.25], [0.25, 1]], [[2, 0.5], [0.5, 2]], nominal=[[1, 0.25], [0.25, 1]]))
    (Fraction(3, 2), 'gaussian-column')
    """
    extreme = extreme_columns(ambiguity)
    return max(_proved_block(extreme[np.ix_(block, block)]) for block in dependent_blocks(ambiguity))


def _proved_block(extreme: Floats) -> tuple[Fraction, str]:
    general = Fraction(len(extreme)), "general"
    column = prove_column(extreme)
    return general if column is None else min((column, METHOD), general)


@lru_cache(maxsize=64)
def prove_least_set_factor(ambiguity: CovarianceAmbiguity) -> Fraction:
    """A factor that some adversary reaches at some covariance of the set: the nominal one, or a corner that is proved to be one.

    Examples
    --------
    >>> prove_least_set_factor(CovarianceAmbiguity([[1, 0.25], [0.25, 1]], [[2, 0.5], [0.5, 2]], nominal=[[1, 0.25], [0.25, 1]]))
    Fraction(3, 2)
    """
    least = prove_least_factor(ambiguity.nominal)
    corner = _corner(ambiguity)
    return least if corner is None else max(least, prove_least_factor(corner))


def _corner(ambiguity: CovarianceAmbiguity) -> GaussianModel | None:
    """The covariance of the set with the extreme column of the largest sum, if it is proved to be positive definite."""
    extreme = extreme_columns(ambiguity)
    if len(extreme) > _MOST_PROVED:
        return None
    i = int((extreme / np.diag(extreme)).sum(axis=0).argmax())
    corner = ambiguity.nominal.covariance.copy()
    np.fill_diagonal(corner, np.diag(ambiguity.upper))
    column = np.where(
        np.abs(ambiguity.lower[i]) > np.abs(ambiguity.upper[i]), ambiguity.lower[i], ambiguity.upper[i]
    )
    corner[i], corner[:, i] = column, column
    corner[i, i] = ambiguity.lower[i, i]
    try:
        return GaussianModel(corner) if _is_definite(corner) else None
    except InvalidModel:
        return None


def _is_definite(matrix: Floats) -> bool:
    """Whether a symmetric matrix is positive definite, by its exact pivots."""
    rows = [[Fraction(float(v)) for v in row] for row in matrix]
    for i, pivot_row in enumerate(rows):
        if pivot_row[i] <= 0:
            return False
        for row in rows[i + 1 :]:
            share = row[i] / pivot_row[i]
            row[:] = [v - share * p for v, p in zip(row, pivot_row, strict=True)]
    return True

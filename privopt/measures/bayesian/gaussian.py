"""Bayesian differential privacy of Gaussian records: the best of the bounds, block by block."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.bayesian.gaussian_brute import MOST_RECORDS, brute_force_factor
from privopt.measures.bayesian.gaussian_class import class_factor, published_factor
from privopt.measures.bayesian.gaussian_column import column_factor
from privopt.measures.bayesian.gaussian_h_matrix import h_matrix_factor
from privopt.measures.bound import Bound
from privopt.models import GaussianModel
from privopt.models.gaussian_parts import correlation_of, spread

ENUMERATED = 16
"""Records of the largest block that the best method enumerates; as many as can be proved."""

_EQUAL = 1e-9  # of variances and factors, for rounding


@dataclass(frozen=True)
class _Factor:
    """A factor of one block."""

    value: float
    exact: bool
    method: str


@lru_cache(maxsize=64)
def gaussian_factor(model: GaussianModel, method: str = "best", scope: str = "targets_in_interval") -> Bound:
    """Factor h such that a mechanism of level tau leaks at most h tau about a Gaussian record.

    The largest over independent blocks of the least of two bounds: the method's, and the number of records of the
    block, which holds for any dependence.

    Parameters
    ----------
    model : GaussianModel
        The law of a group.
    method : str
        ``"best"``, ``"general"`` or one of ``"gaussian-column"``, ``"gaussian-h-matrix"``,
        ``"gaussian-brute-force"``, ``"gaussian-class"``, ``"gaussian-published"``.
    scope : str
        As in :func:`~privopt.measures.bayesian.leakage.bayesian_leakage`.

    Returns
    -------
    Bound
        The factor, with the method of the block that gave it: ``"general"`` where the asked method gave nothing better.

    Raises
    ------
    InvalidProblem
        If the method is asked for ``all_reals``, where only the general bound holds, or enumeration is too large.

    Examples
    --------
    >>> gaussian_factor(GaussianModel([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]))
    Bound(value=1.5, exact=True, method='gaussian-column', scope='targets_in_interval')
    """
    if scope == "all_reals":
        if method not in ("best", "general"):
            raise InvalidProblem(
                f"{method} holds for targets inside the clipping interval: for all_reals use 'general'"
            )
        return _all_reals(model)
    factors = [_block(model.covariance[np.ix_(block, block)], method) for block in model.blocks]
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


def _block(covariance: Floats, method: str) -> _Factor:
    """The factor of one block, at most its size."""
    m = len(covariance)
    if m == 1:
        return _Factor(1.0, True, method if method != "best" else "gaussian-column")
    found = _best(covariance) if method == "best" else _named(covariance, method)
    return found if found.value <= m else _Factor(float(m), False, "general")


def _best(covariance: Floats) -> _Factor:
    """Cheap exact methods, then enumeration, then the least upper bound."""
    tried = [_named(covariance, "gaussian-column")]
    if not tried[-1].exact:
        tried.append(_named(covariance, "gaussian-h-matrix"))
    if not tried[-1].exact and len(covariance) <= ENUMERATED:
        tried.append(_named(covariance, "gaussian-brute-force"))
    if not tried[-1].exact:
        tried.append(_named(covariance, "gaussian-class"))
    return min(tried, key=lambda factor: (not factor.exact, factor.value))


def _named(covariance: Floats, method: str) -> _Factor:
    """The factor that one method gives for one block; inf where it gives none."""
    if method in _MATRIX:
        return _Factor(*_MATRIX[method](covariance), method)
    if method == "general":
        return _Factor(float(len(covariance)), False, method)
    rho = float(np.abs(correlation_of(covariance) - np.eye(len(covariance))).max())
    ratio = spread(covariance)
    if method == "gaussian-class":
        # coefficients are those of the correlations times sd_j / sd_i
        return _Factor(1.0 + (class_factor(len(covariance), rho) - 1.0) * ratio, False, method)
    value = published_factor(len(covariance), rho) if ratio <= 1 + _EQUAL else math.inf
    return _Factor(value, False, method)


_MATRIX: dict[str, Callable[[Floats], tuple[float, bool]]] = {
    "gaussian-column": column_factor,
    "gaussian-h-matrix": h_matrix_factor,
    "gaussian-brute-force": brute_force_factor,
}

METHODS = ("general", "gaussian-published", "gaussian-class", *_MATRIX)
"""Names of the methods, beside ``"best"``."""

__all__ = ["ENUMERATED", "METHODS", "MOST_RECORDS", "gaussian_factor"]

"""The factor of Gaussian records by looking at every adversary."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.models.gaussian_parts import correlation_of

MOST_RECORDS = 20
"""Records of the largest block that is enumerated: a million sets of known records."""

_AT_ONCE = 10  # records whose subsets make one batch: 1024 matrices fit the cache
_LEAST_PIVOT = 1e-8  # conditional variances, as a share of the variance, that floating point still resolves
_EXACT_RECORDS = 10


@dataclass(frozen=True)
class _Batch:
    """Matrices swept on sets of known records: matrices[b] is swept where known[b] is true."""

    matrices: Floats
    known: NDArray[np.bool_]


def brute_force_factor(covariance: Floats) -> tuple[float, bool]:
    """Exact factor of Gaussian records: the maximum over all adversaries of 1 + |S_UT S_T^-1 e_i|_1.

    The sets T grow one record at a time by the sweep operator (Goodnight, "A tutorial on the SWEEP operator", 1979),
    a rank-one update that leaves S_UT S_T^-1 in rows U and columns T. Targets that the known records determine are
    left out. Near singular matrices are enumerated in rational arithmetic, up to ten records.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        m <= 20; the time doubles with each record.

    Returns
    -------
    tuple of float and bool
        The factor, >= 1, and True; ``(inf, False)`` where floating point does not tell which records determine
        others, or the matrix is not positive semidefinite.

    Raises
    ------
    InvalidProblem
        If there are more than 20 records.

    Examples
    --------
    >>> value, exact = brute_force_factor(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    >>> round(value, 12), exact
    (1.5, True)
    >>> brute_force_factor(np.ones((4, 4)))
    (4.0, True)
    """
    found = _largest(covariance, signed=False)
    if found is not None:
        return found.value, True
    if len(covariance) > _EXACT_RECORDS:
        return math.inf, False
    from privopt.measures.bayesian.gaussian_proof import prove_brute_force

    proved = prove_brute_force(covariance)
    return (math.inf, False) if proved is None else (float(proved), True)


def signed_sum_factor(covariance: Floats) -> float:
    """Exact factor of the sum of Gaussian records with Laplace noise: signs of the coefficients matter.

    The maximum over all adversaries of |1 + 1' S_UT S_T^-1 e_i|, attained in the tails of the noise. It is what the
    unclipped sum leaks, at most :func:`brute_force_factor`, and no promise about other queries.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Positive definite, m <= 20.

    Returns
    -------
    float
        The factor; inf for a covariance too near singular for floating point.

    Raises
    ------
    InvalidProblem
        If there are more than 20 records.

    Examples
    --------
    >>> round(signed_sum_factor(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]])), 12)
    1.4
    """
    found = _largest(covariance, signed=True)
    return math.inf if found is None else found.value


def worst_adversary(covariance: Floats) -> tuple[int, ...] | None:
    """The records that the worst adversary knows, the target among them, as floats tell; None where they do not.

    Examples
    --------
    >>> worst_adversary(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    (0,)
    """
    found = _largest(covariance, signed=False) if len(covariance) <= MOST_RECORDS else None
    return None if found is None else found.known


@dataclass(frozen=True)
class _Worst:
    """The largest factor, and the set of known records and target at which it is found."""

    value: float
    known: tuple[int, ...]


def _largest(covariance: Floats, *, signed: bool) -> _Worst | None:
    """The maximum over all adversaries; None where a conditional variance is nearly zero."""
    m = len(covariance)
    if m > MOST_RECORDS:
        raise InvalidProblem(f"{m} records have 2**{m} sets of known ones: enumerate at most {MOST_RECORDS}")
    deviations = np.sqrt(np.diag(covariance))
    largest = _Worst(1.0, tuple(range(m)))
    head = max(0, m - _AT_ONCE)
    start = _Batch(np.array(correlation_of(covariance))[None], np.zeros((1, m), dtype=np.bool_))
    for batch in _expanded(start, 0, head):
        whole: _Batch | None = batch
        for k in range(head, m):
            whole = _doubled(whole, k) if whole is not None else None
        if whole is None:
            return None
        weights = np.where(whole.known, 0.0, deviations)[:, None, :]
        coefficients = whole.matrices if signed else np.abs(whole.matrices)
        sums = (weights @ coefficients)[:, 0, :] / deviations
        factors = np.abs(1.0 + sums) if signed else 1.0 + sums
        top = float(np.max(factors, where=whole.known, initial=1.0))
        if top > largest.value:
            at = int(np.where(whole.known, factors, 0.0).max(axis=1).argmax())
            largest = _Worst(top, tuple(np.flatnonzero(whole.known[at]).tolist()))
        if not math.isfinite(float(sums.sum())):
            return None
    return largest


def _expanded(batch: _Batch, k: int, stop: int) -> Iterator[_Batch]:
    """One batch of a single matrix for each set of known records among k..stop-1, depth first."""
    if k == stop:
        yield batch
        return
    yield from _expanded(batch, k + 1, stop)
    both = _doubled(batch, k)
    # a singular set must not be skipped in silence: NaN makes the caller give up
    swept = np.full_like(batch.matrices, np.nan) if both is None else both.matrices[1:]
    known = batch.known.copy()
    known[:, k] = True
    yield from _expanded(_Batch(swept, known), k + 1, stop)


def _doubled(batch: _Batch, k: int) -> _Batch | None:
    """Every matrix without and with record k known; None where a pivot is nearly zero."""
    old, count = batch.matrices, len(batch.matrices)
    pivots = old[:, k, k]
    if not bool((pivots > _LEAST_PIVOT).all()):
        return None
    matrices = np.empty((2 * count, *old.shape[1:]))
    matrices[:count] = old
    new = matrices[count:]
    row = old[:, k, :] / pivots[:, None]
    np.multiply(old[:, :, k, None], row[:, None, :], out=new)
    np.subtract(old, new, out=new)
    new[:, k, :] = row
    new[:, :, k] = row
    new[:, k, k] = -1.0 / pivots
    known = np.concatenate([batch.known, batch.known])
    known[count:, k] = True
    return _Batch(matrices, known)

"""What a Gaussian model checks: a covariance, its mean, and which records depend on each other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidModel
from privopt.models.validation import frozen_floats

_ASYMMETRY = 1e-9  # of the two standard deviations: more than any library's rounding
_NEGATIVE = (
    1e-10  # of an eigenvalue of the correlation matrix: a covariance of few observations rounds this far
)


def real_array(values: object, what: str) -> Floats:
    """A float64 copy, refused unless rectangular, numeric and finite."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidModel(f"{what} is a masked array: fill or drop the masked entries first")
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise InvalidModel(f"{what} has rows of different lengths: give a rectangular array") from error
    if given.dtype.kind not in "iufO":
        raise InvalidModel(f"{what} holds {given.dtype} entries: give real numbers")
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidModel(f"{what} is not an array of real numbers: {error}") from error
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = ", ".join(map(str, bad[0]))
        raise InvalidModel(f"{what}[{where}] is {array[tuple(bad[0])]}: give finite numbers")
    return array


def covariance_array(values: object) -> Floats:
    """A symmetric, positive semidefinite matrix with positive diagonal, read-only."""
    matrix = real_array(values, "covariance")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InvalidModel(
            f"covariance has shape {matrix.shape}: give a square matrix of at least one record"
        )
    low = np.flatnonzero(np.diag(matrix) <= 0)
    if low.size:
        i = int(low[0])
        raise InvalidModel(
            f"covariance[{i}, {i}] is {matrix[i, i]}: variances are positive, so leave constant records out"
        )
    deviations = np.sqrt(np.diag(matrix))
    with np.errstate(over="ignore"):
        skew = np.abs(
            matrix / deviations / deviations[:, None] - (matrix / deviations / deviations[:, None]).T
        )
    if not skew.max() <= _ASYMMETRY:
        i, j = map(int, np.unravel_index(int(skew.argmax()), skew.shape))
        raise InvalidModel(
            f"covariance[{i}, {j}] is {matrix[i, j]} and covariance[{j}, {i}] is {matrix[j, i]}: make it symmetric"
        )
    symmetric = matrix / 2 + matrix.T / 2 + 0.0  # + 0.0 turns -0.0 into 0.0, so that equal laws hash alike
    _check_semidefinite(symmetric)
    return frozen_floats(symmetric)


def _check_semidefinite(covariance: Floats) -> None:
    """Refuse a matrix that no data can have."""
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / deviations / deviations[:, None]
    try:
        np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(correlation)[0])
        if least < -_NEGATIVE:
            raise InvalidModel(
                f"covariance is not positive semidefinite: its correlations have the eigenvalue {least:.3g}; "
                "estimate it from complete rows"
            ) from None


def correlation_of(covariance: Floats) -> Floats:
    """Correlations, with ones on the diagonal, within [-1, 1]."""
    deviations = np.sqrt(np.diag(covariance))
    found = np.clip(covariance / deviations / deviations[:, None], -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return frozen_floats(found)


def mean_array(values: object, size: int) -> Floats:
    """One finite mean a record, zeros by default, read-only."""
    if values is None:
        return frozen_floats(np.zeros(size))
    mean = real_array(values, "mean")
    if mean.shape != (size,):
        raise InvalidModel(f"mean has shape {mean.shape} for {size} records: give one number for each")
    return frozen_floats(mean + 0.0)


def components(linked: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """Connected components of a symmetric relation, each sorted, in the order of their first members."""
    left = np.ones(len(linked), dtype=np.bool_)
    found: list[tuple[int, ...]] = []
    for start in range(len(linked)):
        if not left[start]:
            continue
        block = np.zeros(len(linked), dtype=np.bool_)
        block[start] = True
        frontier = np.array([start])
        while frontier.size:
            frontier = np.flatnonzero(linked[frontier].any(axis=0) & ~block)
            block[frontier] = True
        left &= ~block
        found.append(tuple(np.flatnonzero(block).tolist()))
    return tuple(found)


def spread(covariance: Floats) -> float:
    """Largest standard deviation over the smallest."""
    variances = np.diag(covariance)
    return math.sqrt(float(variances.max())) / math.sqrt(float(variances.min()))

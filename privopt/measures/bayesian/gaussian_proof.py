"""Factors of Gaussian records that are proved in rational arithmetic, for the floats as they are stored."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.measures.bayesian._gaussian_balls import prove_h_matrix
from privopt.measures.bayesian.gaussian_brute import worst_adversary
from privopt.measures.bayesian.gaussian_column import nothing_known
from privopt.measures.bayesian.gaussian_enumeration import MOST_PROVED, prove_enumeration
from privopt.models import GaussianModel

if TYPE_CHECKING:
    from flint import fmpq_mat

_ENUMERATED = 10
_ROUNDING = Fraction(1, 10**12)
_SURELY_ABOVE = 2.000001  # a column sum in floats errs by far less


def prove_column(covariance: Floats) -> Fraction | None:
    """The exact column factor 1 + r in rationals; None where r > 1.

    The proof is that of :func:`~privopt.measures.bayesian.gaussian_column.column_factor`; it uses nothing but the
    column sums and S being positive semidefinite.

    Examples
    --------
    >>> prove_column(np.array([[1, 0.5], [0.5, 2]]))
    Fraction(3, 2)
    """
    if nothing_known(covariance) > _SURELY_ABOVE:
        return None
    largest = max(_column(covariance, i) for i in range(len(covariance)))
    return largest if largest <= 2 else None


def _column(covariance: Floats, i: int) -> Fraction:
    """The factor of record i against an adversary who knows no record, exactly."""
    column = covariance[:, i]
    return _exact_sum(np.abs(column)) / Fraction(float(column[i]))


def _exact_sum(values: Floats) -> Fraction:
    """The sum of non-negative floats, fewer than 2^26, without rounding: halves of mantissas are added up for each exponent."""
    mantissa, exponent = np.frexp(values)
    whole, least = (mantissa * 2.0**53).astype(np.int64), int(exponent.min())
    high, low = (
        np.bincount(exponent - least, part).astype(np.int64) for part in (whole >> 26, whole % 2**26)
    )
    total = sum(
        ((int(high[k]) << 26) + int(low[k])) << int(k) for k in np.flatnonzero((high != 0) | (low != 0))
    )
    return total * Fraction(2) ** (least - 53)


def prove_brute_force(covariance: Floats) -> Fraction | None:
    """The exact factor in rationals, by enumerating every adversary; singular covariances too.

    Sets T with det S_T = 0 are left out: either the known records determine the target, which has then no two
    possible values, or one of the known records is determined by the others and can be forgotten.

    Returns
    -------
    Fraction or None
        None with more than ten records, or where the stored floats are not positive semidefinite.

    Examples
    --------
    >>> prove_brute_force(np.array([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]]))
    Fraction(2, 1)
    """
    from flint import fmpq, fmpq_mat

    m = len(covariance)
    if m > _ENUMERATED:
        return None
    entries = [[fmpq(*entry.as_integer_ratio()) for entry in row] for row in covariance.tolist()]
    largest = Fraction(1)
    for size in range(1, m + 1):
        for known in combinations(range(m), size):
            matrix = fmpq_mat([[entries[i][j] for j in known] for i in known])
            determinant = matrix.det()
            if determinant < 0:
                return None
            unknown = [j for j in range(m) if j not in known]
            if determinant > 0 and unknown:
                across = fmpq_mat([[entries[i][j] for j in known] for i in unknown])
                largest = max(largest, 1 + _largest_column(across * matrix.inv()))
    return largest


def _largest_column(matrix: fmpq_mat) -> Fraction:
    """Largest sum of absolute values of a column."""
    from flint import fmpq

    rows, columns = range(matrix.nrows()), range(matrix.ncols())
    found = max(sum((abs(matrix[i, j]) for i in rows), fmpq(0)) for j in columns)
    return Fraction(int(found.p), int(found.q))


@lru_cache(maxsize=64)
def prove_least_factor(model: GaussianModel) -> Fraction:
    """A factor that some adversary of a model reaches, in rationals: a lower bound on the factor against all.

    The better of an adversary who knows nothing and the one that enumeration in floats finds worst; with up to ten records of
    a singular covariance all are enumerated.

    Examples
    --------
    >>> prove_least_factor(GaussianModel([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]]))
    Fraction(2, 1)
    """
    return max(_least_of_block(model.covariance[np.ix_(block, block)]) for block in model.blocks)


def _least_of_block(covariance: Floats) -> Fraction:
    m = len(covariance)
    with np.errstate(over="ignore"):
        sums = (np.abs(covariance) / np.diag(covariance)).sum(axis=0)
    least = _column(covariance, int(sums.argmax()))
    if m > MOST_PROVED or prove_column(covariance) is not None:
        return least
    known = worst_adversary(covariance)
    if known is None:
        exact = prove_brute_force(covariance)
        return least if exact is None else exact
    return max(least, _factor_of(covariance, known))


def _factor_of(covariance: Floats, known: tuple[int, ...]) -> Fraction:
    """The largest factor of the adversaries who know all but one of some records, exactly; 1 if it is not defined."""
    from flint import fmpq, fmpq_mat

    unknown = [j for j in range(len(covariance)) if j not in known]
    if not unknown:
        return Fraction(1)
    exact = [[fmpq(*x.as_integer_ratio()) for x in row] for row in covariance[:, list(known)].tolist()]
    inside = fmpq_mat([exact[i] for i in known])
    if inside.det() == 0:
        return Fraction(1)
    return 1 + _largest_column(fmpq_mat([exact[i] for i in unknown]) * inside.inv())


@lru_cache(maxsize=64)
def prove_factor(model: GaussianModel) -> tuple[Fraction, str]:
    """The least factor that can be proved for a model, and how: the largest over its independent blocks.

    Never above the size of the largest block, which bounds whatever the law. Targets are inside the clipping
    interval.

    Returns
    -------
    tuple of Fraction and str
        The factor, and the method of the block that gave it.

    Examples
    --------
    >>> prove_factor(GaussianModel([[1, 0.25, 0], [0.25, 1, 0], [0, 0, 1]]))
    (Fraction(5, 4), 'gaussian-column')
    """
    return max(_prove_block(model.covariance[np.ix_(block, block)]) for block in model.blocks)


def _prove_block(covariance: Floats) -> tuple[Fraction, str]:
    """The least of what is proved for one block; cheap methods first, enumeration last."""
    general: tuple[Fraction, str] = (Fraction(len(covariance)), "general")
    column = prove_column(covariance)
    if column is not None:
        return min((column, "gaussian-column"), general)
    found: list[tuple[Fraction, str]] = [general]
    dominated = prove_h_matrix(covariance)
    if dominated is not None:
        found.append((dominated, "gaussian-h-matrix"))
    # 1 + r is a lower bound: a proof that meets it needs no enumeration
    if dominated is None or dominated > Fraction(nothing_known(covariance)) * (1 + _ROUNDING):
        enumerated = _prove_enumeration(covariance)
        if enumerated is not None:
            found.append((enumerated, "gaussian-brute-force"))
    return min(found)


def _prove_enumeration(covariance: Floats) -> Fraction | None:
    """Balls where they decide, and rationals for singular covariances."""
    proved = prove_enumeration(covariance)
    return prove_brute_force(covariance) if proved is None else proved

"""The factor of Gaussian records by looking at every adversary, proved in ball arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from privopt.arrays import Floats
from privopt.measures.bayesian._gaussian_balls import upper_end

if TYPE_CHECKING:
    from flint import arb, arb_mat

MOST_PROVED = 16
"""Records of the largest block that is enumerated in balls: 65536 small inverses, tens of seconds."""

_PRECISION = 192


def prove_enumeration(covariance: Floats) -> Fraction | None:
    """A proved upper bound on the factor, equal to it but for the width of the balls.

    The leading principal minors of S are shown to be positive, so S is positive definite (Sylvester) and every S_T
    has an inverse. For each T the balls of S_UT S_T^-1 enclose the coefficients of all adversaries with K + {i} = T.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Taken as the rational numbers that it stores.

    Returns
    -------
    Fraction or None
        None with more than 16 records, or where the balls do not show S to be positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> proved = prove_enumeration(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    >>> 1.5 <= proved <= 1.5 + 1e-15
    True
    """
    from flint import arb, ctx

    if len(covariance) > MOST_PROVED:
        return None
    saved = ctx.prec
    try:
        ctx.prec = _PRECISION
        entries = [[arb(entry) for entry in row] for row in covariance.tolist()]
        return _largest(entries) if _positive_definite(entries) else None
    except ZeroDivisionError:  # a matrix not shown to be invertible at this precision
        return None
    finally:
        ctx.prec = saved


def _positive_definite(entries: list[list[arb]]) -> bool:
    """Whether all leading principal minors are positive, for certain."""
    from flint import arb_mat

    sizes = range(1, len(entries) + 1)
    return all(bool(arb_mat([row[:size] for row in entries[:size]]).det() > 0) for size in sizes)


def _largest(entries: list[list[arb]]) -> Fraction:
    """One plus the largest column sum over all sets T, rounded up."""
    from flint import arb, arb_mat

    m = len(entries)
    largest = arb(0)
    for size in range(1, m):
        for known in combinations(range(m), size):
            inside = arb_mat([[entries[i][j] for j in known] for i in known])
            across = arb_mat([[entries[i][j] for j in known] for i in range(m) if i not in known])
            largest = _larger(largest, across * inside.inv())
    return 1 + upper_end(largest)


def _larger(largest: arb, matrix: arb_mat) -> arb:
    """The larger of a number and the column sums of absolute values of a matrix."""
    for column in zip(*matrix.table(), strict=True):
        largest = largest.max(sum(map(abs, column[1:]), abs(column[0])))
    return largest

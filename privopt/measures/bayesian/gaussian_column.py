"""The column bound: weak Gaussian dependence, where the exact factor is the largest column sum."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats


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

    The factor h of a covariance S is the least number such that every mechanism that is tau-private for the l1
    distance leaks at most h tau |x - x'| about a record, whoever asks. An adversary who knows x_K and targets i
    has, with T = K + {i} and U the rest, h = 1 + ||S_UT S_T^-1 e_i||_1 (Lange, Guerra-Balboa, Parra-Arnau, Strufe,
    "Balancing Privacy and Utility in Correlated Data", proof of Theorem 5.5).

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

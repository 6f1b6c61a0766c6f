"""Factors of classes of Gaussian records: only the size of a group and its largest correlation are known."""

from __future__ import annotations

import math


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

"""Lifts, and local information privacy, which bounds every one of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privopt.arrays import Floats
from privopt.measures.inputs import Joint, JointLike, read_joint
from privopt.measures.renyi import log_ratio
from privopt.measures.values import Unit, in_unit, settled


class InformationPrivacy(NamedTuple):
    """Largest log-lift (at least 0), smallest log-lift (at most 0), and the larger size of the two."""

    upper: float
    lower: float
    symmetric: float


def lift(joint: JointLike, *, normalise: bool = False) -> Floats:
    """Lift Pr(s, y) / (Pr(s) Pr(y)) of every cell.

    Parameters
    ----------
    joint : JointDistribution or array-like, shape (n_s, n_y)
        Pr(s, y), summing to 1 within 1e-9.
    normalise : bool
        Divide counts, or a rounded table, by their sum.

    Returns
    -------
    float array, shape (n_s, n_y)
        At least 0; NaN in rows and columns of probability zero, where no lift is defined.

    Raises
    ------
    InvalidModel
        If an entry is negative or not finite, or the sum is off 1.

    Examples
    --------
    >>> lift([[0.5, 0.0, 0.0], [0.25, 0.25, 0.0]])
    array([[1.33333333, 0.        ,        nan],
           [0.66666667, 2.        ,        nan]])
    """
    law = read_joint(joint, normalise)
    return _placed(law, law.channel / law.law)


def log_lift(joint: JointLike, *, unit: Unit = "nats", normalise: bool = False) -> Floats:
    """Log-lift (information density) ln Pr(s, y) / (Pr(s) Pr(y)) of every cell.

    Parameters
    ----------
    joint : JointDistribution or array-like, shape (n_s, n_y)
        Pr(s, y), summing to 1 within 1e-9.
    unit : {"nats", "bits"}
    normalise : bool
        Divide counts, or a rounded table, by their sum.

    Returns
    -------
    float array, shape (n_s, n_y)
        -inf where the pair never occurs though both symbols do; NaN in rows and columns of probability zero.

    Raises
    ------
    InvalidModel
        If an entry is negative or not finite, or the sum is off 1.

    Examples
    --------
    >>> log_lift([[0.5, 0.0], [0.25, 0.25]], unit="bits").round(3)
    array([[ 0.415,   -inf],
           [-0.585,  1.   ]])
    """
    law = read_joint(joint, normalise)
    return _placed(law, log_ratio(law.channel, law.law) * in_unit(1.0, unit))


def local_information_privacy(
    joint: JointLike, *, unit: Unit = "nats", normalise: bool = False
) -> InformationPrivacy:
    """Largest and smallest log-lift: how much one release can raise or lower the belief in one secret.

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), asymmetric local
    information privacy. The level epsilon of a guarantee is always meant in nats.

    Parameters
    ----------
    joint : JointDistribution or array-like, shape (n_s, n_y)
        Pr(s, y), summing to 1 within 1e-9.
    unit : {"nats", "bits"}
    normalise : bool
        Divide counts, or a rounded table, by their sum.

    Returns
    -------
    upper : float
        max ln lift >= 0, always finite.
    lower : float
        min ln lift <= 0, signed; -inf if a possible pair never occurs.
    symmetric : float
        The larger of ``upper`` and ``-lower``.

    Raises
    ------
    InvalidModel
        If an entry is negative or not finite, or the sum is off 1.

    Examples
    --------
    >>> upper, lower, symmetric = local_information_privacy([[0.4, 0.1], [0.2, 0.3]])
    >>> round(upper, 6), round(lower, 6), round(symmetric, 6)
    (0.405465, -0.693147, 0.693147)
    """
    law = read_joint(joint, normalise)
    found = log_ratio(law.channel, law.law)
    upper = in_unit(settled(found.max(), "the largest log-lift"), unit)
    lower = in_unit(settled(-found.min(), "the size of the smallest log-lift"), unit)
    return InformationPrivacy(upper, -lower if lower else 0.0, max(upper, lower))


def _placed(law: Joint, values: Floats) -> Floats:
    """Values of the symbols that occur, in a table of the shape that was given."""
    found = np.full(law.shape, np.nan)
    found[np.ix_(law.rows, law.columns)] = values
    return found

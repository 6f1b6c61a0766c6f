"""Lifts and log-lifts, local information privacy, and the mutual information that it allows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.inputs import Joint, JointLike, Unit, in_unit, read_joint, settled
from privopt.measures.renyi import log_ratio


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
    distribution = read_joint(joint, normalise)
    return _placed(distribution, distribution.channel / distribution.marginal)


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
    distribution = read_joint(joint, normalise)
    return _placed(distribution, log_ratio(distribution.channel, distribution.marginal) * in_unit(1.0, unit))


def local_information_privacy(
    joint: JointLike, *, unit: Unit = "nats", normalise: bool = False
) -> InformationPrivacy:
    """Local information privacy: the largest and smallest log-lift, what a release moves the belief in a secret by.

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
    distribution = read_joint(joint, normalise)
    log_lifts = log_ratio(distribution.channel, distribution.marginal)
    upper = in_unit(settled(log_lifts.max(), "the largest log-lift"), unit)
    lower = in_unit(settled(-log_lifts.min(), "the size of the smallest log-lift"), unit)
    return InformationPrivacy(upper, -lower if lower else 0.0, max(upper, lower))


def _placed(distribution: Joint, values: Floats) -> Floats:
    """Values of the symbols that occur, in a table of the shape that was given."""
    table = np.full(distribution.shape, np.nan)
    table[np.ix_(distribution.rows, distribution.columns)] = values
    return table


_SMALL = 0.1
_TERMS = 16


def mutual_information_bound(upper: float, lower: float, *, unit: Unit = "nats") -> float:
    """Largest mutual information of a joint whose log-lifts lie in [-l, u].

    t e^u u - (1-t) e^-l l with t = (1 - e^-l) / (e^u - e^-l): the mean of lift ln lift is convex in the distribution of the
    lift, whose mean is 1, so the two ends carry all of it in the worst case. For u = l it is u tanh(u/2). Sharpens
    the lemma MI <= u of Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021).

    Parameters
    ----------
    upper : float
        Bound u >= 0 on the log-lifts, nats, perhaps inf.
    lower : float
        Smallest log-lift, or its size l (the sign does not matter), nats, perhaps infinite.
    unit : {"nats", "bits"}
        Of the answer.

    Returns
    -------
    float
        At least 0 and at most u.

    Raises
    ------
    InvalidProblem
        If ``upper`` is negative, or either is not a number.

    Examples
    --------
    >>> round(mutual_information_bound(1.0, -1.0), 9), mutual_information_bound(0.5, float("inf"))
    (0.462117157, 0.5)
    """
    u, size = float(upper), abs(float(lower))
    if not u >= 0 or math.isnan(size):
        raise InvalidProblem(
            f"upper must be at least 0 and lower a number, in nats, got {upper!r} and {lower!r}"
        )
    if min(u, size) == 0:
        return 0.0
    if math.isinf(size) or math.isinf(u):
        return in_unit(u, unit)
    # With weights t and 1-t both lifts are compared with 1 through phi(r) = r ln r - r + 1 >= 0, so that no
    # difference of large numbers is left: t e^u phi-part (u - 1 + e^-u) and (1-t) e^-l phi-part (e^l - 1 - l).
    spread = -math.expm1(-(u + size))
    high = -math.expm1(-size) / spread * _excess(-u)
    low = -math.expm1(-u) / spread * _scaled_excess(size)
    return in_unit(min(high + low, u), unit)


def _excess(x: float) -> float:
    """e^x - 1 - x."""
    if abs(x) >= _SMALL:
        return math.expm1(x) - x
    series = 0.0
    for k in range(_TERMS, 1, -1):
        series = series * x + 1 / math.factorial(k)
    return series * x * x


def _scaled_excess(x: float) -> float:
    """e^-x (e^x - 1 - x), for x > 0."""
    return math.exp(-x) * _excess(x) if x < 1 else -math.expm1(-x) - x * math.exp(-x)

"""Sibson's mutual information of every order, and the maximal leakages that it gives."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.capacity import radius, widened
from privopt.measures.inputs import (
    ChannelInput,
    JointLike,
    Numbers,
    Unit,
    in_unit,
    read_joint,
    read_order,
    settled,
    supported,
)
from privopt.measures.renyi import divergences, mean_of_exponentials


def sibson_mutual_information(
    joint: JointLike, alpha: float, *, unit: Unit = "nats", normalise: bool = False
) -> float:
    """Sibson's mutual information a/(a-1) ln sum_y (sum_s P(s) P(y|s)^a)^(1/a).

    Never falls as a grows (Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing", CSCIT
    2021, where its largest value over priors is the maximal alpha-leakage).

    Parameters
    ----------
    joint : JointDistribution or array-like, shape (n_s, n_y)
        Pr(s, y), summing to 1 within 1e-9.
    alpha : float
        Order in [0, inf]: mutual information at 1, ln sum_y max_s P(y|s) at inf, and at 0 the limit
        -ln max_y Pr(the secrets that can give y).
    unit : {"nats", "bits"}
    normalise : bool
        Divide counts, or a rounded table, by their sum.

    Returns
    -------
    float
        At least 0.

    Raises
    ------
    InvalidModel
        If the table is no joint distribution.
    InvalidProblem
        If alpha is negative.

    Examples
    --------
    >>> [round(sibson_mutual_information([[0.5, 0.1], [0.1, 0.3]], a), 6) for a in (0.5, 1, 2, float("inf"))]
    [0.095636, 0.177741, 0.290236, 0.459532]
    """
    distribution, order = read_joint(joint, normalise), read_order(alpha, 0.0)
    value = sibson_of(distribution.prior, distribution.channel, order)
    return in_unit(settled(value, "Sibson's information"), unit)


def sibson_of(prior: Floats, channel: Floats, order: float) -> float:
    """Sibson's information at a positive prior, in nats."""
    if order == 0:
        return -float(np.log(np.minimum((prior @ (channel > 0)).max(), 1.0)))
    if math.isinf(order):
        return float(np.log1p((channel.max(axis=0) - channel[0]).sum()))
    distribution = prior @ channel
    # A column that only secrets of vanishing probability can give may underflow.
    seen = distribution > 0
    posterior = (channel[:, seen] * prior[:, None] / distribution[seen]).T
    return mean_of_exponentials(distribution[seen], divergences(posterior, prior, order), order)


def maximal_leakage(
    channel: ChannelInput, prior: Numbers | None = None, *, unit: Unit = "nats", normalise: bool = False
) -> float:
    """Maximal leakage ln sum_y max_x Pr(y|x): what any secret behind X can leak to a guesser at most.

    Parameters
    ----------
    channel : Channel, JointDistribution or array-like, shape (n_x, n_y)
        Rows Pr(y|x), each summing to 1 within 1e-9. A JointDistribution stands for the distributions of its columns given
        each row of positive probability.
    prior : array-like, shape (n_x,), optional
        Only its support matters: inputs of probability 0 do not count. All count by default.
    unit : {"nats", "bits"}
    normalise : bool
        Divide rows of counts, and the prior, by their sums.

    Returns
    -------
    float
        Between 0 and ln min(n_x, n_y).

    Raises
    ------
    InvalidMechanism
        If the table is no channel, or the prior has another length.
    InvalidModel
        If the prior is no distribution.

    Examples
    --------
    >>> maximal_leakage([[0.75, 0.25], [0.25, 0.75]], unit="bits")
    0.5849625007211562
    """
    rows, _ = supported(channel, prior, normalise)
    return in_unit(settled(_at_infinity(rows), "the maximal leakage"), unit)


def maximal_alpha_leakage(
    channel: ChannelInput,
    alpha: float,
    prior: Numbers | None = None,
    *,
    unit: Unit = "nats",
    normalise: bool = False,
    tol: float = 1e-9,
    max_steps: int = 20_000,
) -> tuple[float, float]:
    """Maximal alpha-leakage of X to Y, as an interval that contains it.

    For a > 1 the largest Sibson information of order a over priors on the support of X, equal to the smallest q of
    max_x D_a(P_{Y|x} || q): each step of an alternating maximisation yields a prior (from below) and a q (from
    above). Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), maximal
    alpha-leakage. Both ends are widened by a bound on rounding, 2^-52 (64 + n_x + n_y) (1 + value). Channels whose
    rows, and whose columns, are permutations of one another are settled by the uniform prior at the first step.

    Parameters
    ----------
    channel : Channel, JointDistribution or array-like, shape (n_x, n_y)
        Rows Pr(y|x); of a JointDistribution, with its own marginal as the prior unless one is given.
    alpha : float
        Order in [1, inf]. At 1 the mutual information at the prior, which must then be given: the limit from
        above is the capacity, which is larger. At inf maximal leakage.
    prior : array-like, shape (n_x,), optional
        For a > 1 only its support matters. All inputs count by default.
    unit : {"nats", "bits"}
    normalise : bool
        Divide rows of counts, and the prior, by their sums.
    tol : float
        Width in nats at which to stop.
    max_steps : int
        Steps after which the interval is returned as it is, wider than ``tol``.

    Returns
    -------
    (float, float)
        Lower and upper end, never below 0.

    Raises
    ------
    InvalidMechanism
        If the table is no channel, or the prior has another length.
    InvalidModel
        If the prior is no distribution.
    InvalidProblem
        If alpha is below 1, or 1 without a prior.

    Examples
    --------
    >>> low, high = maximal_alpha_leakage([[0.75, 0.25], [0.25, 0.75]], 2)
    >>> round(low, 9), round(high, 9)  # ln 2 + ln(p^2 + (1-p)^2) at p = 1/4
    (0.223143551, 0.223143551)
    """
    order = read_order(alpha)
    rows, distribution = supported(channel, prior, normalise)
    if order == 1:
        if distribution is None:
            raise InvalidProblem("alpha=1 is the mutual information at a prior: give one, or call capacity")
        value = float(distribution @ divergences(rows, distribution @ rows, 1.0))
        low, high = widened(value, value, rows)
    elif math.isinf(order):
        value = _at_infinity(rows)
        low, high = widened(value, value, rows)
    else:
        low, high = radius(rows, order, tol, max_steps)
    return in_unit(low, unit), in_unit(high, unit)


def _at_infinity(rows: Floats) -> float:
    # Against one row instead of 1: every term is non-negative, so small leakages are resolved.
    return float(np.log1p((rows.max(axis=0) - rows[0]).sum()))

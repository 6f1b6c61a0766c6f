"""Sibson's information of order alpha."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.measures.inputs import JointLike, read_joint
from privopt.measures.renyi import divergences, mean_of_exponentials
from privopt.measures.values import Unit, in_unit, read_order, settled


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
        If the table is no joint law.
    InvalidProblem
        If alpha is negative.

    Examples
    --------
    >>> [round(sibson_mutual_information([[0.5, 0.1], [0.1, 0.3]], a), 6) for a in (0.5, 1, 2, float("inf"))]
    [0.095636, 0.177741, 0.290236, 0.459532]
    """
    law, order = read_joint(joint, normalise), read_order(alpha, 0.0)
    value = sibson_of(law.prior, law.channel, order)
    return in_unit(settled(value, "Sibson's information"), unit)


def sibson_of(prior: Floats, channel: Floats, order: float) -> float:
    """Sibson's information at a positive prior, in nats."""
    if order == 0:
        return -float(np.log(np.minimum((prior @ (channel > 0)).max(), 1.0)))
    if math.isinf(order):
        return float(np.log1p((channel.max(axis=0) - channel[0]).sum()))
    law = prior @ channel
    # A column that only secrets of vanishing probability can give may underflow.
    seen = law > 0
    posterior = (channel[:, seen] * prior[:, None] / law[seen]).T
    return mean_of_exponentials(law[seen], divergences(posterior, prior, order), order)

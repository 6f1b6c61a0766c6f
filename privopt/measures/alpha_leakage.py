"""Alpha-leakage (Arimoto's information) and its limit, min-entropy leakage."""

from __future__ import annotations

import math

import numpy as np

from privopt.measures.inputs import Joint, JointLike, read_joint
from privopt.measures.renyi import log_sum_exp
from privopt.measures.sibson import sibson_of
from privopt.measures.values import Unit, in_unit, read_order, settled

_WIDEST = 600.0


def alpha_leakage(joint: JointLike, alpha: float, *, unit: Unit = "nats", normalise: bool = False) -> float:
    """Alpha-leakage about S: Arimoto's information a/(a-1) ln [ sum_y norm_a(P(., y)) / norm_a(P_S) ].

    The growth, in scaled logarithm, of the best expected alpha-reward of an adversary who sees Y (Sadeghi,
    "Fundamental trade-offs between privacy and utility in data sharing", CSCIT 2021). It need not grow with a. It
    equals Sibson's information at the prior P^a / sum P^a, which is how it is computed wherever that prior is not
    too skewed for floats: nothing is lost near a = 1.

    Parameters
    ----------
    joint : JointDistribution or array-like, shape (n_s, n_y)
        Pr(s, y), summing to 1 within 1e-9.
    alpha : float
        Order in [1, inf]: mutual information at 1, min-entropy leakage at inf.
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
        If alpha is below 1.

    Examples
    --------
    >>> [round(alpha_leakage([[0.5, 0.1], [0.1, 0.3]], a), 6) for a in (1, 2, float("inf"))]
    [0.177741, 0.27192, 0.287682]
    """
    law, order = read_joint(joint, normalise), read_order(alpha)
    if math.isinf(order):
        return min_entropy_leakage(joint, unit=unit, normalise=normalise)
    tilted = order * np.log(law.prior / law.prior.max())
    if tilted.min() > -_WIDEST:
        weights = np.exp(tilted)
        value = sibson_of(weights / weights.sum(), law.channel, order)
    else:
        value = _directly(law, order)
    return in_unit(settled(value, "the alpha-leakage"), unit)


def _directly(law: Joint, order: float) -> float:
    """The definition, in logarithms: for orders that tilt some secret below the smallest float."""
    with np.errstate(divide="ignore"):
        cells = order * np.log(law.table)
    seen = log_sum_exp(log_sum_exp(cells, axis=0) / order)
    blind = log_sum_exp(order * np.log(law.prior)) / order
    return float(seen - blind) * order / (order - 1)


def min_entropy_leakage(joint: JointLike, *, unit: Unit = "nats", normalise: bool = False) -> float:
    """Min-entropy leakage ln [ sum_y max_s P(s, y) / max_s P(s) ]: how much likelier one guess of S gets.

    Alpha-leakage at inf. It is 0 for some dependent tables, and protecting it for X does not protect it for an S
    behind X.

    Parameters
    ----------
    joint : JointDistribution or array-like, shape (n_s, n_y)
        Pr(s, y), summing to 1 within 1e-9.
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

    Examples
    --------
    >>> min_entropy_leakage([[1, 0], [1, 2]], normalise=True)
    0.0
    """
    law = read_joint(joint, normalise)
    # Relative to the best blind guess, every seen one gains a non-negative amount: no cancellation.
    best = law.table[int(law.prior.argmax())]
    gain = (law.table.max(axis=0) - best).sum() / best.sum()
    return in_unit(settled(float(np.log1p(gain)), "the min-entropy leakage"), unit)

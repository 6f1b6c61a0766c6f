"""Alpha-lift: how much one output can lift the secrets, in a mean of order alpha."""

from __future__ import annotations

import numpy as np

from privopt.measures.inputs import JointLike, read_joint
from privopt.measures.renyi import divergences
from privopt.measures.values import Unit, in_unit, read_order, settled


def alpha_lift(joint: JointLike, alpha: float, *, unit: Unit = "nats", normalise: bool = False) -> float:
    """Alpha-lift: max over y of ln (sum_s Pr(s) lift(s, y)^a)^(1/a) = (a-1)/a D_a(P_{S|y} || P_S).

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), tunable
    alpha-lift; printed there with (a-1)/a outside the exponential, where it does not belong.

    Parameters
    ----------
    joint : JointDistribution or array-like, shape (n_s, n_y)
        Pr(s, y), summing to 1 within 1e-9.
    alpha : float
        Order in [1, inf]: 0 at 1, the largest log-lift at inf, growing in between.
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
    >>> [round(alpha_lift([[0.4, 0.1], [0.2, 0.3]], a), 6) for a in (1, 2, float("inf"))]
    [0.0, 0.111572, 0.405465]
    """
    law, order = read_joint(joint, normalise), read_order(alpha)
    factor = 1.0 if np.isinf(order) else (order - 1) / order
    value = float(divergences(law.posterior, law.prior, order).max()) * factor
    return in_unit(settled(value, "the alpha-lift"), unit)

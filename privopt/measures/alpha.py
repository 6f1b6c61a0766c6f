"""Alpha-leakage, alpha-lift, and the losses of an adversary of order alpha."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.files.labels import Label
from privopt.measures.inputs import Joint, JointLike, Unit, in_unit, position, read_joint, read_order, settled
from privopt.measures.renyi import divergences, log_sum_exp, renyi_entropies
from privopt.measures.sibson import sibson_of

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
        If the table is no joint distribution.
    InvalidProblem
        If alpha is below 1.

    Examples
    --------
    >>> [round(alpha_leakage([[0.5, 0.1], [0.1, 0.3]], a), 6) for a in (1, 2, float("inf"))]
    [0.177741, 0.27192, 0.287682]
    """
    distribution, order = read_joint(joint, normalise), read_order(alpha)
    if math.isinf(order):
        return min_entropy_leakage(joint, unit=unit, normalise=normalise)
    tilted = order * np.log(distribution.prior / distribution.prior.max())
    if tilted.min() > -_WIDEST:
        weights = np.exp(tilted)
        value = sibson_of(weights / weights.sum(), distribution.channel, order)
    else:
        value = _directly(distribution, order)
    return in_unit(settled(value, "the alpha-leakage"), unit)


def _directly(distribution: Joint, order: float) -> float:
    """The definition, in logarithms: for orders that tilt some secret below the smallest float."""
    with np.errstate(divide="ignore"):
        cells = order * np.log(distribution.table)
    seen = log_sum_exp(log_sum_exp(cells, axis=0) / order)
    blind = log_sum_exp(order * np.log(distribution.prior)) / order
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
        If the table is no joint distribution.

    Examples
    --------
    >>> min_entropy_leakage([[1, 0], [1, 2]], normalise=True)
    0.0
    """
    distribution = read_joint(joint, normalise)
    # Relative to the best blind guess, every seen one gains a non-negative amount: no cancellation.
    best = distribution.table[int(distribution.prior.argmax())]
    gain = (distribution.table.max(axis=0) - best).sum() / best.sum()
    return in_unit(settled(float(np.log1p(gain)), "the min-entropy leakage"), unit)


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
        If the table is no joint distribution.
    InvalidProblem
        If alpha is below 1.

    Examples
    --------
    >>> [round(alpha_lift([[0.4, 0.1], [0.2, 0.3]], a), 6) for a in (1, 2, float("inf"))]
    [0.0, 0.111572, 0.405465]
    """
    distribution, order = read_joint(joint, normalise), read_order(alpha)
    factor = 1.0 if np.isinf(order) else (order - 1) / order
    value = float(divergences(distribution.posterior, distribution.prior, order).max()) * factor
    return in_unit(settled(value, "the alpha-lift"), unit)


def alpha_loss(probability: ArrayLike, alpha: float) -> float | Floats:
    """Loss a/(a-1) (1 - p^(1-1/a)) of an adversary who gave probability p to what turned out true.

    Parameters
    ----------
    probability : float or array-like of float
        In [0, 1].
    alpha : float
        Order in [1, inf]: -ln p at 1 (nats), 1 - p at inf (probability of a wrong guess).

    Returns
    -------
    float, or float array of the same shape
        Between 0 (p = 1) and a/(a-1) (p = 0; inf at order 1); falls with p and with a.

    Raises
    ------
    InvalidProblem
        If a probability is outside [0, 1] or alpha is below 1.

    Examples
    --------
    >>> round(alpha_loss(0.5, 2), 9), alpha_loss([0.25, 1.0], float("inf"))
    (0.585786438, array([0.75, 0.  ]))
    """
    p, order = np.array(probability, dtype=np.float64), read_order(alpha)
    if not ((p >= 0) & (p <= 1)).all():
        raise InvalidProblem(f"probability must be in [0, 1], got {probability!r}")
    with np.errstate(divide="ignore"):
        loss = _loss(-np.log(p), order)
    return float(loss) if loss.ndim == 0 else loss


def expected_alpha_loss(joint: JointLike, alpha: float, *, normalise: bool = False) -> tuple[float, float]:
    """Smallest expected alpha-loss about S of an adversary who sees Y, and of one who does not.

    With Y it is a/(a-1) (1 - sum_y norm_a(P(., y))), without a/(a-1) (1 - norm_a(P_S)); the loss of the Rényi
    entropy of order a of each posterior, averaged.

    Parameters
    ----------
    joint : JointDistribution or array-like, shape (n_s, n_y)
        Pr(s, y), summing to 1 within 1e-9.
    alpha : float
        Order in [1, inf]: the entropies H(S|Y) and H(S) in nats at 1, the probabilities of a wrong guess at inf.
    normalise : bool
        Divide counts, or a rounded table, by their sum.

    Returns
    -------
    (float, float)
        With Y, without Y; the first is never larger.

    Raises
    ------
    InvalidModel
        If the table is no joint distribution.
    InvalidProblem
        If alpha is below 1.

    Examples
    --------
    >>> expected_alpha_loss([[0.5, 0.0], [0.25, 0.25]], float("inf"))
    (0.25, 0.5)
    """
    distribution, order = read_joint(joint, normalise), read_order(alpha)
    seen = np.dot(distribution.marginal, _loss(renyi_entropies(distribution.posterior, order), order))
    return float(seen), float(_loss(renyi_entropies(distribution.prior, order), order))


def optimal_alpha_belief(joint: JointLike, alpha: float, y: Label, *, normalise: bool = False) -> Floats:
    """The belief about S that loses least on average when y is seen: Pr(s|y)^a, normalised.

    Parameters
    ----------
    joint : JointDistribution or array-like, shape (n_s, n_y)
        Pr(s, y), summing to 1 within 1e-9.
    alpha : float
        Order in [1, inf]; at inf any distribution on the most likely secrets will do, and the uniform one is given.
    y : label
        What is seen: a label of the columns, or their number.
    normalise : bool
        Divide counts, or a rounded table, by their sum.

    Returns
    -------
    float array, shape (n_s,)
        Sums to 1.

    Raises
    ------
    InvalidModel
        If the table is no joint distribution.
    InvalidProblem
        If alpha is below 1, or y is unknown or has probability zero.

    Examples
    --------
    >>> optimal_alpha_belief([[0.3, 0.2], [0.1, 0.4]], 2, 0)
    array([0.9, 0.1])
    """
    distribution, order = read_joint(joint, normalise), read_order(alpha)
    column = np.flatnonzero(distribution.columns == position(y, distribution.released, "the output"))
    if not column.size:
        raise InvalidProblem(f"the output {y!r} has probability zero: no belief is formed on seeing it")
    posterior = distribution.posterior[column[0]]
    relative = posterior / posterior.max()
    weights = (relative == 1.0).astype(float) if math.isinf(order) else relative**order
    belief = np.zeros(distribution.shape[0])
    belief[distribution.rows] = weights / weights.sum()
    return belief


def _loss(entropy: Floats, order: float) -> Floats:
    """(1 - exp(-c h)) / c with c = 1 - 1/a: the loss at probability exp(-h)."""
    if order == 1:
        return np.asarray(entropy, dtype=np.float64) + 0.0
    factor = 1.0 if math.isinf(order) else (order - 1) / order
    return np.asarray(-np.expm1(-factor * entropy) / factor, dtype=np.float64) + 0.0

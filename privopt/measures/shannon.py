"""Entropy and mutual information."""

from __future__ import annotations

import numpy as np

from privopt.measures.inputs import JointLike, Numbers, Unit, in_unit, read_distribution, read_joint, settled
from privopt.measures.renyi import divergences, renyi_entropies


def entropy(p: Numbers, *, unit: Unit = "nats", normalise: bool = False) -> float:
    """Shannon's entropy H = - sum p ln p.

    Parameters
    ----------
    p : array-like of float, any shape
        Probabilities, summing to 1 within 1e-9 (0 ln 0 is 0).
    unit : {"nats", "bits"}
    normalise : bool
        Divide counts, or rounded probabilities, by their sum.

    Returns
    -------
    float
        Between 0 and the logarithm of the number of entries.

    Raises
    ------
    InvalidModel
        If an entry is negative or not finite, or the sum is off 1.

    Examples
    --------
    >>> entropy([0.5, 0.25, 0.25], unit="bits")
    1.5
    """
    distribution = read_distribution(p, normalise=normalise)
    return in_unit(float(renyi_entropies(distribution, 1.0)), unit)


def mutual_information(joint: JointLike, *, unit: Unit = "nats", normalise: bool = False) -> float:
    """Mutual information I(S;Y), the mean log-lift.

    Computed as a sum of non-negative terms Pr(s) Pr(y) phi(lift), phi(t) = t ln t - t + 1, so that an
    information of 5e-13 is still resolved; a difference of entropies has lost it.

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
        Between 0 (independence) and min(H(S), H(Y)).

    Raises
    ------
    InvalidModel
        If an entry is negative or not finite, or the sum is off 1.

    Examples
    --------
    >>> round(mutual_information([[1, 0], [1, 2]], normalise=True), 6)
    0.215762
    """
    distribution = read_joint(joint, normalise)
    value = distribution.marginal @ divergences(distribution.posterior, distribution.prior, 1.0)
    return in_unit(settled(float(value), "the mutual information"), unit)


def conditional_entropy(joint: JointLike, *, unit: Unit = "nats", normalise: bool = False) -> float:
    """Conditional entropy H(S|Y): what remains unknown of the rows when the column is seen.

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
        Between 0 and H(S).

    Raises
    ------
    InvalidModel
        If an entry is negative or not finite, or the sum is off 1.

    Examples
    --------
    >>> round(conditional_entropy([[0.25, 0.25], [0.5, 0.0]], unit="bits"), 9)
    0.688721876
    """
    distribution = read_joint(joint, normalise)
    value = np.dot(distribution.marginal, renyi_entropies(distribution.posterior, 1.0))
    return in_unit(float(value), unit)

"""Repair of a channel on its own support, where rounding alone broke the bound on an information.

A mixture with another channel would make releases of probability 1e-13 wherever there was none. At a release whose
derivative does not vanish on its own support, the weights that are not 0 can be moved instead, by the least relative
change that keeps the sums of the rows. At an optimum whatever direction is taken costs the same, to first order.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms import Channel
from privopt.models.channel_data import Observation

ROUNDS = 6
LARGEST_CHANGE = 1e-5
"""A relative change of a weight beyond it is no repair of rounding."""
AIM = 2.0**-50
"""Nats aimed at beyond what is missing."""


def moved(
    release: Channel,
    missed: Callable[[Channel], float],
    slopes: Callable[[Floats], Floats],
    *,
    rising: bool = False,
) -> Channel | None:
    """The release with its positive weights moved until its bound is met.

    Parameters
    ----------
    release : Channel
    missed : function
        By how many nats a channel misses its bound; at most 0 where it is met.
    slopes : function
        Of a matrix of the channel: the derivative of the information in its entries.
    rising : bool
        Whether the bound is met from below.

    Returns
    -------
    Channel or None
        The release itself where the bound is met; None where its support does not allow it.
    """
    for _ in range(ROUNDS):
        by = missed(release)
        if by <= 0:
            return release
        if (nearer := _step(release, slopes, by + AIM if rising else -by - AIM)) is None:
            return None
        release = nearer
    return None


def _step(release: Channel, slopes: Callable[[Floats], Floats], gained: float) -> Channel | None:
    """The release with an information greater by so many nats, to first order."""
    matrix = np.asarray(release.matrix)
    relative = matrix * slopes(matrix)
    along = (relative * matrix).sum(axis=1, keepdims=True) / (matrix * matrix).sum(axis=1, keepdims=True)
    direction = np.where(matrix > 0, relative - along * matrix, 0.0)  # the changes of a row have no sum
    direction[(matrix > 0).sum(axis=1) < 2] = 0.0
    length = float((direction * direction).sum())
    if not length or abs(gained) * np.abs(direction).max() > LARGEST_CHANGE * length:
        return None
    changed = matrix * (1.0 + gained / length * direction)
    return Channel(changed, release.inputs, release.outputs, simulation_only=release.simulation_only)


def information_slopes(observed: Observation, matrix: Floats, *, leaking: bool) -> Floats:
    """The derivative of I(S;Y), or of I(X;Y), in the entries of a channel, but for a number a row; 0 where the entry is.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> from privopt.models.channel_data import observation
    >>> observed = observation(JointDistribution([[0.5, 0.0], [0.0, 0.5]]))
    >>> information_slopes(observed, np.array([[0.8, 0.2], [0.2, 0.8]]), leaking=True).round(3).tolist()
    [[-0.112, -0.805], [-0.805, -0.112]]
    """
    if not leaking and observed.useful is None:
        joint, before = observed.p_w[:, None] * matrix, observed.p_w[:, None]
        return np.where(matrix > 0, before * _logs(joint), 0.0)
    table = observed.leaking.table if leaking or observed.useful is None else observed.useful.table
    return np.where(matrix > 0, table.T @ _logs(table @ matrix), 0.0)


def _logs(joint: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(joint > 0, np.log(joint / joint.sum(axis=0)), 0.0)


def sibson_slopes(observed: Observation, matrix: Floats, order: float) -> Floats:
    """The derivative of Sibson's information of S and Y, of a finite order that is not 1, in the entries of a channel.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> from privopt.models.channel_data import observation
    >>> observed = observation(JointDistribution([[0.5, 0.0], [0.0, 0.5]]))
    >>> sibson_slopes(observed, np.array([[0.8, 0.2], [0.2, 0.8]]), 2.0).round(3).tolist()
    [[1.176, 0.294], [0.294, 1.176]]
    """
    table = observed.leaking.table
    p_s = table.sum(axis=1)
    seen = p_s > 0
    given = (table[seen] @ matrix) / p_s[seen, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (p_s[seen] @ given**order) ** (1.0 / order)
        inner = np.where(given > 0, (given / means) ** (order - 1.0), 0.0)
    if not math.isfinite(inner.sum()):
        return np.zeros(matrix.shape)
    return np.where(matrix > 0, order / (order - 1.0) / means.sum() * (table[seen].T @ inner), 0.0)

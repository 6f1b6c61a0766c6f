"""What can be learnt of people: from nothing, from their columns as they are, and from a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import privopt as po
from privopt.arrays import Floats, Ints
from privopt.publication.guesses import of_joint


@dataclass(frozen=True)
class Risk:
    """The risk of one way to publish.

    Parameters
    ----------
    guess : float
        The chance of the best guess of the secret of a row, for somebody who knows the joint distribution.
    factor : float
        How many times as likely, or as unlikely, a value of the secret becomes at most; infinite where one is ruled out.
    smallest : float
        Rows in the smallest group of rows that look alike; for a random release, of the rarest output on average.
    unique : float
        Rows that look like no other; for a random release on average.
    exact : bool
        Whether the latter two are counts, not averages.
    """

    guess: float
    factor: float
    smallest: float
    unique: float
    exact: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; an infinite factor is None."""
        return {
            "guess": self.guess,
            "factor": self.factor if math.isfinite(self.factor) else None,
            "smallest": self.smallest,
            "unique": self.unique,
            "exact": self.exact,
        }


def of_nothing(joint: po.JointDistribution, rows: int) -> Risk:
    """Where nothing is published but how people are spread."""
    return Risk(float(joint.p_s.max()), 1.0, float(rows), 0.0)


def of_values(values: Sequence[object] | Ints, secret: Sequence[object] | Ints) -> Risk:
    """Where the values of each row are published as they are.

    Parameters
    ----------
    values, secret : sequence or int array
        What would be published of each row, and its secret; or a number for each.

    Examples
    --------
    >>> of_values(["a", "a", "a", "b", "b"], [0, 0, 1, 0, 0])
    Risk(guess=0.8, factor=inf, smallest=2.0, unique=0.0, exact=True)
    """
    _, x = np.unique(np.asarray(values), return_inverse=True)
    _, s = np.unique(np.asarray(secret), return_inverse=True)
    groups, secrets = np.bincount(x), np.bincount(s)
    pairs, counts = np.unique(x * len(secrets) + s, return_counts=True)
    group, hidden = np.divmod(pairs, len(secrets))
    right = np.zeros(len(groups), dtype=np.int64)
    np.maximum.at(right, group, counts)
    factor = math.inf
    if len(pairs) == len(groups) * len(secrets):  # else some value rules a secret out
        lifts = counts * len(x) / (groups[group] * secrets[hidden])
        factor = float(max(lifts.max(), 1.0 / lifts.min()))
    return Risk(int(right.sum()) / len(x), factor, float(groups.min()), float((groups == 1).sum()))


def of_release(joint: po.JointDistribution, rows: int, matrix: Floats) -> Risk:
    """Where each row is released by a channel ``matrix[x, y]``.

    Examples
    --------
    >>> joint = po.JointDistribution.normalised([[1, 1]])
    >>> of_release(joint, 2, np.array([[0.5, 0.5], [0.5, 0.5]])).unique
    1.0
    """
    counts = np.rint(joint.p_x * rows)
    together: Floats = joint.table @ matrix
    together = together[:, together.sum(axis=0) > 0]
    expected: Floats = counts @ matrix
    if np.isin(matrix, (0.0, 1.0)).all():
        return _counted(together, expected[expected > 0])
    return Risk(
        of_joint(together).after,
        _factor(together),
        float(expected[expected > 0].min()),
        _alone(counts, matrix),
        exact=False,
    )


def _counted(together: Floats, groups: Floats) -> Risk:
    return Risk(of_joint(together).after, _factor(together), float(groups.min()), float((groups == 1).sum()))


def _factor(together: Floats) -> float:
    level = po.measures.local_information_privacy(together, normalise=True).symmetric
    return math.exp(level) if level < 700 else math.inf


def _alone(counts: Floats, matrix: Floats) -> float:
    """The mean number of outputs that exactly one row has, where each row is drawn by itself."""
    with np.errstate(divide="ignore", invalid="ignore"):
        stays: Floats = np.log1p(-matrix)
        none = np.exp(np.where(counts[:, None] > 0, counts[:, None] * stays, 0.0).sum(axis=0))
        odds = np.where(counts[:, None] > 0, counts[:, None] * (matrix / (1.0 - matrix)), 0.0).sum(axis=0)
        mean = np.where(none > 0, none * odds, 0.0)
    certain: Floats = counts @ (matrix >= 1.0)
    for y in np.flatnonzero(certain == 1):
        rest = np.where(matrix[:, y] < 1.0, counts, 0.0)
        mean[y] = math.exp(float((rest * np.where(matrix[:, y] < 1.0, stays[:, y], 0.0)).sum()))
    return float(mean.sum())

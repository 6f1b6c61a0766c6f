"""Large budgets: nearly every word is likely enough for a group of its own, and what is left joins the cheapest groups.

A group of mass theta or more that shares a release keeps the bounds. A word of that mass is a group; the rarer ones join the group
that is cheapest for them, or found one together where that costs less. Prices that make every word indifferent to the group
it is in are worth the same, but for groups of rare words, and from there the bound is raised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.formulas.program import Table

FEW = 0.1
"""Mass of the rarer words up to which groups are formed in this way."""
LARGEST = 2**22
"""Pairs of rarer words that are compared."""
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class OwnGroups:
    """K (n, m), how many releases it uses, the distortion once that is private, and prices nu (n,)."""

    kernel: Floats
    count: int
    value: float
    nu: Floats


def own_groups(table: Table) -> OwnGroups | None:
    """Groups of likely words, joined by the others; None where the others are too many.

    Examples
    --------
    >>> from privopt.mechanisms.policy.fixed import Levels
    >>> table = Table.of(np.array([0.6, 0.3, 0.09, 0.01]), 1 - np.eye(4), Levels.of(3.0))
    >>> groups = own_groups(table)
    >>> groups.count, groups.kernel[2:].tolist(), round(groups.value, 4)
    (3, [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]], 0.0362)
    """
    p, levels = table.p, table.levels
    worth = (
        levels.room * table.rows.T + levels.low * table.means
    )  # what a word costs with a release, all others counted
    theta = levels.theta * (1 + ROUNDING)
    likely = np.flatnonzero(p >= theta)
    rare = np.setdiff1d(np.arange(len(p)), likely)
    if not len(likely) or p[rare].sum() > FEW or worth.size > LARGEST:
        return None
    release = worth.argmin(axis=1)
    opened = np.unique(release[likely])
    release[rare] = opened[worth[np.ix_(rare, opened)].argmin(axis=1)]
    nu = worth[np.arange(len(p)), release].copy()
    masses = np.zeros(worth.shape)
    masses[np.arange(len(p)), release] = p
    spare = np.where(p >= theta, p - theta, p)
    _found(worth - nu[:, None], masses, spare, release, theta)
    kernel = masses / p[:, None]
    count = int((masses.max(axis=0) > 0).sum())
    return OwnGroups(kernel, count, float((masses * worth).sum()), nu)


def _found(losses: Floats, masses: Floats, spare: Floats, release: Ints, theta: float) -> None:
    """Let new groups be founded from what groups can spare as long as that pays, the best one first; ``masses`` are changed.

    ``losses`` (n, m) is what a word loses by another release than its first one.
    """
    shut = np.flatnonzero(masses.max(axis=0) == 0)
    order = np.argsort(losses[:, shut], axis=0, kind="stable")
    sorted_losses = np.take_along_axis(losses[:, shut], order, axis=0)
    while len(shut):
        some = spare[order]
        missing = (theta - (np.cumsum(some, axis=0) - some)).clip(0.0)
        taken = np.where(sorted_losses < 0, some, np.minimum(some, missing))
        lost = (taken * sorted_losses).sum(axis=0)
        lost[taken.sum(axis=0) < theta * (1 - ROUNDING)] = np.inf
        best = int(lost.argmin())
        if not lost[best] < 0:
            return
        words, moved = order[:, best], taken[:, best]
        masses[words, release[words]] -= moved
        masses[words, shut[best]] += moved
        spare[words] -= moved
        keep = np.arange(len(shut)) != best
        shut, order, sorted_losses = shut[keep], order[:, keep], sorted_losses[:, keep]

"""What a release costs at given prices: over all kernels no less than this, release by release, by arithmetic alone.

For nu = (1 - L) lam the cost of release y is L Dbar(y) + mean of (1 - L) D(x, y) - nu(x) over the cheapest mass theta of
inputs, and no private kernel has a distortion below nu . p + the least cost of a release (from the structure of
private kernels: see the bound on the utility of one step of belief release).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.hamming_cases import Levels

CELLS = 2**20
"""Cells of the table of costs that are sorted at a time."""


@dataclass(frozen=True, eq=False)
class Table:
    """Costs with a row a release, so that a group is sorted in memory order.

    Parameters
    ----------
    p : array (n,)
        Positive probabilities of the inputs; they sum to about 1.
    rows : array (m, n)
        Distortions, transposed.
    means : array (m,)
        Dbar(y), the mean distortion of a release.
    """

    p: Floats
    rows: Floats
    means: Floats
    levels: Levels

    @classmethod
    def of(cls, p: Floats, cost: Floats, levels: Levels) -> Table:
        """From distortions D[x, y], shape (n, m)."""
        return cls(p, np.ascontiguousarray(cost.T), p @ cost, levels)

    def costs(self, nu: Floats) -> Floats:
        """Cost of every release at prices nu, shape (m,).

        Examples
        --------
        >>> import math
        >>> table = Table.of(np.array([0.85, 0.15]), 1 - np.eye(2), Levels.of(1.0))
        >>> table.costs(np.zeros(2)).round(4).tolist()
        [0.0552, 0.5923]
        """
        step = max(1, CELLS // len(self.p))
        found = [
            self.groups(np.arange(begin, min(begin + step, len(self.rows))), nu)[0]
            for begin in range(0, len(self.rows), step)
        ]
        return np.concatenate(found)

    def groups(self, releases: Ints, nu: Floats) -> tuple[Floats, Ints, Floats]:
        """Costs (k,) of some releases, the inputs (k, width) of their groups, and how much of each: laws (k, width)."""
        values = self.levels.room * self.rows[releases] - nu
        order, sums = _cheapest(values, self.p, self.levels.theta)
        law = np.diff(np.minimum(sums, self.levels.theta), axis=1, prepend=0.0)
        law[:, -1] += self.levels.theta - law.sum(axis=1)  # the last one takes what rounding left
        law /= self.levels.theta
        found = (law * np.take_along_axis(values, order, axis=1)).sum(axis=1)
        return found + self.levels.low * self.means[releases], order, law

    def bound(self, nu: Floats) -> float:
        """No private kernel has an expected distortion below this; an allowance for rounding is taken off.

        The groups are cut from sorted values, so that errors of the partial sums telescope: the whole is off by at most
        (n + 16) 2^-51 times the size of prices and distortions.

        Examples
        --------
        >>> table = Table.of(np.array([0.85, 0.15]), 1 - np.eye(2), Levels.of(1.0))
        >>> round(table.bound(np.zeros(2)), 12)
        0.055181916176
        """
        nu = nu - nu[np.argmax(self.p)]
        size = max(float(np.abs(self.rows).max()), float(np.abs(nu).max()))
        least = float(self.costs(nu).min())
        return float(self.p @ nu) + least - (len(self.p) + 16) * 2.0**-51 * size


def _cheapest(values: Floats, p: Floats, theta: float) -> tuple[Ints, Floats]:
    """Inputs in rising order of value until they weigh theta in each row, and their running sums of mass."""
    n = len(p)
    width = n if n <= 128 else n // 8
    while True:
        if width >= n:
            order = np.argsort(values, axis=1)
        else:
            some = np.argpartition(values, width - 1, axis=1)[:, :width]
            inner = np.argsort(np.take_along_axis(values, some, axis=1), axis=1)
            order = np.take_along_axis(some, inner, axis=1)
        sums = np.cumsum(p[order], axis=1)
        if width >= n or (sums[:, -1] >= theta).all():
            return order, sums
        width = min(4 * width, n)

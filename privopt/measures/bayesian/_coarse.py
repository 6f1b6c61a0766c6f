"""An upper bound on the ratio of two expectations over functions that change by one bounded factor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from privopt.arrays import Floats

MOST_KEPT = 2**22
"""Sums of at most so many numbers are kept for the next step, 32 MB a table."""


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums of the laws of two states over the first few next states, and over the last few, in the best order.

    The order is that of B[x'](u) / B[x](u) for a pair x < x', as in the Neyman-Pearson lemma.

    Parameters
    ----------
    first, second : int array (pairs,)
        The pairs.
    one, other : array (m, s, pairs)
        Entry (., i, .) is over the first i + 1 states.
    last_one, last_other : array (m, s, pairs)
        Over the last i + 1 states.
    """

    first: np.ndarray
    second: np.ndarray
    one: Floats
    other: Floats
    last_one: Floats
    last_other: Floats

    @classmethod
    def of(cls, kernel: Floats) -> Self:
        """Sort and add up; every sum is of positive numbers, so that its relative error is small."""
        first, second = np.triu_indices(kernel.shape[1], 1)
        columns = np.ascontiguousarray(
            kernel.transpose(0, 2, 1)
        )  # sums over states are fastest with the pairs last
        one, other = columns[:, :, first], columns[:, :, second]
        with np.errstate(divide="ignore", invalid="ignore"):
            # 0 / 0 changes nothing wherever it stands.
            order = np.argsort(other / one, axis=1, kind="stable")
        one, other = np.take_along_axis(one, order, axis=1), np.take_along_axis(other, order, axis=1)
        return cls(first, second, _sums(one), _sums(other), _sums(one[:, ::-1]), _sums(other[:, ::-1]))

    def largest(self, excess: Floats) -> Floats:
        """Largest ratios for a factor of 1 + excess, shape (m, 1, 1); entry (x, x') of each table, shape (m, s, s)."""
        m, s, _ = self.one.shape
        result = np.ones((m, s, s))
        result[:, self.first, self.second] = _best(excess, self.one, self.other)
        result[:, self.second, self.first] = _best(excess, self.last_other, self.last_one)
        return result


def _sums(values: Floats) -> Floats:
    found = values.copy()
    for i in range(1, found.shape[1]):
        found[:, i] += found[:, i - 1]
    return found


def _best(excess: Floats, more: Floats, less: Floats) -> Floats:
    """Largest (1 + excess more) / (1 + excess less) over how many states count, perhaps none."""
    above, below = excess * more, excess * less
    above += 1.0
    below += 1.0
    above /= below
    found: Floats = np.maximum(above.max(axis=1), 1.0)
    return found


@dataclass
class CoarseStep:
    """The step for any number of states. Kernels settle soon, and then the sums are those of the step before."""

    _kernel: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    _sums: PairSums | None = None

    def __call__(self, kernel: Floats, change: Floats) -> Floats:
        """Largest B[x].F / B[x'].F over F > 0 whose values differ by at most the largest factor in C.

        Such an F takes two values, the larger one on the states with the largest B[x](u) / B[x'](u) (as in the
        Neyman-Pearson lemma). Every function that C allows is among them.

        Parameters
        ----------
        kernel : array (m, s, s)
            B: row x is the law of the next record given x.
        change : array (m, s, s)
            C; only the largest entry of each table is used.

        Returns
        -------
        array (m, s, s)
            Entry (x, x') of each table, >= 1.

        Examples
        --------
        >>> kernel = np.array([[[0.75, 0.25], [0.5, 0.5]]])
        >>> CoarseStep()(kernel, np.array([[[1.0, 2.0], [2.0, 1.0]]])).round(4)
        array([[[1.    , 1.1667],
                [1.2   , 1.    ]]])
        """
        sums = self._sums
        if sums is None or not np.array_equal(kernel, self._kernel):
            sums = PairSums.of(kernel)
            if sums.one.size <= MOST_KEPT:
                self._kernel, self._sums = kernel, sums
        return sums.largest(change.max(axis=(1, 2))[:, None, None] - 1.0)

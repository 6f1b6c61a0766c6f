"""The step of the recursion for Markov chains, as a rule for walking along a side.

The largest ratio of two expectations over functions that change by bounded factors, exactly.

The functions F > 0 with F_u <= C_uv F_v form a cone, and a ratio of linear functions is largest on an extreme ray, see
:mod:`privopt.measures.bayesian.rays`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.bayesian.rays import MOST_STATES, rays, trees

_MOST_FLOATS = 2**22  # numbers held at once


def ray_step(kernel: Floats, change: Floats) -> Floats:
    """Largest B[x].F / B[x'].F over F > 0 with F_u <= C_uv F_v.

    Parameters
    ----------
    kernel : array (m, s, s)
        B: row x is the distribution of the next record given x.
    change : array (m, s, s)
        C, 1 on the diagonal, with C_uv < C_uw C_wv where u, v and w differ.

    Returns
    -------
    array (m, s, s)
        Entry (x, x') of each table, >= 1; nan in rows and columns of impossible x.

    Examples
    --------
    >>> ray_step(np.array([[[0.75, 0.25], [0.5, 0.5]]]), np.array([[[1.0, 2.0], [2.0, 1.0]]])).round(4)
    array([[[1.    , 1.1667],
            [1.2   , 1.    ]]])
    """
    m, s = len(kernel), kernel.shape[1]
    chunk = max(1, _MOST_FLOATS // (len(trees(s)) * s * s))
    parts = [_largest(kernel[i : i + chunk], change[i : i + chunk]) for i in range(0, m, chunk)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _largest(kernel: Floats, change: Floats) -> Floats:
    means = _means(rays(change), kernel)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Floats = (means[:, :, :, None] / means[:, :, None, :]).max(axis=1)
    return ratios


def _means(values: Floats, kernel: Floats) -> Floats:
    """B[x].F for every ray, shape (m, trees, x), added from the first state to the last: the same on every processor."""
    columns = kernel.transpose(0, 2, 1)
    means: Floats = values[:, :, 0, None] * columns[:, None, 0, :]
    for u in range(1, kernel.shape[1]):
        means += values[:, :, u, None] * columns[:, None, u, :]
    return means


MOST_KEPT = 2**22
"""Sums of at most so many numbers are kept for the next step, 32 MB a table."""


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums of the distributions of two states over the first few next states, and over the last few, in the best order.

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
    sums = values.copy()
    for i in range(1, sums.shape[1]):
        sums[:, i] += sums[:, i - 1]
    return sums


def _best(excess: Floats, more: Floats, less: Floats) -> Floats:
    """Largest (1 + excess more) / (1 + excess less) over how many states count, perhaps none."""
    above, below = excess * more, excess * less
    above += 1.0
    below += 1.0
    above /= below
    largest: Floats = np.maximum(above.max(axis=1), 1.0)
    return largest


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
            B: row x is the distribution of the next record given x.
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


StepName: TypeAlias = Literal["best", "lp", "coarse"]

MOST = 1e250
"""A ratio above this many is given up, and counts as inf."""


@dataclass(frozen=True, slots=True)
class Recursion:
    """Bounds G(x, x') on E[f | x] / E[f | x'] for f whose logarithm changes by at most tau per changed record.

    ``growth`` is e**tau. With ``outward`` 1 each step is enlarged by more than its rounding errors, with -1 it is
    made less by them: everything is a sum, product or quotient of positive floats, so that each operation errs by
    at most a factor 1 + 2^-53. What underflows does not count: F differs by at most a factor 1e250, and a lost
    probability is below 2^-1073.
    """

    growth: float
    step: Callable[[Floats, Floats], Floats]
    outward: int = 0

    def start(self, count: int, states: int) -> Floats:
        """Without unknown records there is nothing to leak."""
        return np.ones((count, states, states))

    def advance(self, kernel: Floats, values: Floats, supported: NDArray[np.bool_], depth: int) -> Floats:
        """G of the next depth from the kernel and G of this one."""
        change = changes(values, supported, self.growth)
        if change.max() > MOST:
            if self.outward >= 0:
                return np.full_like(values, np.inf)
            change = np.minimum(change, MOST)
        possible = kernel.max(axis=2) > 0
        ratios = np.where(possible[:, :, None] & possible[:, None, :], self.step(kernel, change), 1.0)
        if self.outward == 0:
            return ratios
        return np.maximum(ratios * (1.0 + self.outward * rounding(depth, kernel.shape[1])), 1.0)

    def ratios(self, values: Floats) -> Floats:
        """G itself."""
        return values


def changes(values: Floats, supported: NDArray[np.bool_], growth: float) -> Floats:
    """Factors C_uv = e^tau G_uv by which a function of the records from the next one on may change.

    Impossible states get the largest factor, so that they restrict nothing.
    """
    pairs = supported[:, :, None] & supported[:, None, :]
    with np.errstate(over="ignore"):  # an infinite change is given up, or made less
        change = values * growth
    top = np.where(pairs, change, growth).max(axis=(1, 2), keepdims=True)
    change = np.where(pairs, change, top)
    diagonal = np.arange(values.shape[1])
    change[:, diagonal, diagonal] = 1.0
    return change


def rounding(depth: int, s: int) -> float:
    """A bound on the relative rounding error of one step.

    The weights after d steps err by d (s + 1) roundings, a kernel by twice that and s + 8, a ray by 2 s, a mean by
    s + 1 more, a ratio by twice all this; the change and the enlargement add a few.
    """
    return (4.0 * (depth + 1) * (s + 1) + 8.0 * s + 40.0) * 2.0**-53


def chosen_step(name: StepName, s: int) -> Callable[[Floats, Floats], Floats]:
    """The step of that name for s states.

    Raises
    ------
    InvalidProblem
        If the exact step is named for too many states, or there is no such step.
    """
    if name not in ("best", "lp", "coarse"):
        raise InvalidProblem(f"step must be 'best', 'lp' or 'coarse', got {name!r}")
    if name == "lp" and s > MOST_STATES:
        raise InvalidProblem(f"step='lp' takes at most {MOST_STATES} states, got {s}: use 'coarse'")
    return CoarseStep() if name == "coarse" or s > MOST_STATES else ray_step

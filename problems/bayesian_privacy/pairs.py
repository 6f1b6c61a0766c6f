"""The leakage of noise on a sum to pairs of sides of a target, in floats: many pairs at a time, and what each may err by.

What an adversary knows on the left and on the right of a target, see :mod:`privopt.problems.bayesian_privacy.sides`, gives the
distribution of the sum for each value of the target as a convolution; with noise of level tau the density at y is
proportional to sum_c P(c) e^(-rate |y - c|). The noise is added to what the left side adds, once, and the right sides that go
with it are multiplied in together. Nothing is kept but a number a pair.

All terms are products of positive numbers: the relative error of a density follows from how many are added and multiplied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from privopt.arrays import Bools, Floats, Ints

Clock: TypeAlias = Callable[[], float]

FREE = 1
"""Kinds of sides in which no record is known, which come before those for each value of the nearest known record."""

_TOGETHER = 8  # unknown records by which sides may differ that are read together
_LEAST = 1e-280  # what is too small for a float is less than 1e-27 of a density above this
ONE_THREAD = 2**18
"""Operations of a product of matrices that BLAS gives to one thread: threads that wait for others take many times as long."""
_ROWS = 8  # of a product at least
_NONE = 10**9  # added where there is no way
_TINY = 1e-300  # for sides that no value of the target goes with
_FAR = 750.0  # e^-750 is no float
UNIT = 2.0**-53
"""The largest relative error of one rounding."""


@dataclass(frozen=True, eq=False)
class Sides:
    """What the unknown records of one side add, for each value of the target.

    Those with r unknown records are at positions r (k + 1) to r (k + 1) + k: nothing known first, then by the value of the
    nearest known record.

    Parameters
    ----------
    step : array (k, k)
        Towards the target: entry (x, u) goes with value x of a record and u of the next one away from the target.
    free : array (k,)
        Where nothing is known, for values of the last record.
    values : tuple of int
        What each value of a record adds.
    most : int
        Unknown records are fewer.

    Examples
    --------
    >>> sides = Sides(np.array([[0.5, 0.5], [0.25, 0.75]]), np.ones(2), (0, 1), 2)
    >>> sides.rows()[3].tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """

    step: Floats
    free: Floats
    values: tuple[int, ...]
    most: int
    _known: dict[float, Floats] = field(default_factory=dict, init=False, repr=False)

    def rows(self, tilt: float = 0.0) -> Floats:
        """Probabilities of what they add, shape (sides, k, width); times e^(tilt c) for a sum c, and a factor of the side."""
        if tilt not in self._known:
            rows = self._grown(tilt)
            mass = self._grown(0.0).sum(axis=2, keepdims=True)
            self._known[tilt] = np.divide(rows, mass, out=np.zeros_like(rows), where=mass > 0)
        return self._known[tilt]

    @cached_property
    def possible(self) -> Bools:
        """Which values the target can have, shape (sides, k)."""
        return np.asarray(self.ends[0] < _NONE)

    @cached_property
    def ends(self) -> Ints:
        """The least and the largest of what they may add, shape (2, sides, k); far outside the range where there is nothing."""
        ends = _NONE * np.array([[[1]], [[-1]]]) * (self._starts == 0)
        closed, own = _NONE * np.array([[[[1]]], [[[-1]]]]) * (self.step == 0), np.array(self.values)
        listed = []
        for _ in range(self.most):
            listed.append(ends)
            further = closed + (ends + own)[:, :, None]
            ends = np.stack([further[0].min(axis=2), further[1].max(axis=2)])
        return np.concatenate(listed, axis=1)

    @property
    def _starts(self) -> Floats:
        """Weights of the target's value where no record is unknown, by what is known, shape (k + 1, k)."""
        return np.concatenate([self.free[None], self.step.T])

    def _grown(self, tilt: float) -> Floats:
        """Weights of what they add, one side's up to a common factor."""
        starts, width = self._starts, max(self.values) * (self.most - 1) + 1
        now = np.zeros((len(starts), len(self.step), width))
        now[:, :, 0] = starts
        listed = []
        for _ in range(self.most):
            listed.append(now)
            moved = np.zeros_like(now)
            for u, value in enumerate(self.values):
                moved[:, u, value:] = now[:, u, : width - value] * np.exp(tilt * value)
            now = np.einsum("xu,suc->sxc", self.step, moved)
            now = now / np.maximum(now.max(axis=(1, 2), keepdims=True), _TINY)
        return np.concatenate(listed)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Left and right sides, and what each value of the target adds.

    Parameters
    ----------
    left, right : Sides
    """

    left: Sides
    right: Sides

    @property
    def values(self) -> tuple[int, ...]:
        """What each value of the target adds."""
        return self.left.values

    @property
    def kinds(self) -> int:
        """How many sides there are of each number of unknown records."""
        return len(self.values) + FREE

    def width(self, records: int) -> int:
        """The largest sum of so many records."""
        return max(self.values) * records

    def leakages(self, rate: float, wanted: Bools, clock: Clock | None = None) -> Floats:
        """The leakage of noise of a rate to pairs of sides, in nats; inf where floats do not do, nan where it is not wanted.

        Parameters
        ----------
        rate : float
            Nats for one unit of the sum.
        wanted : bool array (left, right)
            Of the sides with the fewest unknown records.
        clock : callable, optional
            Seconds that are left.

        Returns
        -------
        array (left, right)

        Raises
        ------
        TimeoutError
            If no seconds are left.
        """
        found = np.full(wanted.shape, np.nan)
        for own in range(-(-len(wanted) // self.kinds)):
            asked = wanted[own * self.kinds : (own + 1) * self.kinds]
            if not asked.any():
                continue
            if clock is not None and clock() <= 0:
                raise TimeoutError("no time is left for the adversaries of a noisy sum")
            reach = int(np.flatnonzero(asked.any(axis=0))[-1]) // self.kinds
            noise = _Noise(rate, self._apart(own, reach), self.width(reach + 1))
            for start, places in enumerate(map(np.flatnonzero, asked)):
                ends = np.flatnonzero(np.diff(places // self.kinds // _TOGETHER)) + 1
                for some in np.split(places, ends) if len(places) else ():
                    found[own * self.kinds + start, some] = self._leaked(
                        own * self.kinds + start, some, noise
                    )
        return found

    def error(self, rate: float, records: int) -> float:
        """What a leakage of sides with so many unknown records at most may err by.

        A probability of a side has a sum of k products, a tilt and a division a record, and a sum of all and a division at the end,
        after entries that are rounded; a power of e errs by the rounding of its exponent and less than four units. Two
        sums of products follow, of a side's width each. The logarithm of a ratio of two densities and its own rounding
        add less than is added here, for leakages of up to a nat; those of larger ones are in proportion to them and are left to who knows
        them. It is doubled for terms of second order.
        """
        k, width = len(self.values), self.width(records) + 1
        side = records * (k + 8) + width + 3
        power = 3.0 * min(rate * self.width(2 * records + 1), _FAR) + 4.0
        return 2.0 * UNIT * (2.0 * (2.0 * side + power + 2.0 * (width + 2)) + 8.0)

    def _outside(self, i: int, places: Ints, answers: int) -> Bools:
        """Which answers lie beyond all sums there can be, where the ratio is that at the nearest one, shape (places, answers)."""
        least, most = self.left.ends[:, i, None] + self.right.ends[:, places] + np.array(self.values)
        possible = self.left.possible[i] & self.right.possible[places]
        first = np.where(possible, least, answers).min(axis=1, keepdims=True)
        last = np.where(possible, most, -1).max(axis=1, keepdims=True)
        every = np.arange(answers)
        return np.asarray((every < first) | (every > last))

    def _apart(self, own: int, reach: int) -> Ints:
        """How far answers are from what a left side of so many records adds, shape (width, answers).

        Answers begin as far below 0 as right sides of ``reach`` records, and the target, can add.
        """
        answers = np.arange(-self.width(reach + 1), self.width(own + reach + 1) + 1)
        return answers - np.arange(self.width(own) + 1)[:, None]

    def _leaked(self, i: int, places: Ints, noise: _Noise) -> Floats:
        """The leakage to one left side with some right ones whose numbers of unknown records differ little."""
        above, below = self._extremes(i, places, int(places[-1]), noise, 0.0)
        lost = below < _LEAST
        if lost.any():
            lost &= ~self._outside(i, places, lost.shape[1])
            above[below < _LEAST], below[below < _LEAST] = 1.0, 1.0
        for tilt in noise.tilts:
            some = np.flatnonzero(lost.any(axis=1))
            if not len(some):
                break
            over, under = self._extremes(i, places[some], int(places[-1]), noise, tilt)
            told = lost[some] & (under >= _LEAST)
            above[some], below[some] = np.where(told, over, above[some]), np.where(told, under, below[some])
            lost[some] &= ~told
        nats = np.log(np.maximum((above / below).max(axis=1), 1.0))
        return np.where(lost.any(axis=1), np.inf, nats)

    def _extremes(self, i: int, places: Ints, last: int, noise: _Noise, tilt: float) -> tuple[Floats, Floats]:
        """The largest and the least density at each answer y, times e^(tilt y), shape (m, answers)."""
        most, own = last // self.kinds, i // self.kinds
        width, answers = self.width(most) + 1, self.width(own + most + 1) + 1
        noisy = self.left.rows(tilt)[i, :, : self.width(own) + 1] @ noise.kernel(tilt)
        some = max(_ROWS, ONE_THREAD // (width * answers))
        parts = [places[j : j + some] for j in range(0, len(places), some)]
        above = np.zeros((len(places), answers))
        below = np.full((len(places), answers), np.inf)
        for x in np.flatnonzero(self.left.possible[i]).tolist():
            weighed = noisy[x] * np.exp(tilt * self.values[x])
            first, stride = weighed[noise.zero - self.values[x] :], weighed.strides[0]
            turned = np.ascontiguousarray(
                as_strided(first, (width, answers), (-stride, stride), writeable=False)
            )
            rows = self.right.rows(tilt)
            densities = np.concatenate([rows[part, x, :width] @ turned for part in parts])
            possible = self.right.possible[places, x][:, None]
            np.maximum(above, densities, out=above, where=possible)
            np.minimum(below, densities, out=below, where=possible)
        return above, below


@dataclass(frozen=True, eq=False)
class _Noise:
    """Noise of a rate at answers, by how far they are from a sum.

    Parameters
    ----------
    rate : float
    apart : int array (width, answers)
    zero : int
        Where the answer 0 is.
    """

    rate: float
    apart: Ints
    zero: int
    _known: dict[float, Floats] = field(default_factory=dict, init=False, repr=False)

    @property
    def tilts(self) -> list[float]:
        """What answers may be weighed by so that rare ones are not lost, in nats a unit."""
        sizes = [2.0**j for j in range(int(np.log2(self.rate)) + 1)] if self.rate >= 1 else []
        return [sign * size for size in sizes for sign in (1.0, -1.0)]

    def kernel(self, tilt: float) -> Floats:
        """Densities up to a factor, times e^(tilt j) at distance j, shape (width, answers)."""
        if tilt not in self._known:
            rates = np.where(self.apart > 0, self.rate - tilt, self.rate + tilt)
            self._known[tilt] = np.exp(-rates * np.abs(self.apart))
        return self._known[tilt]

"""What everybody knows of the present state where the chain is only known to lie in a set: each probability between two bounds.

The bounds of the first belief are those of the set of first distributions. A release y multiplies a belief b by its column
w(., y) and divides by the sum; so the probability of state i is largest where b(i) is as large as it may be and the rest
lies where w is least. Then the next record has state j with probability sum p(i) q(i, j), each q(i, j) at most its
largest over the set of row i, whichever rows the other states have, and p within its bounds. Both extremes are found by
filling: from the lower bounds up, in the order of the values, until the probabilities sum to 1. For two states the
bounds are attained, as all they are made of is; for more they enclose. Rows may be others at every step.

For more than two states a second bound helps. Where e^-eta <= Q(i, j) / P(i, j) <= e^eta for each chain Q of the set and the
nominal P, the Hilbert distance of the two beliefs is at most h after a step if it was at most (h - 2 eta) / kappa before,
kappa = tanh(D / 4) being Birkhoff's contraction of P, D the largest ln P(i, j) P(l, m) / P(i, m) P(l, j), and
releases change nothing. Beliefs that far apart differ in the odds of each state by a factor e^h at most.

Every bound is moved outward by more than its rounding, so the true belief lies between them, whatever was released: no
distance is added to them. A kernel that keeps its ratios at every belief within the bounds is found by the least mixture with
its output distribution at the nominal belief, in which both sides are linear.

Source: rows that vary with time in sets of distributions are the imprecise Markov chains of De Cooman, Hermans and
Quaeghebeur, "Imprecise Markov chains and their limit behaviour" (2009); the contraction is Birkhoff's (1957).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.mechanisms.policy.beliefs import Filter
from privopt.mechanisms.policy.fixed import exp, total
from privopt.mechanisms.policy.setting import paths
from privopt.models import ChainAmbiguity, MarkovChain
from privopt.models.ambiguity.row_set import RowSet

_UNIT = 2.0**-53
TINY = 2.0**-1000
"""More than all that underflows can amount to in a step."""
Bounds: TypeAlias = tuple[Floats, Floats]
"""The least and the largest of each probability of beliefs, (M, k) each."""
CELLS = 2**20
"""Cells of tables that are worked on at once."""


def check_set(ambiguity: object, chain: MarkovChain, batch: int) -> None:
    """Refuse a set that is not one of chains around this one, or words and orders that are not bounded over a set.

    Raises
    ------
    InvalidMechanism
        With what to do instead.
    """
    if not isinstance(ambiguity, ChainAmbiguity):
        raise InvalidMechanism(f"ambiguity must be a ChainAmbiguity, got {type(ambiguity).__name__}")
    if ambiguity.nominal != chain:
        raise InvalidMechanism("the set is around another chain: give chain=ambiguity.nominal")
    if batch != 1 or not paths(chain, 1).identity:
        raise InvalidMechanism(
            "over a set of chains only single letters of a chain of order 1 are released: give batch=1 and such a chain, or "
            ".nominal"
        )


@dataclass(frozen=True, eq=False)
class Ranges:
    """How the bounds of beliefs move, over every chain of a set.

    Parameters
    ----------
    first : (least, most), arrays (k,)
        Bounds of the first belief.
    least, most : arrays (k, k)
        Bounds of each probability of a transition.
    eta, kappa : float
        Nats, inf where there is no bound, and a factor below 1: see the top of this file.

    Examples
    --------
    >>> near = ChainAmbiguity.interval(MarkovChain([[0.75, 0.25], [0.5, 0.5]], [0.5, 0.5]), 0.5)
    >>> ranges = Ranges.of(near)
    >>> start = ranges.start()[None]
    >>> start.tolist()
    [[0.5, 0.5, 0.5, 0.5]]
    >>> ranges.after(start, np.array([[1.0, 1.0]])).round(6).tolist()  # 1/2 (5/8 .. 7/8) + 1/2 (1/4 .. 3/4)
    [[0.4375, 0.1875, 0.8125, 0.5625]]
    """

    first: Bounds
    least: Floats
    most: Floats
    eta: float
    kappa: float

    @classmethod
    def of(cls, ambiguity: ChainAmbiguity) -> Ranges:
        """The bounds of a set, rounded outward."""
        return _of(ambiguity)

    @property
    def k(self) -> int:
        """Number of states."""
        return len(self.least)

    def start(self) -> Floats:
        """Bounds of the first belief, the lower ones first, shape (2 k,)."""
        return np.concatenate(self.first)

    def after(self, bounds: Floats, columns: Floats) -> Floats:
        """Bounds (M, 2 k) on the belief of the next record, given columns (M, k) of what was released."""
        width = max(1, CELLS // self.k**2)
        parts = [
            self._some(bounds[i : i + width], columns[i : i + width]) for i in range(0, len(bounds), width)
        ]
        return np.concatenate(parts) if parts else bounds

    def _some(self, bounds: Floats, columns: Floats) -> Floats:
        k = self.k
        ends = [np.repeat(end, k, axis=0) for end in posterior(bounds[:, :k], bounds[:, k:], columns)]
        low, high = self._tables
        least = _mean(ends, np.tile(low[0], (len(bounds), 1)), np.tile(low[1], (len(bounds), 1)), -1)
        most = _mean(ends, np.tile(high[0], (len(bounds), 1)), np.tile(high[1], (len(bounds), 1)), 1)
        return np.concatenate([least.reshape(-1, k), np.minimum(most, 1.0).reshape(-1, k)], axis=1)

    @cached_property
    def _tables(self) -> list[tuple[Floats, Ints]]:
        """What each state of the next record follows from, at least and at most, and the order of these numbers."""
        tables = np.ascontiguousarray(self.least.T), np.ascontiguousarray(self.most.T)
        return [(table, np.argsort(table, axis=1, kind="stable")) for table in tables]

    def nearer(self, bounds: Floats, nominal: Floats, steps: int, drift: float) -> Floats:
        """The same bounds, made tighter by the Hilbert distance from the nominal belief (M, k), itself off by ``drift``."""
        apart = self.distance(steps) + drift
        if not apart < math.inf:
            return bounds
        factor = exp(min(_coarse(apart), 700.0)) * (1 + 16 * _UNIT)
        rest = np.maximum(total(nominal)[:, None] - nominal, 0.0)
        wide = (2 * self.k + 16) * _UNIT
        low = nominal / (nominal + rest * factor + wide) * (1 - wide)
        high = nominal * factor / np.maximum(nominal * factor + rest - wide, TINY) * (1 + wide) + TINY
        least = np.maximum(bounds[:, : self.k], low)
        most = np.minimum(bounds[:, self.k :], np.maximum(high, low))
        return np.concatenate([least, np.maximum(most, least)], axis=1)

    def distance(self, steps: int) -> float:
        """Hilbert distance of any true belief from that of the nominal chain after so many transitions.

        The first beliefs must be alike for a bound.
        """
        if self.eta == math.inf or (self.first[0] != self.first[1]).any():
            return math.inf
        if self.eta == 0.0 or steps == 0:
            return 0.0
        shrunk = self.kappa**steps if self.kappa < 1 else 1.0
        many = (1.0 - shrunk) / (1.0 - self.kappa) if self.kappa < 1 else float(steps)
        return 2.0 * self.eta * many * (1 + 1e-12)


@lru_cache(maxsize=16)
def _of(ambiguity: ChainAmbiguity) -> Ranges:
    rows = [_ends(row) for row in ambiguity.forward]
    least, most = (np.array([row[side] for row in rows]) for side in (0, 1))
    eta, kappa = _apart(ambiguity, least, most)
    first = _ends(ambiguity.initial)
    return Ranges((np.array(first[0]), np.array(first[1])), least, most, eta, kappa)


def _coarse(distance: float) -> float:
    """The next multiple of 2^-30 nats, so that the last digits of logarithms, which differ between machines, do not matter."""
    return math.ceil(distance * 2.0**30 + 2.0**-10) / 2.0**30


def _ends(row: RowSet) -> tuple[list[float], list[float]]:
    """Floats below the least and above the largest probability of each value over a set."""
    ends: tuple[list[float], list[float]] = [], []
    for i in range(row.size):
        unit = [int(j == i) for j in range(row.size)]
        low, high = row.smallest(unit)[0], row.largest(unit)[1]
        ends[0].append(_below(Fraction(max(0, low), row.denominator)))
        ends[1].append(min(1.0, -_below(Fraction(-high, row.denominator))))
    return ends


def _below(value: Fraction) -> float:
    """The largest float that is at most a rational."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def _apart(ambiguity: ChainAmbiguity, least: Floats, most: Floats) -> tuple[float, float]:
    """Eta and kappa; inf and 1 where some transition may vanish, or the nominal chain has steps that differ."""
    chain = ambiguity.nominal
    if not chain.homogeneous or chain.max_length == 1:
        return math.inf, 1.0
    nominal = chain.step(0)
    if (least <= 0).any() or (nominal <= 0).any():
        return math.inf, 1.0
    logs = np.log(nominal)
    eta = float(np.maximum(np.log(most) - logs, logs - np.log(least)).max())
    cross = logs[:, None, :] - logs[None, :, :]
    spread = float((cross.max(axis=2) - cross.min(axis=2)).max())
    return max(0.0, eta) * (1 + 1e-12) + 64 * _UNIT, math.tanh(spread / 4 * (1 + 1e-12) + 64 * _UNIT)


def extremes(least: Floats, most: Floats, values: Floats) -> Bounds:
    """At most the least and at least the largest sum of b(i) values(i) over beliefs between bounds (M, k), which sum to 1.

    Parameters
    ----------
    least, most : arrays (M, k)
    values : array (k,) or (M, k)
        Not negative.

    Examples
    --------
    >>> low, high = extremes(np.array([[0.25, 0.25]]), np.array([[0.5, 0.75]]), np.array([0.0, 8.0]))
    >>> low.round(9).tolist(), high.round(9).tolist()
    ([4.0], [6.0])
    """
    table = np.broadcast_to(values, least.shape)
    ranks = np.argsort(table, axis=1, kind="stable")
    return _mean((least, most), table, ranks, -1), _mean((least, most), table, ranks, 1)


def _mean(bounds: Sequence[Floats], values: Floats, ranks: Ints, side: int) -> Floats:
    """At least the largest mean of values (M, k) within bounds for side 1, at most the least for side -1.

    What the lower bounds leave is given out from the first rank on, or from the last.
    """
    least, most = bounds
    order = ranks if side < 0 else ranks[:, ::-1]
    free = np.take_along_axis(np.maximum(most - least, 0.0), order, axis=1)
    left = np.maximum(1.0 - total(least), 0.0)[:, None]
    given = np.minimum(free, np.maximum(left - (np.cumsum(free, axis=1) - free), 0.0))
    floor = total(least * values)
    mean = floor + total(given * np.take_along_axis(values, order, axis=1))
    k, top = least.shape[1], values.max(axis=1)
    room = np.where(top > 0, (4 * k + 16) * _UNIT * top + TINY, 0.0)
    return mean + room if side > 0 else np.maximum(mean - room, floor * (1 - (k + 4) * _UNIT)).clip(0.0)


def posterior(least: Floats, most: Floats, columns: Floats) -> Bounds:
    """Bounds on beliefs after evidence: each is largest where it was largest and the rest lies where the columns are least.

    Examples
    --------
    >>> low, high = posterior(np.array([[0.25, 0.5]]), np.array([[0.5, 0.75]]), np.array([[3.0, 1.0]]))
    >>> low.round(9).tolist(), high.round(9).tolist()  # 1/4 3 / (1/4 3 + 3/4), 1/2 3 / (1/2 3 + 1/2)
    ([[0.5, 0.25]], [[0.75, 0.5]])
    """
    k = least.shape[1]
    wide = (8 * k + 32) * _UNIT
    others_least, others_most = total(least)[:, None] - least, total(most)[:, None] - most
    top = np.minimum(most, 1.0 - others_least + wide)
    bottom = np.maximum(least, 1.0 - others_most - wide).clip(0.0)
    ranks = np.repeat(np.argsort(columns, axis=1, kind="stable"), k, axis=0)
    own = np.tile(np.eye(k, dtype=bool), (len(least), 1))
    rest = np.where(own, 0.0, np.repeat(columns, k, axis=0))
    ends = [np.repeat(bound, k, axis=0) for bound in (least, most)]
    shares = [top * columns, bottom * columns]
    little = _mean([np.where(own, top.reshape(-1, 1), end) for end in ends], rest, ranks, -1)
    much = _mean([np.where(own, bottom.reshape(-1, 1), end) for end in ends], rest, ranks, 1)
    over, under = (
        share / np.maximum(share + others.reshape(-1, k), TINY)
        for share, others in zip(shares, (little, much), strict=True)
    )
    high = np.where(shares[0] > 0, over * (1 + wide) + TINY, 0.0)
    return np.maximum(under * (1 - wide), 0.0), np.minimum(high, 1.0)


@dataclass(frozen=True)
class FilterOver(Filter):
    """Beliefs of the nominal chain (k), each followed by its bounds over a set (2 k), and how they move on.

    Examples
    --------
    >>> near = ChainAmbiguity.interval(MarkovChain([[0.75, 0.25], [0.5, 0.5]], [0.5, 0.5]), 0.5)
    >>> beliefs = FilterOver(near.nominal, 1, near)
    >>> beliefs.after(beliefs.start()[None], np.array([[3.0, 1.0]]), 0).round(4).tolist()
    [[0.6875, 0.3125, 0.5312, 0.1562, 0.8438, 0.4688]]
    """

    ambiguity: ChainAmbiguity

    @property
    def ranges(self) -> Ranges:
        """How the bounds move."""
        return Ranges.of(self.ambiguity)

    def start(self) -> Floats:
        """The nominal belief before anything is released, and its bounds, shape (3 k,)."""
        return np.concatenate([super().start(), self.ranges.start()])

    def inputs(self, beliefs: Floats, record: int) -> Floats:
        """Nominal beliefs over inputs from rows of 3 k numbers at a record."""
        return super().inputs(beliefs[:, : self.chain.k], record)

    def muted(self, beliefs: Floats, record: int) -> Bools:
        """Inputs that the nominal chain rules out, or nearly."""
        return super().muted(beliefs[:, : self.chain.k], record)

    def bounds(self, beliefs: Floats) -> Bounds:
        """Bounds on the beliefs over inputs, (M, k) each."""
        k = self.chain.k
        return beliefs[:, k : 2 * k], beliefs[:, 2 * k :]

    def after(self, beliefs: Floats, columns: Floats, record: int) -> Floats:
        """The rows that follow, given the column of what was released; see :meth:`Filter.after`."""
        k = self.chain.k
        nominal = super().after(beliefs[:, :k], columns, record)
        last = self.chain.max_length
        if last is not None and record + 1 >= last:
            ends = posterior(*self.bounds(beliefs), columns)
            return np.concatenate([nominal, *ends], axis=1)
        moved = self.ranges.after(beliefs[:, k:], columns)
        if k > 2:  # for two states the bounds are attained, none can be nearer
            octave = 2 ** max(20, record.bit_length())
            moved = self.ranges.nearer(moved, nominal, record + 1, self.distance(octave))
        return np.concatenate([nominal, moved], axis=1)


def some(bounds: Bounds | None, users: Ints | Bools) -> Bounds | None:
    """The bounds of some beliefs."""
    return None if bounds is None else (bounds[0][users], bounds[1][users])


def spans(weights: Floats, bounds: Bounds) -> Bounds:
    """At most the least and at least the largest output distribution (M, m) of kernels (M, n, m) over beliefs within bounds."""
    least, most = bounds
    ends = [extremes(least, most, weights[:, :, y]) for y in range(weights.shape[2])]
    return np.stack([low for low, _ in ends], axis=1), np.stack([high for _, high in ends], axis=1)


def keeps_over(weights: Ints, bounds: Bounds, level: float) -> Bools:
    """Whether every ratio of integers to their mean is within e^±level at every belief within bounds; shape (M,)."""
    if level == math.inf:
        return np.ones(len(weights), dtype=bool)
    real = weights.astype(np.float64)
    low, high = spans(real, bounds)
    above = real.max(axis=1) <= low * exp(min(level, 700.0))
    below = real.min(axis=1) >= high * exp(-level)
    return np.asarray((above & below).all(axis=1) & (weights >= 0).all(axis=(1, 2)))


def mixture_over(kernel: Floats, marginal: Floats, bounds: Bounds, level: float) -> Floats:
    """The least weight (M,) of the output distribution ``marginal`` in a mixture that keeps e^±level within bounds."""
    if level == math.inf:
        return np.zeros(len(kernel))
    low, high = spans(kernel, bounds)
    up, down = exp(min(level, 700.0)), exp(-level)
    over = kernel.max(axis=1) - up * low
    under = down * high - kernel.min(axis=1)
    first = over / np.where(over > 0, over + (up - 1.0) * marginal, 1.0)
    second = under / np.where(under > 0, under + (1.0 - down) * marginal, 1.0)
    return np.asarray(np.maximum(first, second).max(axis=1).clip(0.0, 1.0))

"""Chains of two states with one step: what every adversary makes of a side, after any number of unknown records at once.

For one side of a target let f be a function of its unknown records whose logarithm changes by at most tau with each, and
let g(x) be what is known farther out, as a function of the target's value x: a probability up to a factor. Write P for the
step, or for the reversed step on the left, which of two states is the same. The recursion of
:mod:`privopt.measures.bayesian.markov` is a product of matrices: with h_d = P h_{d-1} the likelihood of what is known, and

    Z_d = P D Z_{d-1},  D = diag(1, e^tau) or diag(1, e^-tau),

the largest E[f | 1] / E[f | 0] is (Z_d(1) / Z_d(0)) / (h_d(1) / h_d(0)), and the largest E[f | 0] / E[f | 1] likewise. One
matrix serves where a state makes itself more likely next; otherwise the two factors take turns. So both quotients are
iterates of increasing linear fractional maps: monotone in d, towards a fixed point, and had at any d by powers. Over an
interval of d a ratio of two of them is at most the larger end of one over the smaller end of the other. Halving intervals
finds the worst distance among all, however slowly the chain forgets.

Rounding: the powers N^(2^i) are computed in balls and rounded once. An iterate takes at most one linear fractional map of
positive numbers for each i, of 5 operations and 4 rounded entries, and such maps do not enlarge relative errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.models.markov.chain import MarkovChain
from privopt.models.markov.parts import stationary_distribution

if TYPE_CHECKING:
    from flint import arb

    Matrix: TypeAlias = tuple[arb, arb, arb, arb]
    _Start: TypeAlias = tuple[bool, arb]

MOST_LISTED = 2**18
"""Records of the longest chain of which every distance is looked at; a longer one counts as one of any length."""

LEAST_STEP = 1e-40
"""Smallest probability of a step or of a first value."""

MOST_LEVEL = 64.0
"""Largest level: what is smaller than e^-64 times that probability squared is still far from the least float."""

_BITS = 512
_POWERS = 62
_FORGOTTEN = 64.0  # nats: later records are one interval that has no end
_PARTS = 8
_MOST_INTERVALS = 2**17
_NEAR = 1e-11  # of a logarithm: intervals that promise no more are not divided
_ULP = 2.0**-53


def has_powers(chain: MarkovChain, tau: float) -> bool:
    """Whether a chain has two states, one step, and probabilities that are neither 0 nor tiny.

    Examples
    --------
    >>> has_powers(MarkovChain([[0.9, 0.1], [0.2, 0.8]]), 1.0), has_powers(MarkovChain([[0.5, 0.5], [1, 0]]), 1.0)
    (True, False)
    """
    return chain.k == 2 and chain.homogeneous and 0 < tau <= MOST_LEVEL and _least(chain) >= LEAST_STEP


@lru_cache(maxsize=256)
def _least(chain: MarkovChain) -> float:
    rows = [*chain.exact_step(0), chain.exact_initial]
    return float(min(row.fraction(i) for row in rows for i in (0, 1)))


@dataclass(frozen=True)
class Product:
    """The largest product of what the two sides add, computed and enclosed, at least 1.

    Parameters
    ----------
    value, most : float
    sides : _Sides
    listed : int or None
        Records of a chain whose product is nearly ``value``, and proves it; None where ``value`` is itself reached.
    error : float
        Relative.
    """

    value: float
    most: float
    sides: _Sides
    listed: int | None
    error: float

    @property
    def least(self) -> float:
        """A product that some mechanism and adversary reach."""
        reached = self.value
        if self.listed is not None:
            reached = min(reached, _listed(self.sides, self.listed))
        return max(1.0, reached * (1.0 - self.error))


@dataclass(frozen=True)
class _Adversary:
    """Someone who knows the nearest of some records of a side or none of them, and how far away that is at first."""

    records: int
    known: bool
    likelihood: float
    up: float
    down: float


@dataclass(frozen=True)
class _Map:
    """x -> (r + s x) / (p + q x), its iterates, and its fixed point."""

    powers: tuple[tuple[float, float, float, float], ...]
    fixed: float

    @classmethod
    def of(cls, matrix: Matrix, count: int) -> _Map:
        """The map of a positive matrix, with its powers 2^0, ..., 2^(count - 1)."""
        powers, power = [], matrix
        for _ in range(count):
            total = sum(power[1:], power[0])
            p, q, r, s = (entry / total for entry in power)
            powers.append((_float(p), _float(q), _float(r), _float(s)))
            power = _times((p, q, r, s), (p, q, r, s))
        return cls(tuple(powers), _float(_fixed(matrix)))

    def step(self, i: int, x: Floats) -> Floats:
        """2^i times."""
        p, q, r, s = self.powers[i]
        image: Floats = (r + s * x) / (p + q * x)
        return image

    def listed(self, start: float, count: int) -> Floats:
        """The first iterates, from none on."""
        values, i = np.array([start]), 0
        while len(values) < count:
            values, i = np.concatenate([values, self.step(i, values)]), i + 1
        return values[:count]

    def at(self, start: float, turns: Ints) -> Floats:
        """Some iterates; the fixed point for a negative number of turns."""
        values = np.full(len(turns), start)
        for i in range(len(self.powers)):
            values = np.where(turns >> i & 1, self.step(i, values), values)
        return np.where(turns < 0, self.fixed, values)


@dataclass(frozen=True)
class _Sides:
    """The maps of a chain and a level, and the adversaries of a side."""

    stride: int
    likelihood: _Map
    up: _Map
    down: _Map
    common: tuple[_Adversary, ...]
    """Those who know nothing of the side of a stationary chain, or one of its records."""
    first: tuple[_Adversary, ...]
    """Those who know nothing of the records before the target, where the chain is not stationary."""


def sides_product(chain: MarkovChain, tau: float, length: int | None) -> Product:
    """The largest product of the ratios of both sides, over targets, adversaries and the two pairs of values.

    Examples
    --------
    >>> sticky = MarkovChain([[0.999999, 0.000001], [0.000001, 0.999999]])
    >>> product = sides_product(sticky, 2.5e-7, None)
    >>> round(2.5e-7 + math.log(product.value), 6), product.most / product.least < 1 + 1e-10
    (0.249353, True)
    """
    from flint import ctx

    with ctx.workprec(_BITS):
        step, grown, shrunk = _steps(chain, tau)
        stride = 1 if _ordered(chain) else 2
        pairs = ((step, step), (shrunk, grown), (grown, shrunk))
        turns = (step, grown, shrunk) if stride == 1 else tuple(_times(*pair) for pair in pairs)
        settled = 1 << min(_POWERS, max(map(_forgetting, turns)))
        count = max(1, (min(length or settled, settled) - 1).bit_length())
        likelihood, up, down = (_Map.of(turn, count) for turn in turns)
        common, first = _starts(chain)
        if stride == 1:
            sides = _Sides(1, likelihood, up, down, _alike(common), _alike(first))
        else:
            later = (_turned(starts, step, grown, shrunk) for starts in (common, first))
            sides = _Sides(2, likelihood, up, down, *later)
    error = 4.0 * (8.0 * count + 16.0) * _ULP
    listed = min(settled, MOST_LISTED, length or settled)
    if length is not None and length == listed:
        value = _listed(sides, length)
        return Product(value, value * (1 + error), sides, None, error)
    value, most = _unlimited(sides)
    return Product(value, most * (1 + error), sides, None if length is None else listed, error)


def _ordered(chain: MarkovChain) -> bool:
    """Whether a state makes itself more likely next."""
    zero, one = chain.exact_step(0)
    return one.fraction(1) >= zero.fraction(1)


def _steps(chain: MarkovChain, tau: float) -> tuple[Matrix, Matrix, Matrix]:
    """The step, and the step after a factor of e^tau or of e^-tau for the value 1."""
    from flint import arb

    p, q, r, s = (_ball(row.fraction(i)) for row in chain.exact_step(0) for i in (0, 1))
    growth = arb(tau).exp()
    return (p, q, r, s), (p, q * growth, r, s * growth), (p, q / growth, r, s / growth)


def _forgetting(matrix: Matrix) -> int:
    """A number of binary digits of the turns after which a map has forgotten where it started."""
    root = _root(matrix)
    return math.ceil(math.log2(1.0 + _FORGOTTEN * float(((matrix[0] + matrix[3] + root) / root).mid())))


def _starts(chain: MarkovChain) -> tuple[list[_Start], list[_Start]]:
    """Who knows nothing of a side, or the next record; who knows nothing before the target, where that differs."""
    from flint import arb

    (a0, a1), (b0, b1) = ([row.fraction(i) for i in (0, 1)] for row in chain.exact_step(0))
    common = [(False, arb(1)), (True, _ball(b0 / a0)), (True, _ball(b1 / a1))]
    if chain.stationary:
        return common, []
    stationary = stationary_distribution(chain.exact_step(0), chain.states)
    shares = [chain.exact_initial.fraction(i) / stationary.fraction(i) for i in (0, 1)]
    return common, [(False, _ball(shares[1] / shares[0]))]


def _alike(starts: list[_Start]) -> tuple[_Adversary, ...]:
    """Without unknown records nothing is added."""
    return tuple(_Adversary(int(known), known, *3 * (_float(x),)) for known, x in starts)


def _turned(starts: list[_Start], step: Matrix, grown: Matrix, shrunk: Matrix) -> tuple[_Adversary, ...]:
    """The same, and after one unknown record."""
    odd = (
        _Adversary(1 + known, known, *(_float(_image(m, x)) for m in (step, shrunk, grown)))
        for known, x in starts
    )
    return (*_alike(starts), *odd)


def _listed(sides: _Sides, length: int) -> float:
    """The largest product over all targets of a chain, every distance looked at."""
    common = np.maximum.accumulate(_table(sides, sides.common, length), axis=1)
    before = common
    if sides.first:
        known = tuple(adversary for adversary in sides.common if adversary.known)
        before = np.maximum.accumulate(_table(sides, known, length), axis=1)
        before = np.maximum(before, _table(sides, sides.first, length))
    return float((before * common[:, ::-1]).max())


def _table(sides: _Sides, adversaries: tuple[_Adversary, ...], length: int) -> Floats:
    """The largest ratios by the number of records of a side, for both pairs, shape (2, length)."""
    table = np.ones((2, length))
    for adversary in adversaries:
        if adversary.records < length:
            at = slice(adversary.records, None, sides.stride)
            count = len(range(length)[at])
            likelihood = sides.likelihood.listed(adversary.likelihood, count)
            up, down = sides.up.listed(adversary.up, count), sides.down.listed(adversary.down, count)
            table[0, at] = np.maximum(table[0, at], up / likelihood)
            table[1, at] = np.maximum(table[1, at], likelihood / down)
    return table


def _unlimited(sides: _Sides) -> tuple[float, float]:
    """The largest product for sides of any length, and what it is proved not to exceed but for rounding."""
    values, mosts = [], []
    for up in (True, False):
        common = _supremum(sides, sides.common, up)
        before = _supremum(sides, sides.common + sides.first, up) if sides.first else common
        values.append(common[0] * before[0])
        mosts.append(common[1] * before[1])
    return max(values), max(mosts)


def _supremum(sides: _Sides, adversaries: tuple[_Adversary, ...], up: bool) -> tuple[float, float]:
    """The largest ratio of some adversaries at any distance, as found and as bounded."""
    limit = sides.up.fixed if up else 1.0 / sides.down.fixed
    best, most = max(1.0, limit), 1.0
    turns = np.array([0, *(2**i for i in range(len(sides.up.powers))), -1], dtype=np.int64)
    for adversary in adversaries:
        starts, ends = turns[:-1], turns[1:]
        while len(starts):
            top, bottom, point = _interval(sides, adversary, starts, ends, up)
            best = max(best, float(point.max()))
            bound = top / bottom
            enough = best * (1.0 + _NEAR * math.log(best) + 4.0 * _ULP)
            narrow = (ends >= 0) & (ends - starts <= 1)
            closed = (bound <= enough) | (ends - starts <= 1)
            most = max(most, float(np.where(narrow, point, bound).max(where=closed, initial=1.0)))
            starts, ends = starts[~closed], ends[~closed]
            if len(starts) > _MOST_INTERVALS:
                most = max(most, float(bound[~closed].max()))
                break
            starts, ends = _divided(starts, ends)
    return best, max(best, most)


def _interval(
    sides: _Sides, adversary: _Adversary, starts: Ints, ends: Ints, up: bool
) -> tuple[Floats, Floats, Floats]:
    """A ratio's largest numerator and least denominator over intervals, and its larger value at their ends."""
    expected, start = (sides.up, adversary.up) if up else (sides.down, adversary.down)
    z = np.stack([expected.at(start, starts), expected.at(start, ends)])
    h = np.stack([sides.likelihood.at(adversary.likelihood, t) for t in (starts, ends)])
    over, under = (z, h) if up else (h, z)
    return over.max(axis=0), under.min(axis=0), (over / under).max(axis=0)


def _divided(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Intervals in parts with common ends."""
    shares = np.arange(_PARTS + 1)
    width = (ends - starts)[:, None]
    marks = starts[:, None] + width // _PARTS * shares + np.minimum(width % _PARTS, shares)
    lows, highs = marks[:, :-1].ravel(), marks[:, 1:].ravel()
    return lows[highs > lows], highs[highs > lows]


def _times(one: Matrix, other: Matrix) -> Matrix:
    a, b, c, d = one
    e, f, g, h = other
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


def _image(matrix: Matrix, x: arb) -> arb:
    p, q, r, s = matrix
    return (r + s * x) / (p + q * x)


def _root(matrix: Matrix) -> arb:
    """The difference of the two eigenvalues."""
    p, q, r, s = matrix
    return ((s - p) * (s - p) + 4 * q * r).sqrt()


def _fixed(matrix: Matrix) -> arb:
    """The positive root of q x^2 + (p - s) x - r."""
    p, q, r, s = matrix
    root = _root(matrix)
    return (s - p + root) / (2 * q) if s > p else 2 * r / (p - s + root)


def _ball(value: Fraction) -> arb:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def _float(value: arb) -> float:
    """The middle of a ball, which is far narrower than the rounding."""
    return float(value.mid())

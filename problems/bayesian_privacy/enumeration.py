"""The leakage of noise on a count, a sum or a mean of a chain: every adversary, every output, from exact polynomials.

For what an adversary knows and a value of the target, the distribution of the answer does not depend on the noise: it is the
product of the polynomials of both sides, see :mod:`privopt.problems.bayesian_privacy.sides`. With noise of level tau the
density at y is proportional to sum_c P(c) e^(-rate |y - c|), in units of the lattice, for Laplace and for discrete Laplace
noise alike. Between integers the logarithm of a ratio of two such densities is monotone, and it is constant outside the
range of the sum, so its extremes are at integers. What all known records add moves the output only.

Floats find the adversaries that matter: products, densities and ratios are sums, products and quotients of positive
numbers, so that their logarithms err by a known amount, and whoever is farther below the largest leakage is left out. Of
the others the leakage is enclosed in balls. A released value that is rounded or not quite on the lattice moves by a little,
which changes the logarithm of a density by at most that divided by the scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.exact import MAX_BITS, ball_ceiling, ball_floor
from privopt.measures.bayesian.tables import EXACT_SMALL
from privopt.measures.bound import Bound
from privopt.models import MarkovChain
from privopt.problems.bayesian_privacy.lattice import Lattice
from privopt.problems.bayesian_privacy.pairs import ONE_THREAD
from privopt.problems.bayesian_privacy.sides import Side, arrangements, count_arrangements

if TYPE_CHECKING:
    from flint import arb, fmpz_poly

Case: TypeAlias = tuple[Side, Side]

MOST_ENTRIES = 10_000_000
"""Probabilities of all adversaries, values of a target and answers that are kept: 80 MB, twice that while they are made."""

ENTRY_SECONDS = 1.2e-8
"""Seconds of one of them in a reading."""

_FEW = 400  # adversaries of whom all are enclosed in balls
_TOGETHER = 300_000  # probabilities that are read at a time
_WATCHED = 100  # adversaries who were the worst at a level
_MANY = 2000  # nearly equal adversaries whose leakage is not enclosed in balls
_BITS = 128
_BEYOND = 1e300  # a larger level is read as this one: its exponents would be no floats, and every budget is far below
_FAR = 600.0  # e^-600 times a probability is still a float
_LEAST = 1e-150  # products of two probabilities of this size are floats


@dataclass(frozen=True, eq=False)
class Table:
    """Every adversary of a query, exactly and in floats.

    Parameters
    ----------
    cases : tuple of pairs of sides
    chances : array (width, cases, k)
        Pr(answer, up to what is known | value of the target).
    possible : bool array (cases, k)
        Which values the target can have.
    safe : bool
        Whether no probability is so small that it is lost.
    """

    cases: tuple[Case, ...]
    chances: Floats
    possible: NDArray[np.bool_]
    safe: bool


def entries(chain: MarkovChain, lattice: Lattice, length: int) -> int:
    """About how many probabilities the table has.

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.5], [0.25, 0.75]])
    >>> entries(chain, Lattice((0, 1), Fraction(1), Fraction(0)), 8)
    4752
    """
    return count_arrangements(chain, length) * chain.k * (max(lattice.steps) * length + 1)


@lru_cache(maxsize=4)
def table(chain: MarkovChain, steps: tuple[int, ...], length: int) -> Table:
    """All adversaries who do not know the target's value yet."""
    width = max(steps) * length + 1
    cases: list[Case] = []
    parts: list[Floats] = []
    cache: dict[int, Floats] = {}
    safe = True
    for left, rights in arrangements(chain, steps, length):
        kept = [right for right in rights if _values(left, right) > 1]
        if not kept:
            continue
        one = _rows(left, width, cache)
        others = np.stack([_rows(right, width, cache) for right in kept])
        parts.append(np.stack([_convolved(one[x], others[:, x], steps[x]) for x in range(chain.k)], axis=2))
        cases += [(left, right) for right in kept]
    small = [row[row > 0].min(initial=1.0) for row in cache.values()]
    safe = min(small, default=1.0) >= _LEAST
    chances = np.concatenate(parts).transpose(1, 0, 2).copy() if parts else np.zeros((width, 0, chain.k))
    possible = np.array([[bool(p) and bool(q) for p, q in _pairs(*case)] for case in cases], dtype=np.bool_)
    return Table(tuple(cases), chances, possible.reshape(-1, chain.k), safe)


def _pairs(left: Side, right: Side) -> Iterator[tuple[fmpz_poly, fmpz_poly]]:
    return zip(left.polynomials, right.polynomials, strict=True)


def _values(left: Side, right: Side) -> int:
    """How many values the target can have."""
    return sum(bool(p) and bool(q) for p, q in _pairs(left, right))


def _rows(side: Side, width: int, cache: dict[int, Floats]) -> Floats:
    """The distributions of what a side adds, each rounded once, shape (k, width)."""
    if id(side) not in cache:
        rows = np.zeros((len(side.polynomials), width))
        for row, polynomial in zip(rows, side.polynomials, strict=True):
            weights = [int(w) for w in polynomial.coeffs()]
            total = sum(weights)
            row[: len(weights)] = [w / total for w in weights]
        cache[id(side)] = rows
    return cache[id(side)]


def _convolved(one: Floats, others: Floats, own: int) -> Floats:
    """Distributions of the sum of both sides and the target's own value, shape (others, width)."""
    width = len(one)
    padded = np.concatenate([np.zeros(width + own), one])[: 2 * width]
    shifted = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(padded, width)[width:0:-1])
    some = max(1, ONE_THREAD // width**2)
    return np.concatenate([others[i : i + some] @ shifted for i in range(0, len(others), some)])


@dataclass(frozen=True)
class Listed:
    """Noise on a count, a sum or a mean of a chain that is not long: all adversaries are kept.

    Parameters
    ----------
    chain : MarkovChain
    lattice : Lattice
    length : int

    Examples
    --------
    >>> listed = Listed(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), Lattice((0, 1), Fraction(1), Fraction(0)), 5)
    >>> round(listed.read(0.5).value, 10), listed.share_leaked
    (1.2544221173, Fraction(1, 1))
    """

    chain: MarkovChain
    lattice: Lattice
    length: int

    method: ClassVar[str] = "every adversary in balls"
    """How an enclosure is proved."""

    @property
    def seconds(self) -> float:
        """Predicted seconds of a reading."""
        return ENTRY_SECONDS * entries(self.chain, self.lattice, self.length)

    @property
    def share_leaked(self) -> Fraction:
        """A share of its level that noise of every level leaks."""
        return share_leaked(self.chain, self.lattice, self.length)

    def read(self, tau: float) -> Bound:
        """The leakage of noise of a level, in floats."""
        return enumerated(self.chain, self.lattice, self.length, tau)

    def enclose(self, tau: float) -> tuple[float, float]:
        """Floats around that leakage, proved; the upper one is inf where balls do not decide."""
        return enclose_enumerated(self.chain, self.lattice, self.length, tau)


@lru_cache(maxsize=256)
def enumerated(chain: MarkovChain, lattice: Lattice, length: int, tau: float) -> Bound:
    """The leakage of noise of level tau on a query of a chain, in floats; that of level 1e300 above it.

    Examples
    --------
    >>> chain, count = MarkovChain([[0.8, 0.2], [0.3, 0.7]]), Lattice((0, 1), Fraction(1), Fraction(0))
    >>> round(enumerated(chain, count, 5, 0.5).value, 10)
    1.2544221173
    >>> round(enumerated(MarkovChain([[0.2, 0.8], [0.8, 0.2]]), count, 20, 1.0).value, 10)
    1.0
    """
    rate = float(lattice.share) * min(tau, _BEYOND)
    value = float(_leakages(table(chain, lattice.steps, length), rate).max(initial=0.0))
    return Bound(
        value + 2.0 * float(lattice.stray) * min(tau, _BEYOND), True, EXACT_SMALL, "targets_in_interval"
    )


class Worst:
    """The leakage to those adversaries who were the worst at some levels, in a fraction of the time that all of them take.

    It is a lower bound on the leakage, so that a level at which it is epsilon is at least the largest one.

    Examples
    --------
    >>> chain, count = MarkovChain([[0.8, 0.2], [0.3, 0.7]]), Lattice((0, 1), Fraction(1), Fraction(0))
    >>> worst = Worst(chain, count, 12)
    >>> worst.see(1.0) == enumerated(chain, count, 12, 1.0).value, worst.leakage(0.5) <= worst.see(0.5)
    (True, True)
    """

    def __init__(self, chain: MarkovChain, lattice: Lattice, length: int) -> None:
        self._table, self._lattice = table(chain, lattice.steps, length), lattice
        self._places = np.zeros(0, dtype=np.int64)
        self._some = self._table

    def see(self, tau: float) -> float:
        """The leakage of a level to all of them; the worst of them count from now on."""
        leakages = _leakages(self._table, float(self._lattice.share) * min(tau, _BEYOND))
        if len(leakages) > _WATCHED:
            new = np.argpartition(leakages, -_WATCHED)[-_WATCHED:]
            self._places = np.union1d(self._places, new)
            whole, places = self._table, self._places
            self._some = Table((), whole.chances[:, places], whole.possible[places], whole.safe)
        return self._moved(leakages, tau)

    def leakage(self, tau: float) -> float:
        """The leakage of a level to those that count."""
        return self._moved(_leakages(self._some, float(self._lattice.share) * min(tau, _BEYOND)), tau)

    def _moved(self, leakages: Floats, tau: float) -> float:
        return float(leakages.max(initial=0.0)) + 2.0 * float(self._lattice.stray) * min(tau, _BEYOND)


def _leakages(adversaries: Table, rate: float) -> Floats:
    """The leakage to each adversary, some of them at a time."""
    width, cases, values = adversaries.chances.shape
    some = max(1, _TOGETHER // max(1, width * values))
    parts = [
        _leakages_of(adversaries.chances[:, i : i + some], adversaries.possible[i : i + some], rate)
        for i in range(0, cases, some)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _leakages_of(chances: Floats, possible: NDArray[np.bool_], rate: float) -> Floats:
    densities = _densities(chances, rate)
    above = np.full(densities.shape[:2], -np.inf)
    below = -above
    for x in range(densities.shape[2]):  # they are few: a reduction over so short an axis takes much longer
        np.maximum(above, densities[:, :, x], out=above, where=possible[:, x])
        np.minimum(below, densities[:, :, x], out=below, where=possible[:, x])
    leakages: Floats = (above - below).max(axis=0, initial=0.0)
    return leakages


def _densities(chances: Floats, rate: float) -> Floats:
    """Logarithms of the densities at every answer, by one walk up and one down."""
    if rate * len(chances) < _FAR:
        factor = math.exp(-rate)
        up, down = chances.copy(), np.zeros_like(chances)
        for y in range(1, len(chances)):
            up[y] += factor * up[y - 1]
            down[-1 - y] = factor * (down[-y] + chances[-y])
        with np.errstate(divide="ignore"):
            return np.log(up + down)
    with np.errstate(divide="ignore"):
        logs = np.log(chances)
    up, down = logs.copy(), np.full_like(logs, -np.inf)
    for y in range(1, len(chances)):
        up[y] = np.logaddexp(logs[y], up[y - 1] - rate)
        down[-1 - y] = np.logaddexp(down[-y], logs[-y]) - rate
    return np.logaddexp(up, down)


@lru_cache(maxsize=256)
def enclose_enumerated(chain: MarkovChain, lattice: Lattice, length: int, tau: float) -> tuple[float, float]:
    """Floats around that leakage, proved in balls; the upper one is inf where they do not decide.

    Examples
    --------
    >>> chain, count = MarkovChain([[0.8, 0.2], [0.3, 0.7]]), Lattice((0, 1), Fraction(1), Fraction(0))
    >>> lo, hi = enclose_enumerated(chain, count, 5, 0.5)
    >>> abs(lo - 1.2544221173) < 1e-10, 0 <= hi - lo < 1e-15
    (True, True)
    """
    from flint import arb, ctx, fmpq

    adversaries, rate = table(chain, lattice.steps, length), float(lattice.share) * tau
    cases = _decisive(adversaries, rate)
    # At a level next to 0 all are alike, and what holds for any mechanism of the level will do.
    if len(cases) > _MANY:
        return 0.0, math.inf
    share, stray = (fmpq(x.numerator, x.denominator) for x in (lattice.share, lattice.stray))
    low, high, bits = 0.0, math.inf, _BITS
    while bits <= MAX_BITS:
        with ctx.workprec(bits):
            leakage, moved = enclosed(cases, lattice.steps, arb(tau) * share), 2 * arb(tau) * stray
            if leakage.is_finite():
                low, high = max(ball_floor(leakage - moved), 0.0) + 0.0, ball_ceiling(leakage + moved)
        wide = high - low - 4.0 * float(lattice.stray) * tau
        if wide <= 2.0**-50 * low or wide <= 2.0**-60 * min(tau, 1.0):
            break
        bits *= 2
    return low, high


def _decisive(adversaries: Table, rate: float) -> tuple[Case, ...]:
    """The adversaries who may be the worst, by their leakage in floats and its largest error.

    Products have at most as many terms as the sum has values, and a density has two more roundings a term; so have the
    powers of the factor.
    """
    width = len(adversaries.chances)
    if len(adversaries.cases) <= _FEW or not adversaries.safe or not rate * width < _FAR:
        return adversaries.cases
    leakages = _leakages(adversaries, rate)
    error = 32.0 * (width + 8) * 2.0**-53 * (1.0 + float(leakages.max()))
    near = np.flatnonzero(leakages >= leakages.max() - 4.0 * error)
    return tuple(adversaries.cases[i] for i in near.tolist())


def enclosed(cases: tuple[Case, ...], steps: tuple[int, ...], rate: arb) -> arb:
    """A ball around the leakage of noise to some adversaries: left and right sides, what each value adds, nats a unit."""
    from flint import arb

    factor, largest, seen = (-rate).exp(), arb(1), set[tuple[tuple[int, ...], ...]]()
    for left, right in cases:
        rows = _reduced(left, right, steps) if _values(left, right) > 1 else ()
        if rows and rows not in seen:
            seen.add(rows)
            for values in zip(*(_densities_in_balls(row, factor) for row in rows), strict=True):
                top, bottom = values[0], values[0]
                for value in values[1:]:
                    top, bottom = top.max(value), bottom.min(value)
                largest = largest.max(top / bottom)
    return largest.log()


def _reduced(left: Side, right: Side, steps: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Integer weights of the sum for each possible value, without common values of weight 0, in lowest terms, in order."""
    rows = [
        [0] * own + [int(w) for w in (p * q).coeffs()]
        for own, (p, q) in zip(steps, _pairs(left, right), strict=True)
        if p and q
    ]
    width = max(map(len, rows))
    padded = [row + [0] * (width - len(row)) for row in rows]
    first = min(next(c for c, w in enumerate(row) if w) for row in padded)
    lowest = set()
    for row in padded:
        common = math.gcd(*row)
        lowest.add(tuple(w // common for w in row[first:]))
    return tuple(sorted(lowest))


def _densities_in_balls(row: tuple[int, ...], factor: arb) -> list[arb]:
    """The densities of the noisy sum at each answer, up to a factor that does not depend on the distribution."""
    from flint import arb

    total = sum(row)
    up, down = [arb(row[0])], [arb(0)]
    for w in row[1:]:
        up.append(up[-1] * factor + w)
    for w in row[:0:-1]:
        down.append((down[-1] + w) * factor)
    return [(a + b) / total for a, b in zip(up, reversed(down), strict=True)]


@lru_cache(maxsize=64)
def share_leaked(chain: MarkovChain, lattice: Lattice, length: int) -> Fraction:
    """A share of its level that noise of every level leaks: someone is left with two values of a sum, one a value of the target.

    Examples
    --------
    >>> swing, turn = MarkovChain([[0.2, 0.8], [0.8, 0.2]]), MarkovChain([[0, 1], [1, 0]])
    >>> count = Lattice((0, 1), Fraction(1), Fraction(0))
    >>> share_leaked(swing, count, 2), share_leaked(turn, count, 2)
    (Fraction(1, 1), Fraction(0, 1))
    """
    adversaries = table(chain, lattice.steps, length)
    certain = (adversaries.chances > 0).sum(axis=0) == 1
    widest = 0
    for i in np.flatnonzero((certain & adversaries.possible).sum(axis=1) > 1).tolist():
        rows = _reduced(*adversaries.cases[i], lattice.steps)
        places = [next(c for c, w in enumerate(row) if w) for row in rows if sum(map(bool, row)) == 1]
        widest = max(widest, max(places) - min(places)) if places else widest
    return max(Fraction(0), widest * lattice.share - 2 * lattice.stray)

"""The posteriors that one release may have: a polytope with homogeneous rows, in integers.

A release y with posterior v(w) = P(w | y) keeps the bounds when v >= 0, sum v = 1 and G v <= 0. For
LIP the rows of G are P(s | w) - e^upper P(s) and e^-lower P(s) - P(s | w); for LDP they are
P(s | w) / P(s) - e^epsilon P(t | w) / P(t). Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), optimal LIP
release by the vertices of this polytope.

What is proved rests on :class:`Polytope`: integer weights, and rationals in place of e^upper and e^-lower that allow a
little more, so that every allowed posterior keeps its rows exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.balls import ETA, Balls, U
from privopt.models.channel_data import Observation

Sides: TypeAlias = tuple[str, float, float]
"""Notion, lower and upper level in nats."""

ULPS = 4
"""By how many units in the last place e^budget is rounded up, so that no allowed posterior is cut off."""

BITS = 192
"""Precision of the rationals in place of e^level."""

LARGEST = 1e5
"""Levels above this are beyond every finite ratio of float tables; e^level is then not written down."""


def exp_above(level: float) -> Fraction | None:
    """A rational a little above e^level, 1 at 0; None where it would be too long to write down.

    Examples
    --------
    >>> exp_above(0.0), float(exp_above(1.0)), exp_above(1e9)
    (Fraction(1, 1), 2.718281828459045, None)
    """
    if level > LARGEST:
        return None
    return Fraction(1) if level == 0 else _dyadic(level, up=True)


def exp_below(level: float) -> Fraction:
    """A rational a little below e^-level, 1 at 0.

    Examples
    --------
    >>> exp_below(0.0), float(exp_below(1.0)), exp_below(1e9)
    (Fraction(1, 1), 0.36787944117144233, Fraction(0, 1))
    """
    if level > LARGEST:
        return Fraction(0)
    return Fraction(1) if level == 0 else _dyadic(-level, up=False)


def _dyadic(exponent: float, *, up: bool) -> Fraction:
    from flint import arb, ctx, fmpq

    with ctx.workprec(BITS):
        ball = arb(fmpq(*Fraction(exponent).as_integer_ratio())).exp()
        man, exp = (ball.upper() if up else ball.lower()).man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


Cut: TypeAlias = tuple[tuple[int, ...], int]
"""A further row that allowed posteriors keep: times the probability of each observation, as integers over a denominator."""


@dataclass(frozen=True)
class Polytope:
    """The allowed posteriors of a problem in integers, a little enlarged.

    Parameters
    ----------
    table : tuple of tuples of int
        Weights of (S, W), a row a value of S of positive probability.
    sides : (notion, lower, upper)
    cuts : tuple of cuts
        Further rows; what other distributions of a set demand.
    free : set of int
        Secrets, by their row of the table, whose bounds need not be kept; LIP only.
    """

    table: tuple[tuple[int, ...], ...]
    sides: Sides
    cuts: tuple[Cut, ...] = ()
    free: frozenset[int] = frozenset()

    @cached_property
    def secrets(self) -> tuple[int, ...]:
        """Weights of the values of S."""
        return tuple(map(sum, self.table))

    @cached_property
    def symbols(self) -> tuple[int, ...]:
        """Weights of the observations."""
        return tuple(map(sum, zip(*self.table, strict=True)))

    @cached_property
    def total(self) -> int:
        """The sum of all weights."""
        return sum(self.secrets)

    @cached_property
    def above(self) -> Fraction | None:
        """In place of e^upper."""
        return None if self.sides[2] == math.inf else exp_above(self.sides[2])

    @cached_property
    def below(self) -> Fraction | None:
        """In place of e^-lower."""
        return None if self.sides[1] == math.inf else exp_below(self.sides[1])

    @cached_property
    def names(self) -> tuple[tuple[int, int], ...]:
        """Every row that the notion has: (s, +1) and (s, -1) for the two sides of a secret, or (s, t) for a ratio.

        Then the further rows, (-1, 0), (-2, 0), ...
        """
        n, further = len(self.table), tuple((-1 - i, 0) for i in range(len(self.cuts)))
        if self.sides[0] == "ldp":
            pairs = ((s, t) for s in range(n) for t in range(n) if s != t and self.sides[2] < math.inf)
            return (*pairs, *further)
        up = [(s, 1) for s in range(n)] if self.sides[2] < math.inf else []
        return (*up, *([(s, -1) for s in range(n)] if self.sides[1] < math.inf else []), *further)

    def further(self, weights: Floats) -> Floats:
        """The further rows in floats, divided by the probability of each observation; 0 where that is 0."""
        rows = np.array([[v / below for v in row] for row, below in self.cuts]).reshape(-1, len(weights))
        return np.where(weights > 0, rows / np.where(weights > 0, weights, 1.0), 0.0)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Positions among ``names`` of the rows that some posterior breaks, decided in integers."""
        return tuple(self._broken())

    @cached_property
    def binds(self) -> bool:
        """Whether there is any such row: the first one found ends the search."""
        return next(self._broken(), None) is not None

    @property
    def numbers(self) -> int:
        """Of the rows that the notion has, in floats."""
        n, low, high = len(self.table), *self.sides[1:]
        rows = (
            n * (n - 1) * (high < math.inf)
            if self.sides[0] == "ldp"
            else n * ((low < math.inf) + (high < math.inf))
        )
        return (rows + len(self.cuts)) * len(self.symbols)

    def _broken(self) -> Iterator[int]:
        begin = 0
        for values, sizes in self._rough():
            sure = 64 * U * sizes + 1e-290
            some: Bools = np.asarray((values > sure).any(axis=1))
            none: Bools = np.asarray((values < -sure).all(axis=1))
            for i, (breaks, never) in enumerate(zip(some.tolist(), none.tolist(), strict=True), start=begin):
                if self.free and self.names[i][0] in self.free:
                    continue
                if breaks or (not never and any(v > 0 for v in self.numerators(i))):
                    yield i
            begin += len(values)

    def _rough(self) -> Iterator[tuple[Floats, Floats]]:
        """Rows in floats, and the size of their terms, for what floats can decide; the ratios of one secret at a time."""
        table = np.array([[w / self.total for w in row] for row in self.table])
        prior = np.array([[w / self.total] for w in self.secrets])
        weights = np.array([w / self.total for w in self.symbols])
        notion, lower, upper = self.sides
        seen = list(self.support)
        further = np.array([[v / below for v in row] for row, below in self.cuts]).reshape(-1, len(weights))[
            :, seen
        ]
        if notion == "ldp":
            with np.errstate(all="ignore"):
                lifts = (table / prior)[:, seen]
                top = rounded_exp(upper) * lifts
            for s in range(len(lifts) if upper < math.inf else 0):
                others = np.delete(top, s, axis=0)
                with np.errstate(all="ignore"):
                    difference, size = lifts[s] - others, lifts[s] + others
                yield difference, size
        else:
            joint, product = table[:, seen], prior * weights[seen]
            if upper < math.inf:
                high = rounded_exp(upper) * product
                yield joint - high, joint + high
            if lower < math.inf:
                low = math.exp(-lower) * product
                yield low - joint, low + joint
        if len(further):
            yield further, np.abs(further)

    def numerators(self, row: int) -> list[int]:
        """A row times the probability of each observation, as integers over :meth:`denominator`.

        Raises
        ------
        OverflowError
            If e^level is too long to write down, although a ratio may be infinite.
        """
        first, second = self.names[row]
        if first < 0:
            return list(self.cuts[-1 - first][0])
        a, total = self.table[first], self.total
        if self.sides[0] == "ldp":
            r, b = self.above, self.table[second]
            if r is None:
                if any(x and not y for x, y in zip(a, b, strict=True)):
                    raise OverflowError(f"e^{self.sides[2]:g} is too long to write down")
                return [-y for y in b]
            up, down = r.numerator * self.secrets[first], r.denominator * self.secrets[second]
            return [down * x - up * y for x, y in zip(a, b, strict=True)]
        factor = self.above if second > 0 else self.below
        if factor is None:
            return [-w for w in self.symbols]
        up, down = factor.numerator * self.secrets[first], factor.denominator * total
        return [second * (down * x - up * c) for x, c in zip(a, self.symbols, strict=True)]

    def denominator(self, row: int) -> int:
        """Of the numerators of a row."""
        first, second = self.names[row]
        if first < 0:
            return self.cuts[-1 - first][1]
        if self.sides[0] == "ldp":
            r = self.above
            return 1 if r is None else r.denominator * self.secrets[first] * self.secrets[second]
        factor = self.above if second > 0 else self.below
        return 1 if factor is None else factor.denominator * self.total**2

    @cached_property
    def determined(self) -> bool:
        """Whether only the distribution of W itself is allowed: a level of 0, and independent posteriors of S given W."""
        from flint import fmpz_mat

        if min(self.sides[1:]) > 0:
            return False
        return int(fmpz_mat([[row[w] for w in self.support] for row in self.table]).rank()) == len(
            self.support
        )

    @cached_property
    def support(self) -> tuple[int, ...]:
        """Positions of the observations of positive probability."""
        return tuple(w for w, c in enumerate(self.symbols) if c)

    def balls(self, kept: tuple[int, ...]) -> Balls:
        """Some of the rows, on the support, as floats with radii."""
        rows = [self.numerators(i) for i in kept]
        dens = [self.denominator(i) for i in kept]
        values = [
            [row[w] * self.total / (den * self.symbols[w]) for w in self.support]
            for row, den in zip(rows, dens, strict=True)
        ]
        shape = len(rows), len(self.support)
        mid = np.array(values, dtype=np.float64).reshape(shape)
        hidden = np.array([[row[w] != 0 for w in self.support] for row in rows]).reshape(shape)
        return Balls(mid, np.where(mid == 0, ETA * hidden, 2 * U * np.abs(mid) + ETA))


def polytope(
    observed: Observation, sides: Sides, cuts: tuple[Cut, ...] = (), free: frozenset[int] = frozenset()
) -> Polytope:
    """The allowed posteriors of the observations under bounds, but those of free secrets, and further rows."""
    n = len(observed.observed)
    weights = observed.leaking.exact.weights
    rows = (tuple(weights[i : i + n]) for i in range(0, len(weights), n))
    return Polytope(tuple(row for row in rows if any(row)), sides, cuts, free)


def rounded_exp(level: float) -> float:
    """e^level as a float, rounded up; 1 at 0."""
    return 1.0 if level == 0 else math.exp(min(level, 700.0)) * (1.0 + ULPS * 2.0**-53)

"""Posteriors of a secret with two values: they lie on a line, so that a vertex has at most two observations.

With a(w) the probability of the first value given w, every row of the polytope says a . v <= top or a . v >= bottom.
A vertex is one observation between the two, or a pair of observations, one on either side of an end, mixed so that it
meets the end: v = (D', D) / (D + D') for their distances D and D' from it. All of them are few enough to be tried:
:func:`least_pair_cost` proves in floats with error bounds how far the entropy of one can be below its price.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import U
from privopt.core.problem import Enclosure
from privopt.problems.entropy_boxes import log_balls
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.polytope import Polytope

CELLS = 1 << 20
"""Pairs that are held in memory at a time."""

LEAST = 1e-280
"""Distances below this are not told apart: nothing is proved."""


def ends(polytope: Polytope) -> tuple[Fraction | None, Fraction | None]:
    """Between what the probability of the first of two secrets may lie after a release; None where there is no bound.

    Examples
    --------
    >>> tuple(map(float, ends(Polytope(((1, 3), (3, 1)), ("lip", 0.0, 0.0)))))
    (0.5, 0.5)
    >>> ends(Polytope(((1, 3), (3, 1)), ("lip", math.inf, math.inf)))
    (None, None)
    """
    first, second = (Fraction(w, polytope.total) for w in polytope.secrets)
    above, below = polytope.above, polytope.below
    if polytope.sides[0] == "ldp":
        if above is None:
            return None, None
        return first / (first + above * second), above * first / (second + above * first)
    low, high = [], []
    if above is not None:
        high.append(above * first)
        low.append(1 - above * second)
    if below is not None:
        low.append(below * first)
        high.append(1 - below * second)
    return max(low, default=None), min(high, default=None)


@dataclass(frozen=True, eq=False)
class Side:
    """Observations on the wrong and on the right side of an end, by their place in the support, and how far from it.

    Attributes
    ----------
    wrong, right : int arrays
        Those that may not be released alone, and those that make up for them.
    excess, room : float arrays
        Distances from the end, > 0, each rounded once.
    """

    wrong: Ints
    right: Ints
    excess: Floats
    room: Floats

    def narrowed(self, share: float) -> Side:
        """The same side with its end moved inwards by a share of the least room there is."""
        by = share * float(self.room.max(initial=0.0))
        kept = self.room > 2 * by
        return Side(self.wrong, self.right[kept], self.excess + by, self.room[kept] - by)

    def chunks(self) -> Iterator[slice]:
        """Ranges of ``wrong`` whose pairs with all of ``right`` fit in memory."""
        step = max(1, CELLS // max(1, len(self.right)))
        return (slice(i, min(i + step, len(self.wrong))) for i in range(0, len(self.wrong), step))

    def reduced(self, prices: Floats, rows: slice) -> Floats:
        """Entropy minus price of the pairs of some of the wrong with all of the right, nearly; shape (rows, right).

        For v = (D', D) / (D + D') the entropy is ln(D + D') - (D ln D + D' ln D') / (D + D').
        """
        over, under = self.excess[rows][:, None], self.room[None, :]
        both = over + under
        wrong = log_balls(self.room).mid[None, :] + prices[self.wrong[rows]][:, None]
        right = log_balls(self.excess[rows]).mid[:, None] + prices[self.right][None, :]
        return np.asarray(log_balls(both).mid - (under * wrong + over * right) / both)

    def error(self, prices: Floats) -> float:
        """How far an entry of :meth:`reduced` may be off.

        With u = 2^-53: a distance is off by u of itself, its logarithm L by 16 u |L| + 1.1 u, so each of the two sums by
        (17 |L| + |price| + 1.2) u and the quotient, which is a mean of the two, by 5 u of itself more; ln(D + D') by 16 u
        of itself and 2.1 u, where |ln(D + D')| <= max |L| + ln 2; the difference by u of itself.
        """
        logs = [log_balls(d) for d in (self.excess, self.room)]
        size = max((float((np.abs(x.mid) + x.rad).max(initial=0.0)) for x in logs), default=0.0)
        return 64 * U * (size + float(np.abs(prices).max(initial=0.0)) + 2.0)


@dataclass(frozen=True, eq=False)
class Pairs:
    """All vertices: the observations that may be released alone, and the pairs at either end."""

    alone: Bools
    sides: tuple[Side, ...]

    @property
    def count(self) -> int:
        """Number of pairs."""
        return sum(len(side.wrong) * len(side.right) for side in self.sides)


def pairs(polytope: Polytope) -> Pairs | None:
    """The vertices of a polytope of two secrets; None for more secrets, or distances too small for floats."""
    if len(polytope.table) != 2:
        return None
    seen = polytope.support
    alone, sides = np.ones(len(seen), dtype=bool), []
    for end, sign in zip(ends(polytope), (-1, 1), strict=True):
        if end is None:
            continue
        up, down = end.numerator, end.denominator
        first = polytope.table[0]
        beyond = [
            (sign * (first[w] * down - up * polytope.symbols[w]), polytope.symbols[w] * down) for w in seen
        ]
        wrong = np.array([i for i, (value, _) in enumerate(beyond) if value > 0], dtype=np.int64)
        right = np.array([i for i, (value, _) in enumerate(beyond) if value < 0], dtype=np.int64)
        far = np.array([abs(value) / scale for value, scale in beyond])
        if len(wrong) and min(far[wrong].min(), far[right].min(initial=1.0)) < LEAST:
            return None
        alone[wrong] = False
        sides.append(Side(wrong, right, far[wrong], far[right]))
    return Pairs(alone, tuple(sides))


def least_pair_cost(data: LocalInformationPrivacyData, prices: Floats) -> Enclosure | None:
    """Floats around the least entropy - price over the vertices of a problem with two secrets, where W is X."""
    known = None if data.observation.useful is not None or data.cost is not None else pairs(data.polytope)
    if known is None or float(np.abs(prices).max(initial=0.0)) > 1e100:
        return None
    single = float((-prices[known.alone]).min(initial=math.inf))
    least, most = single, single
    for side in known.sides:
        off = side.error(prices)
        for rows in side.chunks():
            value = float(side.reduced(prices, rows).min(initial=math.inf))
            least, most = min(least, value - off), min(most, value + off)
    return math.nextafter(least, -math.inf), math.nextafter(most, math.inf)

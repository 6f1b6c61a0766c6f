"""Largest ratios of one side of a private record over sets of rows of a chain of two states, exactly.

Walking inward from the farthest output, let h(x) be the probability of what is farther out, given that the present record is x. A
record with redaction probabilities r and a step whose rows leave their state with probability a and b give, for rho = h(1) / h(0),

    rho -> (r[1] / r[0]) rho,      rho -> (b + (1 - b) rho) / ((1 - a) + a rho).

The rows vary independently, and the second map is monotone in each of rho, a and b. So the least and the largest rho of all outputs
together are each at one of the eight corners of (rho, a, b), step by step: which corner is seen from rho <= 1 and the sign of
1 - a - b. One walk of O(m) steps serves all outputs of a side of m records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

from privopt.models.ambiguity.row_set import RowSet

Event: TypeAlias = tuple[int, int]
"""A first release on a side: its distance from the private record and its value, -1 for none."""
N = TypeVar("N", int, float)


@dataclass(frozen=True)
class Leaving:
    """Between which bounds the probabilities of leaving state 0 and state 1 lie: integers over ``whole``.

    Examples
    --------
    >>> Leaving.of([RowSet.interval([0.5, 0.25], [0.75, 0.5]), RowSet.total_variation([0.5, 0.5], 0)])
    Leaving(cross=(2, 4), back=(4, 4), whole=8)
    """

    cross: tuple[int, int]
    back: tuple[int, int]
    whole: int

    @classmethod
    def of(cls, rows: Sequence[RowSet], *, inner: bool = False) -> Leaving:
        """Of sets of two rows; ``inner`` bounds lie within the set where its ends are irrational."""
        whole = rows[0].denominator * rows[1].denominator
        far = 0 if inner else 1
        ends = []
        for row, values, other in ((rows[0], [0, 1], rows[1]), (rows[1], [1, 0], rows[0])):
            low, high = row.smallest(values)[1 - far], row.largest(values)[far]
            ends.append((max(0, low) * other.denominator, min(row.denominator, high) * other.denominator))
        return cls(ends[0], ends[1], whole)

    def floats(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The same as floats."""
        a, b = ([float(Fraction(end, self.whole)) for end in ends] for ends in (self.cross, self.back))
        return (a[0], a[1]), (b[0], b[1])


@dataclass(frozen=True)
class Odds(Generic[N]):
    """h(0) and h(1) up to a common factor, and the output that they are of."""

    zero: N
    one: N
    event: Event

    @property
    def possible(self) -> bool:
        """Whether the output has positive probability at all."""
        return bool(self.zero or self.one)


@dataclass(frozen=True)
class Extremes(Generic[N]):
    """The least and the largest h(1) / h(0) of the outputs of a side; both none where there is no output."""

    low: Odds[N] | None
    high: Odds[N] | None


@dataclass(frozen=True)
class Walk(Generic[N]):
    """The walk inward in one kind of number.

    Parameters
    ----------
    cross, back
        Least and largest probability of leaving state 0, and state 1.
    whole
        What stands for probability 1 in them.
    bits
        Integers longer than this are rounded; 0 never.
    outward
        Whether rounding makes the ratios more extreme, or less.
    """

    cross: tuple[N, N]
    back: tuple[N, N]
    whole: N
    bits: int = 0
    outward: bool = True

    def side(self, redaction: Sequence[Sequence[N]], total: N, end: Event | None) -> Extremes[N]:
        """Extremes at the private record.

        Parameters
        ----------
        redaction : (m, 2) numbers
            Redaction probabilities by distance, over ``total``.
        total
            What stands for redaction for certain.
        end : Event or None
            Names the output that nothing is released; None where something always is.
        """
        one, none = self.whole // self.whole, self.whole - self.whole
        low = high = None if end is None else Odds(one, one, end)
        for d in range(len(redaction), 0, -1):
            zero, other = redaction[d - 1]
            low, high = _redacted(low, zero, other), _redacted(high, zero, other)
            low, high = low or high, high or low
            if zero < total:
                low = Odds(one, none, (d, 0))
                high = high or low
            if other < total:
                high = Odds(none, one, (d, 1))
                low = low or high
            if low is not None and high is not None:
                least, most = self._least(low, high), self._largest(low, high)
                low, high = least or most, most or least
        return Extremes(low, high)

    def _largest(self, low: Odds[N], high: Odds[N]) -> Odds[N] | None:
        """The largest ratio after a step."""
        tops = [self._step(odds, *self._most(odds)) for odds in self._ends(high, low)]
        return self._rounded(max_of(tops), up=True)

    def _least(self, low: Odds[N], high: Odds[N]) -> Odds[N] | None:
        """The least ratio after a step."""
        bottoms = [self._step(odds, *self._fewest(odds)) for odds in self._ends(low, high)]
        turned = max_of([None if o is None else Odds(o.one, o.zero, o.event) for o in bottoms])
        return self._rounded(
            None if turned is None else Odds(turned.one, turned.zero, turned.event), up=False
        )

    def _ends(self, same: Odds[N], other: Odds[N]) -> list[Odds[N]]:
        """Which ends can lead to the same end: that one where 1 - a - b >= 0 for all rows, the other where never."""
        if self.cross[1] + self.back[1] <= self.whole:
            return [same]
        return [other] if self.cross[0] + self.back[0] >= self.whole else [same, other]

    def _most(self, odds: Odds[N]) -> tuple[N, N]:
        """A and b that make the ratio largest."""
        end = 1 if odds.one <= odds.zero else 0
        return self.cross[end], self.back[end]

    def _fewest(self, odds: Odds[N]) -> tuple[N, N]:
        end = 0 if odds.one <= odds.zero else 1
        return self.cross[end], self.back[end]

    def _step(self, odds: Odds[N], a: N, b: N) -> Odds[N] | None:
        zero = (self.whole - a) * odds.zero + a * odds.one
        one = b * odds.zero + (self.whole - b) * odds.one
        if zero or one:
            return Odds(zero, one, odds.event)
        # Impossible with these rows: it may be possible with others of state 0 or 1, whose ratio is then extreme.
        if odds.zero:
            return Odds(self.whole, one, odds.event) if self.cross[0] < self.whole else None
        return Odds(zero, self.whole, odds.event) if self.back[0] < self.whole else None

    def _rounded(self, odds: Odds[N] | None, up: bool) -> Odds[N] | None:
        """The ratio in shorter numbers."""
        if odds is None:
            return None
        zero, one = _shorter(odds.zero, odds.one, self.bits, up == self.outward)
        return Odds(zero, one, odds.event)


def _shorter(zero: Any, one: Any, bits: int, up: bool) -> tuple[Any, Any]:
    """Two numbers with one over zero rounded up or down: integers of few bits, floats of at most 1."""
    if isinstance(zero, float):
        scale = max(zero, one)
        return zero / scale, one / scale
    excess = max(zero.bit_length(), one.bit_length()) - bits
    if not bits or excess <= 0:
        return zero, one
    if up:
        return zero >> excess, -(-one >> excess)
    return -(-zero >> excess), one >> excess


def max_of(odds: Sequence[Odds[N] | None]) -> Odds[N] | None:
    """That of the largest ratio h(1) / h(0), of those there are."""
    best: Odds[N] | None = None
    for each in odds:
        if each is not None and (best is None or each.one * best.zero > best.one * each.zero):
            best = each
    return best


def _redacted(odds: Odds[N] | None, zero: N, one: N) -> Odds[N] | None:
    """After the redaction of a record; None where that cannot be."""
    if odds is None:
        return None
    made = Odds(odds.zero * zero, odds.one * one, odds.event)
    return made if made.possible else None

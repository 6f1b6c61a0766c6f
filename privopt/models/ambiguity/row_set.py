"""Sets of distributions of one symbol, with the largest and smallest expectation over them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import mul, sub
from typing import Self

import numpy as np

from privopt.core.exact import Number
from privopt.errors import InvalidModel
from privopt.models.codec import (
    VERSION,
    decode_number,
    decode_numbers,
    document,
    encode_number,
    encode_numbers,
)
from privopt.models.html import html_table
from privopt.models.validation import Row, exact_distribution, number_array

_FIELDS: dict[str, object] = {
    "kind": ..., "size": ..., "lower": None, "upper": None, "center": None, "radius": None,
}  # fmt: skip
_GUARD = 80
"""Bits below the last place to which a square root is rounded outward."""

Ends = tuple[int, int]
"""Integers around a number, over a denominator that is known."""


@dataclass(frozen=True)
class RowSet:
    """A set of distributions q of one symbol of n values: a row of a table that is not known exactly.

    Made by one of four constructors, from exact rational values (a float is the rational that it stores):
    :meth:`interval`, :meth:`total_variation`, :meth:`chi2` and :meth:`all`.

    Parameters
    ----------
    kind : {"interval", "total_variation", "chi2", "all"}
    size : int
        Number of values, n.
    lower, upper : tuple of Fraction
        Bounds of each probability, of an interval set.
    center : tuple of Fraction
        The distribution in the middle; empty for the other kinds.
    radius : Fraction
        Total variation, or the root of the chi-squared divergence, from the center.

    Examples
    --------
    >>> row = RowSet.total_variation([0.25, 0.75], 0.125)
    >>> row.contains([0.375, 0.625]), row.contains([0.5, 0.5])
    (True, False)
    """

    kind: str
    size: int
    lower: tuple[Fraction, ...] = ()
    upper: tuple[Fraction, ...] = ()
    center: tuple[Fraction, ...] = ()
    radius: Fraction = Fraction(0)

    @classmethod
    def interval(cls, lower: Row, upper: Row) -> Self:
        """All distributions with lower <= q <= upper, entry by entry.

        Parameters
        ----------
        lower, upper : sequence of int, float or Fraction, length n
            Within [0, 1]; taken exactly.

        Raises
        ------
        InvalidModel
            If no distribution lies between them, or a bound is no number.

        Examples
        --------
        >>> RowSet.interval([0.25, 0.25], [0.5, 0.75]).contains([0.5, 0.5])
        True
        """
        low, high = _numbers(lower, "lower"), tuple(min(v, Fraction(1)) for v in _numbers(upper, "upper"))
        if len(low) != len(high):
            raise InvalidModel(
                f"lower has {len(low)} entries and upper {len(high)}: give one of each for every value"
            )
        crossed = next((i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a > b), None)
        if crossed is not None:
            raise InvalidModel(f"lower[{crossed}] is above upper[{crossed}]: the set is empty")
        if not sum(low) <= 1 <= sum(high):
            raise InvalidModel(
                f"lower sums to {float(sum(low))!r} and upper to {float(sum(high))!r}: no distribution lies between them; "
                "widen the bounds, or give Fractions where floats miss 1 by their rounding"
            )
        return cls("interval", len(low), lower=low, upper=high)

    @classmethod
    def total_variation(cls, center: Row, radius: Number) -> Self:
        """All distributions whose total variation from a center, half the sum of |q - center|, is at most a radius.

        Parameters
        ----------
        center : sequence of int, float or Fraction, length n
            A distribution; divided by its exact sum.
        radius : int, float or Fraction
            0 is the center alone; 1 or more is every distribution.

        Raises
        ------
        InvalidModel
            If the center is no distribution, or the radius is negative.

        Examples
        --------
        >>> RowSet.total_variation([0.5, 0.5], 0).contains([0.5, 0.5])
        True
        """
        middle = _distribution(center, "weights that are divided by their sum")
        return cls("total_variation", len(middle), center=middle, radius=min(_radius(radius), Fraction(1)))

    @classmethod
    def chi2(cls, center: Row, radius: Number) -> Self:
        """All distributions with sum (q - center)^2 / center <= radius^2; values of center 0 have probability 0.

        Parameters
        ----------
        center : sequence of int, float or Fraction, length n
        radius : int, float or Fraction

        Raises
        ------
        InvalidModel
            As :meth:`total_variation`.

        Examples
        --------
        >>> RowSet.chi2([0.5, 0.5], 0.5).contains([0.75, 0.25])
        True
        """
        middle = _distribution(center, "weights that are divided by their sum")
        return cls("chi2", len(middle), center=middle, radius=_radius(radius))

    @classmethod
    def all(cls, n: int) -> Self:
        """Every distribution of n values.

        Raises
        ------
        InvalidModel
            If n is below 1.

        Examples
        --------
        >>> RowSet.all(2).contains([1, 0])
        True
        """
        if n < 1:
            raise InvalidModel(f"n is {n}: a distribution has at least one value")
        return cls("all", n)

    @cached_property
    def denominator(self) -> int:
        """What the integers of :meth:`largest`, :meth:`smallest` and :meth:`farthest` are divided by."""
        numbers = (*self.lower, *self.upper, *self.center, self.radius)
        common = math.lcm(*(v.denominator for v in numbers))
        return common << _GUARD if self.kind == "chi2" else common

    @cached_property
    def _scaled(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
        def integers(values: Sequence[Fraction]) -> tuple[int, ...]:
            return tuple(int(v * self.denominator) for v in values)

        return (
            integers(self.lower),
            integers(self.upper),
            integers(self.center),
            int(self.radius * self.denominator),
        )

    @cached_property
    def _gaps(self) -> tuple[int, ...]:
        """The widths of the intervals, scaled."""
        lower, upper, _, _ = self._scaled
        return tuple(map(sub, upper, lower))

    @cached_property
    def _free(self) -> int:
        """What the lower ends of the intervals leave of the probability, scaled."""
        return self.denominator - sum(self._scaled[0])

    @property
    def is_point(self) -> bool:
        """Whether it holds one distribution only."""
        if self.kind in ("total_variation", "chi2"):
            return self.radius == 0
        return self.size == 1 or (self.kind == "interval" and (sum(self.lower) == 1 or sum(self.upper) == 1))

    @property
    def nominal(self) -> tuple[Fraction, ...]:
        """The member by which utilities are read: the center; of intervals the lower ends, with the rest shared out by the room; of all, the uniform one.

        Examples
        --------
        >>> RowSet.interval([0.25, 0.25], [0.5, 1]).nominal
        (Fraction(3, 8), Fraction(5, 8))
        """
        if self.center:
            return self.center
        if self.kind == "all":
            return (Fraction(1, self.size),) * self.size
        left, room = (
            1 - sum(self.lower, Fraction(0)),
            sum(self.upper, Fraction(0)) - sum(self.lower, Fraction(0)),
        )
        share = left / room if room else Fraction(0)
        return tuple(a + share * (b - a) for a, b in zip(self.lower, self.upper, strict=True))

    def contains(self, row: Row) -> bool:
        """Whether a distribution, divided by its exact sum, lies in the set; decided exactly.

        Examples
        --------
        >>> RowSet.interval([0, 0], [1, 0.5]).contains([0.25, 0.75])
        False
        """
        q = _distribution(row)
        if len(q) != self.size:
            return False
        if self.kind == "interval":
            return all(a <= v <= b for a, v, b in zip(self.lower, q, self.upper, strict=True))
        if self.kind == "total_variation":
            return (
                sum((abs(v - c) for v, c in zip(q, self.center, strict=True)), Fraction(0)) <= 2 * self.radius
            )
        if self.kind == "chi2":
            return _chi2(q, self.center) <= self.radius**2
        return True

    def largest(self, values: Sequence[int], order: Sequence[int] | None = None) -> Ends:
        """The largest expectation of integer values over the set, times :attr:`denominator`.

        Parameters
        ----------
        values : sequence of int, length n
        order : sequence of int, optional
            Positions of the values from the smallest to the largest, where they are known.

        Returns
        -------
        tuple of int
            Integers at most and at least that number; equal but for "chi2", whose roots are irrational.

        Examples
        --------
        >>> row = RowSet.interval([0.25, 0.25], [0.5, 0.75])
        >>> row.largest([0, 8]), row.smallest([0, 8]), row.denominator
        ((24, 24), (16, 16), 4)
        """
        if self.kind == "all":
            top = max(values)
            return top, top
        if self.kind == "chi2":
            return self._largest_chi2(values)
        if self.kind == "interval":
            value = self._filled(
                values, sorted(range(self.size), key=values.__getitem__) if order is None else order
            )
        else:
            value = sum(map(mul, self.farthest(values, order), values))
        return value, value

    def _filled(self, values: Sequence[int], order: Sequence[int]) -> int:
        """The largest expectation over intervals: what they leave free goes to the largest values, in whole gaps but for one."""
        best = order[::-1]
        filled = list(accumulate(map(self._gaps.__getitem__, best)))
        whole = bisect_right(filled, self._free)
        taken = best[:whole]
        value: int = sum(map(mul, self._scaled[0], values))
        value += sum(map(mul, map(self._gaps.__getitem__, taken), map(values.__getitem__, taken)))
        if whole < len(best):
            value += (self._free - (filled[whole - 1] if whole else 0)) * values[best[whole]]
        return value

    def smallest(self, values: Sequence[int], order: Sequence[int] | None = None) -> Ends:
        """The smallest expectation of integer values over the set, times :attr:`denominator`; see :meth:`largest`."""
        low, high = self.largest([-v for v in values], None if order is None else order[::-1])
        return -high, -low

    def farthest(self, values: Sequence[int], order: Sequence[int] | None = None) -> tuple[int, ...]:
        """A distribution of the set with the largest expectation, times :attr:`denominator`; nearly so for "chi2".

        Interval sets are filled from the largest value down; of a ball of total variation the mass moves from the smallest
        values to the largest one.

        Examples
        --------
        >>> RowSet.total_variation([0.5, 0.25, 0.25], 0.25).farthest([1, 2, 3])
        (1, 1, 2)
        """
        ranks = sorted(range(self.size), key=values.__getitem__) if order is None else order
        lower, upper, center, radius = self._scaled
        if self.kind == "all":
            return tuple(int(i == ranks[-1]) for i in range(self.size))
        if self.kind == "chi2":
            return self._farthest_chi2(values)
        if self.kind == "interval":
            row, left = list(lower), self._free
            for i in reversed(ranks):
                given = min(left, upper[i] - lower[i])
                row[i], left = row[i] + given, left - given
                if not left:
                    break
            return tuple(row)
        row, best = list(center), ranks[-1]
        for i in ranks[:-1]:
            moved = min(radius, row[i]) if values[i] < values[best] else 0
            row[i], row[best], radius = row[i] - moved, row[best] + moved, radius - moved
        return tuple(row)

    def _largest_chi2(self, values: Sequence[int]) -> Ends:
        kept = self._kept_by_chi2(values)
        mass, mean, variance = _moments(self.center, values, kept)
        room = variance * (mass * (self.radius**2 + 1) - 1)
        value = mean * self.denominator
        root = math.isqrt(math.floor(room * self.denominator**2)) if room > 0 else 0
        return math.floor(value) + root, math.ceil(value) + root + (room > 0)

    def _farthest_chi2(self, values: Sequence[int]) -> tuple[int, ...]:
        """The maximiser rounded to integers, then drawn towards the center until it lies in the set."""
        kept = self._kept_by_chi2(values)
        mass, mean, variance = _moments(self.center, values, kept)
        slope = Fraction(0)
        if variance > 0:
            square = (self.radius**2 - (1 - mass) / mass) / (mass * variance)
            slope = Fraction(math.isqrt(max(0, math.floor(square * self.denominator**2))), self.denominator)
        q = [
            c * (1 / mass + slope * (v - mean)) if keep else Fraction(0)
            for c, v, keep in zip(self.center, values, kept, strict=True)
        ]
        share, step = Fraction(1), Fraction(1, 2**_GUARD)
        while True:
            drawn = [c + share * (v - c) for c, v in zip(self.center, q, strict=True)]
            row = [max(0, math.floor(v * self.denominator)) for v in drawn]
            row[max(range(self.size), key=self.center.__getitem__)] += self.denominator - sum(row)
            if self.contains(row):
                return tuple(row)
            share, step = max(Fraction(0), share - step), 2 * step

    def _kept_by_chi2(self, values: Sequence[int]) -> list[bool]:
        """Values that the maximiser does not press to 0: the smallest leave one by one, until none is negative.

        On the kept ones q = center (1 / mass + slope (value - mean)), with the slope that uses up the radius.
        """
        kept = [c > 0 for c in self.center]
        for low in sorted({v for v, keep in zip(values, kept, strict=True) if keep}):
            mass, mean, variance = _moments(self.center, values, kept)
            room = self.radius**2 - (1 - mass) / mass
            if variance == 0 or room / (mass * variance) * (mean - low) ** 2 <= 1 / mass**2:
                break
            kept = [keep and v != low for keep, v in zip(kept, values, strict=True)]
        return kept

    @property
    def described(self) -> str:
        """What the set is, as a certificate says it of one distribution.

        Examples
        --------
        >>> RowSet.total_variation([0.5, 0.5], 0.25).described
        'total variation at most 0.25 from a center'
        """
        if self.is_point:
            return "one distribution exactly"
        names = {
            "interval": "each probability between two bounds",
            "all": "any distribution",
            "chi2": f"root of the chi-squared divergence at most {float(self.radius):g} from a center",
        }
        return names.get(self.kind, f"total variation at most {float(self.radius):g} from a center")

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal set.

        Examples
        --------
        >>> RowSet.all(3).to_dict()
        {'type': 'row_set', 'version': 1, 'kind': 'all', 'size': 3}
        """
        written: dict[str, object] = {
            "type": "row_set",
            "version": VERSION,
            "kind": self.kind,
            "size": self.size,
        }
        if self.kind == "interval":
            written |= {"lower": encode_numbers(list(self.lower)), "upper": encode_numbers(list(self.upper))}
        if self.center:
            written |= {"center": encode_numbers(list(self.center)), "radius": encode_number(self.radius)}
        return written

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.

        Examples
        --------
        >>> row = RowSet.chi2([0.5, 0.5], 0.25)
        >>> RowSet.from_dict(row.to_dict()) == row
        True
        """
        fields = document(d, "row_set", _FIELDS)
        kind, size = fields["kind"], fields["size"]
        if not isinstance(size, int) or isinstance(size, bool):
            raise InvalidModel(f"size is {size!r}: expected how many values the symbol has")
        made = cls._read(kind, size, fields)
        if made.size != size:
            raise InvalidModel(f"size is {size}, but the set has {made.size} values: correct it")
        return made

    @classmethod
    def _read(cls, kind: object, size: int, fields: Mapping[str, object]) -> Self:
        if kind == "all":
            return cls.all(size)
        if kind == "interval":
            return cls.interval(_decoded(fields["lower"], "lower"), _decoded(fields["upper"], "upper"))
        if kind in ("total_variation", "chi2"):
            make = cls.chi2 if kind == "chi2" else cls.total_variation
            return make(_decoded(fields["center"], "center"), decode_number(fields["radius"], "radius"))
        raise InvalidModel(f'kind is {kind!r}: expected "interval", "total_variation", "chi2" or "all"')

    def __repr__(self) -> str:
        size = "" if self.kind in ("interval", "all") else f", radius {float(self.radius):g}"
        return f"RowSet({self.kind}, {self.size} values{size})"

    def _repr_html_(self) -> str:
        units = [[int(j == i) for j in range(self.size)] for i in range(self.size)]
        low = [max(0, self.smallest(unit)[0]) / self.denominator for unit in units]
        high = [self.largest(unit)[1] / self.denominator for unit in units]
        table = np.array([low, [float(v) for v in self.nominal], high])
        return html_table(repr(self), ("at least", "nominal", "at most"), tuple(range(self.size)), table)


def _numbers(values: Row, what: str) -> tuple[Fraction, ...]:
    array = number_array(list(values), what)
    if array.ndim != 1:
        raise InvalidModel(f"{what} has {array.ndim} dimensions: give one number a value")
    return tuple(Fraction(v) for v in array.tolist())


def _distribution(values: Row, remedy: str | None = None) -> tuple[Fraction, ...]:
    row = exact_distribution(_numbers(values, "a distribution"), "a distribution", remedy)
    return tuple(Fraction(w, row.total) for w in row.weights)


def _radius(value: Number) -> Fraction:
    (number,) = number_array([value], "radius").tolist()
    return Fraction(number)


def _decoded(value: object, what: str) -> list[Number]:
    return [v for v in decode_numbers(value, what, 1) if isinstance(v, int | float | Fraction)]


def _chi2(q: Sequence[Fraction], center: Sequence[Fraction]) -> Number:
    """Sum of (q - c)^2 / c; infinite where q has mass and c has none."""
    if any(v and not c for v, c in zip(q, center, strict=True)):
        return math.inf
    return sum(((v - c) ** 2 / c for v, c in zip(q, center, strict=True) if c), Fraction(0))


def _moments(
    center: Sequence[Fraction], values: Sequence[int], kept: Sequence[bool]
) -> tuple[Fraction, Fraction, Fraction]:
    """Mass of the kept values, and mean and variance of theirs given that."""
    used = [(c, v) for c, v, keep in zip(center, values, kept, strict=True) if keep]
    mass = sum((c for c, _ in used), Fraction(0))
    mean = sum((c * v for c, v in used), Fraction(0)) / mass
    return mass, mean, sum((c * (v - mean) ** 2 for c, v in used), Fraction(0)) / mass

"""Arrays of balls: float64 midpoints with radii that bound every rounding made on the way.

A ball holds the true value whatever the processor, the order of sums or fused operations: each radius adds the
textbook bound of the operation (relative 2^-53, n 2^-53 of the sum of magnitudes for n terms in any order, 2^-1074 for
what underflows) and is itself enlarged by more than its own rounding (Higham, *Accuracy and Stability of Numerical
Algorithms*, Section 3.1; Rump, "Fast and parallel interval arithmetic", Theorem 2.1). Logarithms and exponentials are taken by Arb.
What overflows has an infinite radius, so it proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats

U = 2.0**-53
"""Unit of rounding."""
ETA = 2.0**-1074
"""The smallest positive float: what an operation can lose by underflow is at most half of it."""


@dataclass(frozen=True, eq=False)
class Balls:
    """Balls: numbers known to lie within ``mid`` plus or minus ``rad``, element by element.

    Parameters
    ----------
    mid, rad : arrays of one shape
        The radius is infinite where nothing is known.

    Examples
    --------
    >>> third = Balls.exact(1.0) / Balls.exact(3.0)
    >>> bool(third.lower < 1 / 3 + 1e-17), bool(3 * Fraction(float(third.lower)) <= 1 <= 3 * Fraction(float(third.upper)))
    (True, True)
    >>> terms = Balls.exact([1e16, 1.0, -1e16])
    >>> bool(terms.sum().lower <= 1 <= terms.sum().upper)
    True
    """

    mid: Floats
    rad: Floats

    @classmethod
    def exact(cls, values: ArrayLike) -> Self:
        """The floats themselves."""
        mid = np.asarray(values, dtype=np.float64)
        return cls._of(mid, np.zeros(mid.shape))

    @classmethod
    def between(cls, low: ArrayLike, high: ArrayLike) -> Self:
        """Numbers between two floats each."""
        lo, hi = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            mid = lo + (hi - lo) / 2
            rad = np.maximum(hi - mid, mid - lo) * (1 + 4 * U) + ETA
        return cls._of(mid, np.where(lo == hi, 0.0, rad))

    @classmethod
    def fractions(cls, values: Iterable[Fraction | int]) -> Self:
        """Rationals, a row of them."""
        mids, rads = [], []
        for value in values:
            near = _nearest(value)
            mids.append(near)
            off = abs(Fraction(value) - Fraction(near)) if math.isfinite(near) else None
            rads.append(math.inf if off is None else 0.0 if off == 0 else abs(near) * 2 * U + ETA)
        return cls._of(np.array(mids, dtype=np.float64), np.array(rads, dtype=np.float64))

    @classmethod
    def _of(cls, mid: Any, rad: Any) -> Self:
        mid, rad = np.asarray(mid, dtype=np.float64), np.asarray(rad, dtype=np.float64)
        lost = ~(np.isfinite(mid) & np.isfinite(rad))
        if lost.any():
            mid, rad = np.where(lost, 0.0, mid), np.where(lost, math.inf, rad)
        return cls(mid, rad)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.mid.shape

    @property
    def lower(self) -> Floats:
        """Floats that are at most the numbers."""
        return np.where(self.rad == 0, self.mid, np.nextafter(self.mid - self.rad, -math.inf))

    @property
    def upper(self) -> Floats:
        """Floats that are at least the numbers."""
        return np.where(self.rad == 0, self.mid, np.nextafter(self.mid + self.rad, math.inf))

    @property
    def ends(self) -> tuple[float, float]:
        """Floats around a single number."""
        return float(self.lower), float(self.upper)

    @property
    def T(self) -> Self:
        """Transposed."""
        return type(self)(self.mid.T, self.rad.T)

    def __getitem__(self, at: Any) -> Self:
        return type(self)(np.asarray(self.mid[at]), np.asarray(self.rad[at]))

    def reshape(self, *shape: int) -> Self:
        """The same numbers in another shape."""
        return type(self)(self.mid.reshape(*shape), self.rad.reshape(*shape))

    def __neg__(self) -> Self:
        return type(self)(-self.mid, self.rad)

    def __abs__(self) -> Self:
        return type(self)(np.abs(self.mid), self.rad)

    def __add__(self, other: Self | ArrayLike) -> Self:
        o = self._other(other)
        with np.errstate(over="ignore", invalid="ignore"):
            mid = self.mid + o.mid
            rad = (self.rad + o.rad + U * np.abs(mid)) * (1 + 8 * U)
        return self._of(mid, rad)

    def __sub__(self, other: Self | ArrayLike) -> Self:
        return self + (-self._other(other))

    def __rsub__(self, other: ArrayLike) -> Self:
        return self._other(other) - self

    def __mul__(self, other: Self | ArrayLike) -> Self:
        o = self._other(other)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            mid = self.mid * o.mid
            spread = np.abs(self.mid) * o.rad + self.rad * (np.abs(o.mid) + o.rad)
            known = (self.rad == 0) & (o.rad == 0) & ((self.mid == 0) | (o.mid == 0))
            rad = np.where(known, 0.0, (spread + U * np.abs(mid)) * (1 + 16 * U) + 8 * ETA)
        return self._of(mid, rad)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Self | ArrayLike) -> Self:
        o = self._other(other)
        with np.errstate(all="ignore"):
            mid = self.mid / o.mid
            least = (np.abs(o.mid) - o.rad) * (1 - 4 * U)
            spread = (self.rad + np.abs(mid) * (1 + 4 * U) * o.rad + 4 * ETA) / least
            spread = np.where((self.rad == 0) & (o.rad == 0), 0.0, spread)
            rad = (spread + U * np.abs(mid)) * (1 + 16 * U) + 8 * ETA
            rad = np.where(least > 0, rad, math.inf)
            rad = np.where((self.mid == 0) & (self.rad == 0) & (least > 0), 0.0, rad)
        return self._of(mid, rad)

    def __rtruediv__(self, other: ArrayLike) -> Self:
        return self._other(other) / self

    def __matmul__(self, other: Self | ArrayLike) -> Self:
        o = self._other(other)
        n = self.mid.shape[-1]
        if n >= 2**30:
            raise ValueError(f"{n} terms are too many for the bound on rounding")
        with np.errstate(all="ignore"):
            a, b = np.abs(self.mid), np.abs(o.mid)
            mid = self.mid @ o.mid
            rad = (n + 2) * U * (a @ b)
            if o.rad.any():
                rad = rad + a @ o.rad
            if self.rad.any():
                rad = rad + self.rad @ (b + o.rad)
            rad = rad * (1 + (4 * n + 16) * U) + 8 * (n + 1) * ETA
        return self._of(mid, rad)

    def __rmatmul__(self, other: ArrayLike) -> Self:
        return self._other(other) @ self

    def sum(self, axis: int | None = None) -> Self:
        """Sum along an axis, or of all."""
        n = self.mid.size if axis is None else self.mid.shape[axis]
        with np.errstate(over="ignore", invalid="ignore"):
            mid = self.mid.sum(axis=axis)
            rad = self.rad.sum(axis=axis) + (n + 2) * U * np.abs(self.mid).sum(axis=axis)
            rad = rad * (1 + (4 * n + 16) * U) if n > 1 else self.rad.sum(axis=axis)
        return self._of(mid, rad)

    def cumsum(self, axis: int = -1) -> Self:
        """Running sums along an axis."""
        n = self.mid.shape[axis]
        with np.errstate(over="ignore", invalid="ignore"):
            mid = np.cumsum(self.mid, axis=axis)
            rad = np.cumsum(self.rad, axis=axis) + (n + 2) * U * np.cumsum(np.abs(self.mid), axis=axis)
        return self._of(mid, rad * (1 + (4 * n + 16) * U))

    def min(self, axis: int | None = None) -> Self:
        """Least number along an axis, or of all."""
        return self.between(self.lower.min(axis=axis), self.upper.min(axis=axis))

    def max(self, axis: int | None = None) -> Self:
        """Largest number along an axis, or of all."""
        return self.between(self.lower.max(axis=axis), self.upper.max(axis=axis))

    def minimum(self, other: Self | ArrayLike) -> Self:
        """The lesser of two numbers each."""
        o = self._other(other)
        return self.between(np.minimum(self.lower, o.lower), np.minimum(self.upper, o.upper))

    def maximum(self, other: Self | ArrayLike) -> Self:
        """The larger of two numbers each."""
        o = self._other(other)
        return self.between(np.maximum(self.lower, o.lower), np.maximum(self.upper, o.upper))

    def where(self, mask: NDArray[np.bool_], other: Self | ArrayLike) -> Self:
        """These numbers where a mask is true, others elsewhere."""
        o = self._other(other)
        return type(self)(np.where(mask, self.mid, o.mid), np.where(mask, self.rad, o.rad))

    def sqrt(self) -> Self:
        """Square roots of numbers that are not negative; correctly rounded by IEEE 754."""
        with np.errstate(invalid="ignore"):
            low = np.nextafter(np.sqrt(np.maximum(self.lower, 0.0)), -math.inf)
            high = np.nextafter(np.sqrt(self.upper), math.inf)
        return self.between(np.maximum(low, 0.0), high)

    def log(self) -> Self:
        """Natural logarithms; nothing is known where a number may not be positive."""
        return self._through(_log_ends)

    def exp(self) -> Self:
        """Exponentials."""
        return self._through(_exp_ends)

    def _through(self, ends: Callable[[float], tuple[float, float]]) -> Self:
        """An increasing function, from what it is at the ends; each distinct float is asked once."""
        lower, upper = self.lower.ravel(), self.upper.ravel()
        distinct, back = np.unique(np.concatenate((lower, upper)), return_inverse=True)
        enclosures = np.array([ends(x) for x in distinct.tolist()], dtype=np.float64).reshape(-1, 2)[
            back.ravel()
        ]
        low, high = (
            enclosures[: lower.size, 0].reshape(self.shape),
            enclosures[lower.size :, 1].reshape(self.shape),
        )
        return self.between(low, high)

    def _other(self, other: Self | ArrayLike) -> Self:
        return other if isinstance(other, type(self)) else self.exact(other)  # type: ignore[arg-type]


def below(values: Floats) -> Floats:
    """Floats that are no larger than the exact results whose nearest floats these are.

    Those are at least the next smaller floats, which are nearer than 2^-52 of a number that is not tiny.

    Examples
    --------
    >>> bool(3 * Fraction(float(below(np.array(1.0) / 3.0))) <= 1)
    True
    """
    lower: Floats = values - (np.abs(values) * (2 * U) + 2.0**-1000)
    return lower


def above(values: Floats) -> Floats:
    """Floats that are no smaller than the exact results whose nearest floats these are.

    Examples
    --------
    >>> bool(3 * Fraction(float(above(np.array(1.0) / 3.0))) >= 1)
    True
    """
    upper: Floats = values + (np.abs(values) * (2 * U) + 2.0**-1000)
    return upper


def leading(values: Floats, terms: int) -> Floats:
    """The leading part of numbers, on a grid so coarse that ``terms`` of them add without rounding; the rest is exact.

    Adding and subtracting a large number rounds to a multiple of its last digit (Rump, Ogita, Oishi, "Accurate
    floating-point summation", 2008). Numbers times ``terms`` must be well below the largest float.

    Examples
    --------
    >>> part = leading(np.full(3, 0.1), 3)
    >>> bool((part + (0.1 - part) == 0.1).all()), float(part.sum()) == 3 * float(part[0])
    (True, True)
    """
    largest = float(np.abs(values).max(initial=0.0))
    anchor = 1.5 * 2.0 ** (math.frexp(largest)[1] + (terms + 1).bit_length() + 1)
    return np.asarray((values + anchor) - anchor)


def floored(value: Fraction) -> float:
    """The largest float that is no larger.

    Examples
    --------
    >>> Fraction(floored(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def _nearest(value: Fraction | int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _log_ends(x: float) -> tuple[float, float]:
    from flint import arb

    if not x > 0:
        return -math.inf, -math.inf
    return (math.inf, math.inf) if x == math.inf else _around(arb(x).log())


def _exp_ends(x: float) -> tuple[float, float]:
    from flint import arb

    if x > 709:
        return 8.2e307, math.inf
    return (0.0, 5e-324) if x < -745.2 else _around(arb(x).exp())


def _around(ball: Any) -> tuple[float, float]:
    """Floats around an Arb ball of some 53 bits."""
    near = float(ball.mid())
    off = float(ball.rad()) * 1.01 + abs(near) * 2 * U + ETA
    return math.nextafter(near - off, -math.inf), math.nextafter(near + off, math.inf)

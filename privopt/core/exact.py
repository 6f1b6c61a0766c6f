"""Exact numbers: distributions as integer rows, and comparisons with e**epsilon that are proved.

A float is the dyadic rational it stores. A distribution is the given numbers divided by their exact sum.
Nothing here rounds unless its name says so.

How the processor rounds: proofs round outward from the nearest float, and a library may have changed that.

A compiled library may leave the processor rounding upward (the Parma Polyhedra Library does where its binding does not
set it back), or flushing numbers below 2^-1022 to 0 (libraries built for speed do so when they are loaded). Both hold for
the whole thread, and a sum rounded outward by one step is then no bound any more. So it is looked at before anything is
proved: the direction is set back, and where that cannot be done nothing is proved.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from privopt.errors import PrivoptError

if TYPE_CHECKING:
    from flint import arb

Number: TypeAlias = int | float | Fraction

MAX_BITS = 4096
"""Precision at which an undecided comparison is given up (and does not count as a pass)."""


@dataclass(frozen=True, slots=True)
class IntegerRow:
    """A probability distribution with integer weights: outcome i has probability weights[i] / total.

    Examples
    --------
    >>> IntegerRow((1, 3), 4).fraction(1)
    Fraction(3, 4)
    """

    weights: tuple[int, ...]
    total: int

    def __post_init__(self) -> None:
        if self.total <= 0 or sum(self.weights) != self.total or min(self.weights) < 0:
            raise ValueError("a row needs non-negative integer weights with a positive sum equal to total")

    def fraction(self, index: int) -> Fraction:
        """Probability of one outcome."""
        return Fraction(self.weights[index], self.total)

    def floats(self) -> list[float]:
        """Probabilities, each rounded correctly (division of Python integers rounds once)."""
        return [weight / self.total for weight in self.weights]


def integer_row(values: Iterable[Number]) -> IntegerRow:
    """The exact distribution proportional to non-negative values, in lowest terms.

    Examples
    --------
    >>> integer_row([0.25, 0.75])
    IntegerRow(weights=(1, 3), total=4)
    >>> integer_row([0.1, 0.9]).total == 10  # 0.1 is not a tenth in binary
    False
    """
    return row_and_sum(values)[0]


def row_and_sum(values: Iterable[Number]) -> tuple[IntegerRow, Fraction]:
    """The exact distribution proportional to non-negative values, in lowest terms, and their exact sum.

    Examples
    --------
    >>> row_and_sum([0.25, 0.5])
    (IntegerRow(weights=(1, 2), total=3), Fraction(3, 4))
    """
    exact = [v if isinstance(v, (int, float, Fraction)) else Fraction(v) for v in values]
    ratios = [v.as_integer_ratio() for v in exact]
    scale = math.lcm(*{down for _, down in ratios})
    weights = [up * (scale // down) for up, down in ratios]
    common = math.gcd(*weights) or 1
    reduced = tuple(weights) if common == 1 else tuple(w // common for w in weights)
    total = sum(reduced)
    return IntegerRow(reduced, total), Fraction(total * common, scale)


def exp_at_least(epsilon: float | Fraction, numerator: int, denominator: int) -> bool | None:
    """Whether numerator / denominator <= e**epsilon, proved; None where 4096 bits do not decide.

    A float ``epsilon`` is the rational that it stores; ``inf`` admits every ratio, also x / 0. At
    epsilon = 0 integers are compared. Otherwise e**epsilon is irrational and enclosed by balls of
    growing precision.

    Examples
    --------
    >>> exp_at_least(0.0, 7, 7), exp_at_least(0.0, 8, 7), exp_at_least(1.0, 271828, 100000)
    (True, False, True)
    """
    if epsilon == math.inf or numerator == 0:
        return True
    if denominator == 0:
        return False
    if epsilon == 0:
        return numerator <= denominator
    from flint import arb, ctx, fmpq

    exponent = fmpq(*Fraction(epsilon).as_integer_ratio())
    precision = 64
    while precision <= MAX_BITS:
        with ctx.workprec(precision):
            limit = arb(exponent).exp()
            ratio = arb(numerator) / arb(denominator)
            if ratio < limit:
                return True
            if ratio > limit:
                return False
        precision *= 2
    return None


def log_enclosure(numerator: int, denominator: int) -> tuple[float, float]:
    """Floats lo <= ln(numerator / denominator) <= hi, proved and a few ulp apart.

    Examples
    --------
    >>> log_enclosure(1, 1)
    (0.0, 0.0)
    >>> lo, hi = log_enclosure(10**40 + 1, 10**40)
    >>> lo <= 1e-40 <= hi and hi - lo < 1e-54
    True
    """
    from flint import arb, ctx

    if numerator == denominator:
        return 0.0, 0.0
    if denominator == 0:
        return math.inf, math.inf
    precision = 128
    while True:
        with ctx.workprec(precision):
            value = (arb(numerator) / arb(denominator)).log()
            if value.rel_accuracy_bits() >= 64 or precision >= MAX_BITS:
                return ball_enclosure(value)
        precision *= 2


def ball_enclosure(ball: arb) -> tuple[float, float]:
    """Floats (lo, hi) around every point of a real ball."""
    return ball_floor(ball), ball_ceiling(ball)


def ball_floor(ball: arb) -> float:
    """The largest float found that is at most every point of a real ball."""
    return -ball_ceiling(-ball)


def ball_ceiling(ball: arb) -> float:
    """The smallest float found that is at least every point of a real ball."""
    from flint import arb

    end = ball.upper()
    if not end.is_finite():
        return -math.inf if end < 0 else math.inf  # what is not a number may be anything
    guess = float(end.mid())
    while not (arb(guess) >= end):
        guess = math.nextafter(guess, math.inf)
    return guess


_NEAREST = 0
"""FE_TONEAREST in the C libraries of x86 and ARM."""
_ONE, _HALF_STEP, _SMALLEST_NORMAL = (float.fromhex(text) for text in ("0x1p0", "0x1p-53", "0x1p-1022"))


def rounds_to_nearest() -> bool:
    """Whether sums are rounded to the nearest float, ties to the even one, both above and below 0.

    Examples
    --------
    >>> rounds_to_nearest()
    True
    """
    up, down = _ONE + _HALF_STEP, -_ONE - _HALF_STEP
    above = _ONE + 1.5 * _HALF_STEP
    return up == _ONE and down == -_ONE and above == _ONE + 2 * _HALF_STEP


def keeps_small_numbers() -> bool:
    """Whether numbers below 2^-1022 are computed with, not taken for 0.

    Examples
    --------
    >>> keeps_small_numbers()
    True
    """
    half = _SMALLEST_NORMAL * 0.5
    return half > 0 and half + half == _SMALLEST_NORMAL


def ensure_nearest() -> None:
    """Set the direction of rounding back to the nearest float where something changed it.

    Raises
    ------
    PrivoptError
        If that cannot be done, or small numbers are flushed to 0: no proof holds then.

    Examples
    --------
    >>> ensure_nearest()
    """
    if not rounds_to_nearest():
        _set_back()
    if not rounds_to_nearest():
        raise PrivoptError(
            "a library made this processor round upward or downward, and it cannot be set back: nothing can be proved in this "
            "process; import privopt before other compiled libraries, or prove in a process of its own (privopt verify)"
        )
    if not keeps_small_numbers():
        raise PrivoptError(
            "a library made this processor take numbers below 2^-1022 for 0 (it was built with -ffast-math): nothing can be "
            "proved in this process; prove in a process that does not load it (privopt verify)"
        )


@cache
def _library() -> ctypes.CDLL | None:
    """The C library that knows the direction of rounding, if there is one."""
    for name in (ctypes.util.find_library("m"), None):
        try:
            library = ctypes.CDLL(name)
            library.fesetround.argtypes, library.fesetround.restype = [ctypes.c_int], ctypes.c_int
        except (OSError, AttributeError, TypeError):
            continue
        return library
    return None


def _set_back() -> None:
    library = _library()
    if library is not None:
        library.fesetround(_NEAREST)

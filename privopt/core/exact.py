"""Exact numbers: distributions as integer rows, and comparisons with e**epsilon that are proved.

A float is the dyadic rational it stores. A distribution is the given numbers divided by their exact sum.
Nothing here rounds unless its name says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

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
    fractions = [Fraction(v) for v in values]
    scale = math.lcm(*(f.denominator for f in fractions))
    weights = [f.numerator * (scale // f.denominator) for f in fractions]
    common = math.gcd(*weights) or 1
    reduced = tuple(w // common for w in weights)
    return IntegerRow(reduced, sum(reduced))


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

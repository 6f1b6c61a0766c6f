"""Rationals as proof files write them, and rationals around e^level that a series of the logarithm proves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privopt.errors import InvalidProblem

LARGEST = 10_000
"""Levels above this are not written: e^level would fill pages."""

PRECISIONS = (128, 512, 2048)
"""Bits that e^level is enclosed to, tried one after the other: more are needed where a ratio nearly reaches it."""

GUARD = 64
"""Bits of the logarithm beyond those of what it proves."""


def written(value: Fraction | float) -> int | str:
    """A rational as an integer or as "p/q".

    Examples
    --------
    >>> written(0.5), written(Fraction(6, 2))
    ('1/2', 3)
    """
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else f"{exact.numerator}/{exact.denominator}"


def rows_written(rows: Iterable[Iterable[Fraction | float | int]]) -> list[list[int | str]]:
    """A table of rationals."""
    return [[written(v) for v in row] for row in rows]


def floor(value: Fraction | float, bits: int = 96) -> Fraction:
    """A dyadic just below a number, to so many bits: short to write.

    Examples
    --------
    >>> floor(Fraction(1, 3), 4)
    Fraction(5, 16)
    """
    exact = Fraction(value)
    if not exact:
        return exact
    shift = bits - (abs(exact.numerator).bit_length() - exact.denominator.bit_length())
    scale = Fraction(2) ** shift
    return Fraction(math.floor(exact * scale)) / scale


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The number from low to high, both positive, that is shortest to write: of the least denominator.

    Examples
    --------
    >>> simplest(Fraction(314, 100), Fraction(315, 100))
    Fraction(22, 7)
    """
    wholes = list[int]()
    while low.denominator != 1 and (whole := math.floor(low)) + 1 > high:
        wholes.append(whole)
        low, high = 1 / (high - whole), 1 / (low - whole)
    found = Fraction(math.ceil(low))
    for whole in reversed(wholes):
        found = whole + 1 / found
    return found


@dataclass(frozen=True)
class Levels:
    """Enclosures of e^level by name, and the bits of the logarithm that prove them."""

    entries: dict[str, dict[str, int | str]]
    bits: int


def levels(named: dict[str, float | Fraction], precision: int) -> Levels:
    """Rationals around e^level for some levels, each to so many bits of e^level - 1.

    Raises
    ------
    InvalidProblem
        If a level is too large to write e^level down.

    Examples
    --------
    >>> levels({"upper": 0.0}, 128).entries
    {'upper': {'level': 0, 'below': 1, 'above': 1}}
    """
    entries, most = {}, precision
    for name, level in named.items():
        if level > LARGEST:
            raise InvalidProblem(
                f"a level of {float(level):g} nats is not covered: e^{float(level):g} is too long to write down (up to {LARGEST} is)"
            )
        below, above, bits = _around(Fraction(level), precision)
        entries[name] = {"level": written(level), "below": written(below), "above": written(above)}
        most = max(most, bits)
    return Levels(entries, most + GUARD)


def _around(level: Fraction, precision: int) -> tuple[Fraction, Fraction, int]:
    """Rationals below and above e^level, and the bits that a logarithm needs to tell them from it."""
    from flint import arb, ctx, fmpq

    if not level:
        return Fraction(1), Fraction(1), precision
    tiny = max(0, level.denominator.bit_length() - level.numerator.bit_length())
    bits = precision + tiny + 8
    with ctx.workprec(bits + 2 * GUARD):
        ball = arb(fmpq(level.numerator, level.denominator)).exp()
        man, exp = ball.mid().man_exp()
    middle = Fraction(int(man)) * Fraction(2) ** int(exp)
    step = middle / Fraction(2) ** bits
    return floor(middle - step, bits + 8), -floor(-middle - step, bits + 8), bits + 8


def json_lines(lines: Iterable[dict[str, Any]]) -> str:
    """One JSON object a line."""
    import json

    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)

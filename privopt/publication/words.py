"""Numbers as they are said in plain sentences: factors, shares, lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from privopt.files.labels import Label

LARGEST = 1e6
"""A factor beyond this is said in words."""


def times(nats: float) -> str:
    """The factor e^nats in four digits or more, as certificates write it, never less than it is.

    Examples
    --------
    >>> times(0.3), times(1.0), times(0.0), times(1e-4), times(50.0)
    ('1.35', '2.719', '1', '1.000101', 'more than a million')
    """
    if nats == 0:
        return "1"
    if nats > math.log(LARGEST):
        return "more than a million"
    value = math.exp(nats)
    excess = math.expm1(nats)
    digits = 4 + max(0, math.floor(-math.log10(excess)) if excess < 0.1 else 0)
    shown = f"{value:.{digits}g}"
    if Fraction(shown) < Fraction(value):
        shown = f"{value + 10.0 ** (math.floor(math.log10(value)) - digits + 1):.{digits}g}"
    return plain(float(shown), digits)


def plain(value: float, digits: int = 3) -> str:
    """A number without an exponent where people can read it so.

    Examples
    --------
    >>> plain(1234.5), plain(0.00001234), plain(-0.0)
    ('1234', '0.0000123', '0')
    """
    if value == 0:
        return "0"
    if math.isinf(value):
        return "without end"
    if not 1e-7 < abs(value) < 1e9:
        return f"{value:.{digits}g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    shown = f"{value:.{places}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def share(value: float) -> str:
    """A probability in per cent.

    Examples
    --------
    >>> share(0.5), share(0.99999), share(0.123456), share(1e-9), share(1.0)
    ('50 %', 'more than 99.9 %', '12.3 %', 'less than 0.1 %', '100 %')
    """
    if 0 < value < 0.001:
        return "less than 0.1 %"
    if 0.999 < value < 1:
        return "more than 99.9 %"
    return f"{plain(100 * value, 3 if value >= 0.1 else 2)} %"


def listed(labels: Sequence[Label], most: int = 4) -> str:
    """A few labels as text, and how many there are if not all are shown; a last one is named.

    Examples
    --------
    >>> listed(["red", "blue"]), listed(range(5)), listed(range(9))
    ('red or blue', '0, 1, 2, 3 or 4', '0, 1, 2, 3 or one of 5 more')
    """
    most += len(labels) == most + 1
    shown = [one(label) for label in labels[:most]]
    if len(labels) > most:
        return f"{', '.join(shown)} or one of {len(labels) - most} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def one(label: Label) -> str:
    """A label as text: the parts of a product symbol joined, and cut where it is long."""
    text = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:37]}..."

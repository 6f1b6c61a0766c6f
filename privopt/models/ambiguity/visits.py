"""Confidence bounds of a probability that was counted until a random time, such as the exits of a state of a chain."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

_BITS = 80
_HALVINGS = 60
_NEAR = 2.0**-30
"""How far, relatively, an end is put beyond where floats have the root: farther than their rounding."""


@lru_cache(maxsize=100_000)
def anytime_interval(count: int, total: int, miss: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds that miss a probability at any time, from the first draw to the last, with probability at most ``miss``.

    The probabilities p at which (n + 1) Pr(Binomial(n, p) = count) > miss: the ratio of the mean likelihood, under p uniform,
    and the likelihood is a martingale, so that by Ville's inequality it reaches 1 / miss with probability at most miss. The
    draws may stop at any time, whatever they showed. The ends are rounded outward: balls prove them.

    Source: Robbins, "Statistical methods related to the law of the iterated logarithm" (1970).

    Parameters
    ----------
    count, total : int
        How often the event was seen, in how many draws.
    miss : Fraction

    Examples
    --------
    >>> low, high = anytime_interval(5, 10, Fraction(1, 20))
    >>> round(float(low), 4), round(float(high), 4)
    (0.1292, 0.8708)
    """
    if not total:
        return Fraction(0), Fraction(1)
    return 1 - _upper(total - count, total, miss), _upper(count, total, miss)


def _upper(count: int, total: int, miss: Fraction) -> Fraction:
    """A p, hardly above the largest of the set, that is proved to lie beyond it."""
    if count == total:
        return Fraction(1)
    low, high = count / total, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _likely(middle, count, total) > math.log(miss / (total + 1)):
            low = middle
        else:
            high = middle
    end, step = Fraction(high), Fraction((1.0 - high) * _NEAR)
    while end < 1 and not _outside(end := end + step, count, total, miss):
        step = 2 * step or Fraction(1)
    return min(end, Fraction(1))


def _likely(p: float, count: int, total: int) -> float:
    """The logarithm of Pr(Binomial(total, p) = count), in floats, for 0 <= p <= 1."""
    if p in (0.0, 1.0):
        return 0.0 if count == total * p else -math.inf
    ways = math.lgamma(total + 1) - math.lgamma(count + 1) - math.lgamma(total - count + 1)
    return ways + count * math.log(p) + (total - count) * math.log1p(-p)


def _outside(p: Fraction, count: int, total: int, miss: Fraction) -> bool:
    """Whether (total + 1) Pr(Binomial(total, p) = count) <= miss, proved."""
    from flint import arb, ctx, fmpq

    if p >= 1:
        return True
    with ctx.workprec(_BITS):
        q = arb(fmpq(p.numerator, p.denominator))
        ways = arb(total + 1).lgamma() - arb(count + 1).lgamma() - arb(total - count + 1).lgamma()
        likely = ways + (count * q.log() if count else arb(0)) + (total - count) * (1 - q).log()
        limit = arb(fmpq(miss.numerator, miss.denominator)) / (total + 1)
        return bool(likely <= limit.log())

"""Confidence bounds of a probability that was counted, rounded outward."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from privopt.errors import InvalidModel

METHODS = ("clopper-pearson", "weissman")
NEAR = Fraction(1, 2**34)
"""How far, relatively, an end is put beyond where SciPy has the root: farther than its rounding."""
_BITS = 80


def check_confidence(confidence: float) -> Fraction:
    """How often a set may miss, 1 - confidence, exactly.

    Raises
    ------
    InvalidModel
        If the confidence is not strictly between 0 and 1.

    Examples
    --------
    >>> check_confidence(0.75)
    Fraction(1, 4)
    """
    if not 0 < confidence < 1:
        raise InvalidModel(f"confidence is {confidence!r}: give a number between 0 and 1, such as 0.95")
    return 1 - Fraction(confidence)


def read_confidence(value: object) -> float | None:
    """The confidence that a file states, or None where it states none.

    Raises
    ------
    InvalidModel
        If it is no number strictly between 0 and 1.

    Examples
    --------
    >>> read_confidence(0.95), read_confidence(None)
    (0.95, None)
    """
    if value is None:
        return None
    if not isinstance(value, float):
        raise InvalidModel(f"confidence is {value!r}: give a number between 0 and 1")
    check_confidence(value)
    return value


@lru_cache(maxsize=100_000)
def clopper_pearson(count: int, total: int, miss: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds that miss a probability with probability at most ``miss``, half of it on each side.

    Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial"
    (Biometrika 1934). The ends are rounded outward: balls prove the tails.

    Parameters
    ----------
    count, total : int
        How often the event was seen, in how many independent draws.
    miss : Fraction

    Examples
    --------
    >>> low, high = clopper_pearson(5, 10, Fraction(1, 20))
    >>> round(float(low), 4), round(float(high), 4)
    (0.1871, 0.8129)
    """
    return _lower(count, total, miss / 2), _upper(count, total, miss / 2)


def _lower(count: int, total: int, tail: Fraction) -> Fraction:
    """A p, hardly below the largest, at which ``count`` or more of ``total`` have probability at most ``tail``, proved."""
    from scipy.special import betaincinv

    if count == 0:
        return Fraction(0)
    end = Fraction(float(betaincinv(count, total - count + 1, float(tail))))
    step = end * NEAR
    while not _tail_at_most(end := end - step, count, total, tail):
        step *= 2
    return max(end, Fraction(0))


def _upper(count: int, total: int, tail: Fraction) -> Fraction:
    """A p, hardly above the smallest, at which ``count`` or fewer of ``total`` have probability at most ``tail``, proved."""
    from scipy.special import betainccinv

    if count == total:
        return Fraction(1)
    end = Fraction(float(betainccinv(count + 1, total - count, float(tail))))
    step = end * NEAR
    while not _tail_at_most(1 - (end := end + step), total - count, total, tail):
        step *= 2
    return min(end, Fraction(1))


def _tail_at_most(p: Fraction, count: int, total: int, tail: Fraction) -> bool:
    """Whether Pr(Binomial(total, p) >= count) <= tail, proved."""
    from flint import arb, ctx, fmpq

    if p <= 0:
        return True
    with ctx.workprec(_BITS):
        point, limit = (arb(fmpq(v.numerator, v.denominator)) for v in (p, tail))
        return bool(point.beta_lower(count, total - count + 1, regularized=True) <= limit)


def weissman_radius(total: int, size: int, miss: Fraction) -> Fraction:
    """A total variation that the relative frequencies exceed with probability at most ``miss``, at most 1.

    Source: Weissman, Ordentlich, Seroussi, Verdu and Weinberger, "Inequalities for the L1 deviation of the empirical
    distribution" (2003).

    Parameters
    ----------
    total : int
        Independent draws.
    size : int
        Values that a draw may take.
    miss : Fraction

    Examples
    --------
    >>> float(weissman_radius(10_000, 4, Fraction(1, 20))) < 0.02
    True
    """
    from flint import arb, ctx, fmpq

    from privopt.core.exact import ball_ceiling

    if size == 1:
        return Fraction(0)
    if total == 0:
        return Fraction(1)
    with ctx.workprec(_BITS):
        odds = arb(fmpq((2**size - 2) * miss.denominator, miss.numerator))
        radius = (2 * odds.log() / total).sqrt() / 2
        end = ball_ceiling(radius)
    return Fraction(1) if not math.isfinite(end) else min(Fraction(1), Fraction(end))

"""Entropies on boxes, as bounds that are proved: logarithms, secants, boxes of the simplex, knapsacks.

What trees of boxes are checked with. Midpoints are made of IEEE additions, multiplications and divisions in a fixed
order, so they are the same on every machine; radii bound what was rounded. Sums whose order a library chooses
(matrix products) are left to :class:`privopt.core.balls.Balls`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.balls import ETA, Balls, U

LN2_HIGH = float.fromhex("0x1.62e42feep-1")
"""The leading 31 bits of ln 2: its products with exponents are exact."""

LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
"""What is missing of ln 2, to 1e-26."""

TERMS = 11
"""Terms of the series of artanh; the rest of it is less than 1e-18 of the sum."""

LOG_ERROR = 16 * U
"""Relative error of :func:`log_balls`; see there."""


def log_balls(x: Floats) -> Balls:
    """Natural logarithms of positive finite floats, to 2^-49 of themselves; nothing is known of others.

    x = m 2^e with m in [sqrt(1/2), sqrt(2)), and ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172. With u = 2^-53:
    m - 1 is exact, s is off by 2 u, the series sum 1 + s^2 / 3 + ... by 2 u, so ln m by 6 u of itself; e times the
    high part of ln 2 is exact. As |ln m| <= ln(2) / 2 <= |e ln 2 + ln m| for e != 0, the sum is off by less than
    6 u + 2 (u + 2 u) + u < 16 u of itself.

    Examples
    --------
    >>> logs = log_balls(np.array([1.0, 2.0, 1e-300]))
    >>> float(logs.mid[0]), float(logs.rad[0]), bool(abs(logs.mid[1] - math.log(2)) <= logs.rad[1])
    (0.0, 0.0, True)
    """
    known = np.isfinite(x) & (x > 0)
    m, e = np.frexp(np.where(known, x, 1.0))
    small = m < math.sqrt(0.5)
    m, e = np.where(small, 2 * m, m), np.where(small, e - 1, e).astype(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = np.full(z.shape, 1.0 / (2 * TERMS + 1))
    for k in range(TERMS - 1, -1, -1):
        series = series * z + 1.0 / (2 * k + 1)
    mid = e * LN2_HIGH + (e * LN2_LOW + 2.0 * s * series)
    return Balls(np.where(known, mid, 0.0), np.where(known, LOG_ERROR * np.abs(mid), math.inf))


def phi_balls(t: Floats) -> Balls:
    """-t ln t of finite floats >= 0, 0 at 0."""
    logs = log_balls(np.where(t > 0, t, 1.0))
    mid = 0.0 - t * logs.mid
    return Balls(mid, np.where(logs.mid == 0, 0.0, 1.5 * LOG_ERROR * np.abs(mid) + 2 * ETA))


def phi(t: Floats) -> Floats:
    """-t ln t in floats, the same on every machine.

    Examples
    --------
    >>> phi(np.array([0.0, 0.5, 1.0])).round(6).tolist()
    [0.0, 0.346574, 0.0]
    """
    return phi_balls(t).mid


def secant_slopes(low: Floats, high: Floats) -> Floats:
    """Slopes of the secants of -t ln t over intervals, nearly; 0 over single points."""
    width = high - low
    return np.asarray(np.where(width > 0, (phi(high) - phi(low)) / np.where(width > 0, width, 1.0), 0.0))


def minorants(low: Floats, high: Floats) -> tuple[Balls, Floats]:
    """Numbers a and slopes b with a + b t <= -t ln t on every interval: nearly the secants.

    A concave function lies above a line wherever it does so at both ends, whatever the slope.

    Examples
    --------
    >>> a, b = minorants(np.array([0.0]), np.array([0.5]))
    >>> bool(a.upper[0] <= 1e-15), float(b[0].round(6))
    (True, 0.693147)
    """
    slopes = secant_slopes(low, high)
    line = Balls.exact(slopes)
    return (phi_balls(low) - line * low).minimum(phi_balls(high) - line * high), slopes


def total(values: Floats) -> tuple[Floats, Floats]:
    """Sums of rows of numbers >= 0, added in order, and by how much they may be off.

    Examples
    --------
    >>> sums, off = total(np.array([[0.1, 0.2, 0.3]]))
    >>> float(sums[0]), bool(off[0] < 1e-15)
    (0.6000000000000001, True)
    """
    with np.errstate(over="ignore"):
        sums = np.add.accumulate(np.ascontiguousarray(values), axis=-1)[..., -1]
    return sums, 2 * values.shape[-1] * U * sums


def empty(low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Whether boxes (m, n) are proved to hold no point of sum 1."""
    (least, under), (most, over) = total(low), total(high)
    return np.asarray((least - under > 1.0) | (most + over < 1.0) | (low > high).any(axis=-1))


def tightened(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Boxes (n,) or (m, n) of the simplex without what their sum 1 rules out, rounded outward; empty ones are left as they are.

    Examples
    --------
    >>> low, high = tightened(np.array([0.6, 0.0, 0.0]), np.array([1.0, 1.0, 0.1]))
    >>> low.tolist(), np.round(high, 9).tolist()
    ([0.6, 0.0, 0.0], [1.0, 0.4, 0.1])
    """
    (least, under), (most, over) = ((x[..., None], off[..., None]) for x, off in (total(low), total(high)))
    outside = (least > 1.0) | (most < 1.0)
    lower = (1.0 - (most - high)) - (over + 4 * U * (1.0 + most))
    upper = (1.0 - (least - low)) + (under + 8 * U)
    return (
        np.where(outside, low, np.maximum(low, lower)),
        np.where(outside, high, np.minimum(high, upper)),
    )


def knapsacks(cost: Floats, low: Floats, high: Floats) -> Floats:
    """Minima of cost . v over low <= v <= high with sum 1 in floats, a row each; inf where there is no such v.

    Examples
    --------
    >>> knapsacks(np.array([[1.0, 3.0]]), np.array([[0.0, 0.25]]), np.array([[1.0, 1.0]])).tolist()
    [1.5]
    """
    order, filled = _filled(cost, low, high)
    sorted_cost = np.take_along_axis(cost, order, axis=1)
    return np.where(empty(low, high), math.inf, (cost * low).sum(axis=1) + (sorted_cost * filled).sum(axis=1))


def _filled(cost: Floats, low: Floats, high: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Entries in the order of their cost, and what each takes of the sum 1 above its lower end."""
    order = np.argsort(cost, axis=1, kind="stable")
    room = np.take_along_axis(high - low, order, axis=1)
    before = np.cumsum(room, axis=1) - room
    left = 1.0 - total(low)[0]
    return order, np.minimum(np.maximum(left[:, None] - before, 0.0), room)


def _last_filled(cost: Floats, order: NDArray[np.intp], filled: Floats) -> Floats:
    """The cost of the entry that is filled last, shape (m, 1)."""
    some = filled > 0
    last = np.where(some.any(axis=1), some.shape[1] - 1 - some[:, ::-1].argmax(axis=1), 0)[:, None]
    return np.take_along_axis(np.take_along_axis(cost, order, axis=1), last, axis=1)


def knapsack_prices(cost: Floats, low: Floats, high: Floats) -> Floats:
    """Prices of the sum 1 at the minima that :func:`knapsacks` finds, shape (m,).

    Examples
    --------
    >>> knapsack_prices(np.array([[1.0, 3.0]]), np.array([[0.0, 0.25]]), np.array([[1.0, 1.0]])).tolist()
    [1.0]
    """
    return _last_filled(cost, *_filled(cost, low, high))[:, 0]


def proved_knapsacks(cost: Balls, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Floats around the minima of cost . v over low <= v <= high with sum 1; inf where a box is proved empty.

    From below by duality: for any number p it is at least p + sum_k min((c_k - p) low_k, (c_k - p) high_k), with p the
    cost of the entry that is filled last. From above by the point that is filled so, moved by what its sum misses of 1.

    Examples
    --------
    >>> below, above = proved_knapsacks(Balls.exact([[1.0, 3.0]]), np.array([[0.0, 0.25]]), np.array([[1.0, 1.0]]))
    >>> bool(below[0] <= 1.5 <= above[0]), bool(above[0] - below[0] < 1e-14)
    (True, True)
    """
    order, filled = _filled(cost.mid, low, high)
    price = _last_filled(cost.mid, order, filled)
    over = cost - price
    below = ((over * low).minimum(over * high)).sum(axis=1) + price[:, 0]
    point = low.copy()
    np.put_along_axis(point, order, np.take_along_axis(low, order, axis=1) + filled, axis=1)
    missed = abs(Balls.exact(point).sum(axis=1) - 1.0).upper
    dearest = (np.abs(cost.mid) + cost.rad).max(axis=1)
    above = (cost * point).sum(axis=1) + Balls.exact(missed) * Balls.exact(dearest) * (1 + 4 * U)
    none = empty(low, high)
    return np.where(none, math.inf, below.lower), np.where(none, math.inf, above.upper)

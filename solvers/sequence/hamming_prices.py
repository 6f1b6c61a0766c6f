"""Prices that prove the closed form of the Hamming error optimal."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.hamming_cases import SHARE, STEAL, TAIL, Cases, pick
from privopt.mechanisms.policy.hamming_kernel import HammingKernel


def prices(kernel: HammingKernel) -> Floats:
    """The prices lam of one belief, up to a constant, which proves the same; shape (n,), epsilon > 0.

    With c the common price of a column, a big letter x has price -(1 - (c - L P(x)) / (1 - L)), a small letter with a
    group of its own -(P(x) - L c) / ((1 - L^2) P(x)), any other letter 0.

    Examples
    --------
    >>> prices(HammingKernel([0.6, 0.4], 0.5)).round(6).tolist()
    [-1.0, -0.69170...]
    """
    f = kernel.rows.found
    low, room = f.levels.low, f.levels.room
    c = _column_price(f)
    case, rank = int(f.case[0]), f.rank[0]
    own = {STEAL: 0, TAIL: int(f.groups[0]), SHARE: int(f.groups[0])}.get(case, int(f.dumped[0]))
    b = f.belief[0]
    over = np.where(b > 0, b, 1.0)
    with np.errstate(over="ignore"):
        small = (1.0 - low * (c / over)) / (room * (1.0 + low))
    mu = np.where(f.big[0], 1.0 - (c - low * b) / room, 0.0)
    mu = np.where(f.small[0] & (rank < own), small, mu)
    return np.asarray(-mu[kernel.place])


def _column_price(f: Cases) -> float:
    """What every column in use costs, in the case that was chosen."""
    low, room, theta = f.levels.low, f.levels.room, f.levels.theta
    case = int(f.case[0])
    last, after = (float(pick(f.belief, f.bigs + f.groups - d)[0]) for d in (1, 0))
    rest, tail = float(f.rest[0]), float(f.tail[0])
    if case == TAIL:
        return after / low
    if case == SHARE:
        return last / low * (after + tail - theta) / (last + tail - theta)
    if case == STEAL:
        missing, robbed = theta - float(f.mass[0]), float(pick(f.belief, f.bigs - 1)[0])
        return (after - missing * (1 + low) * (room + low * robbed)) / (rest * (1 + low))
    return low * float(f.belief[0, 0])

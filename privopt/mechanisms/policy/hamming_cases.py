"""Which letters a step of least Hamming error releases, and how often: the cases of the closed form, many beliefs at once.

Write L = e^-epsilon and theta = 1 / (e^epsilon + 1). A release keeps the bounds exactly when it can be written
(1 - L) K(y | x) + L Q(y) with a kernel K of the same output law Q and K(y | x) <= Q(y) / theta: K sends letters to
groups of mass at least theta. A letter of belief at least theta is a group of its own. What the others weigh together
is shared out in one of four ways, and the best of the four is the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.mechanisms.policy.fixed import exp, lacking, total

DUMP, TAIL, STEAL, SHARE = range(4)
CASES = ("dump", "tail", "steal", "share")


@dataclass(frozen=True)
class Levels:
    """The numbers that a budget fixes: L = e^-epsilon, 1 - L, and theta = L / (1 + L)."""

    low: float
    room: float
    theta: float

    @classmethod
    def of(cls, epsilon: float) -> Levels:
        """For epsilon >= 0 nats, perhaps inf.

        Examples
        --------
        >>> levels = Levels.of(float(np.log(2)))
        >>> round(levels.low, 12), round(levels.room, 12), round(levels.theta, 12)
        (0.5, 0.5, 0.333333333333)
        """
        low = exp(-epsilon)
        return cls(low, lacking(epsilon), low / (1 + low))


@dataclass(frozen=True, eq=False)
class Cases:
    """The best case of every belief; arrays (users,) or (users, letters), letters by decreasing belief.

    Parameters
    ----------
    belief : array (users, letters)
        Sorted.
    big, small : array (users, letters)
        Letters of belief at least theta, and the other possible ones.
    bigs, groups, dumped : array (users,)
        How many letters are big; how many groups of theta the small ones fill; how many of those are used by "dump".
    mass, rest, tail : array (users,)
        Of the small letters; beyond their groups; of the small letters beyond the first ``groups``.
    rho, q : array (users,)
        rest / theta, and the share of the letter after the groups in the case "share".
    case : array (users,)
        Index into ``CASES``.
    value : array (users,)
        Pr(Y = X).
    """

    levels: Levels
    belief: Floats
    big: Bools
    small: Bools
    bigs: Ints
    groups: Ints
    dumped: Ints
    mass: Floats
    rest: Floats
    tail: Floats
    rho: Floats
    q: Floats
    case: Ints
    value: Floats

    @property
    def rank(self) -> Ints:
        """Position among the small letters, 0 first; negative for big ones."""
        return np.asarray(np.arange(self.belief.shape[1]) - self.bigs[:, None])


def pick(table: Floats, index: Ints) -> Floats:
    """table[user, index[user]], and 0 where the index is outside the table."""
    inside = (index >= 0) & (index < table.shape[1])
    found = np.take_along_axis(table, np.where(inside, index, 0)[:, None], axis=1)[:, 0]
    return np.where(inside, found, 0.0)


def cases(belief: Floats, epsilon: float) -> Cases:
    """The best case for beliefs sorted by decreasing probability, shape (users, letters).

    Examples
    --------
    >>> found = cases(np.array([[0.85, 0.15], [0.6, 0.4]]), 0.5)
    >>> [CASES[c] for c in found.case], found.value.round(4).tolist()
    (['dump', 'dump'], [0.85, 0.7089])
    """
    levels = Levels.of(epsilon)
    low, room, theta = levels.low, levels.room, levels.theta
    big = (belief > 0) & (belief >= theta)
    small = (belief > 0) & ~big
    bigs, smalls = big.sum(axis=1), small.sum(axis=1)
    sums = np.cumsum(np.where(small, belief, 0.0), axis=1)
    mass = sums[:, -1]
    filled = np.floor(mass / theta).astype(np.int64) if theta > 0 else np.zeros(len(belief), dtype=np.int64)
    groups = np.maximum(np.minimum(filled, smalls - 1), np.where(bigs == 0, 1, 0))
    rest = np.maximum(mass - groups * theta, 0.0)
    head = np.where(groups > 0, pick(sums, bigs + groups - 1), 0.0)
    tail = np.maximum(mass - head, 0.0)
    rho = np.minimum(rest / theta, 1.0) if theta > 0 else np.zeros(len(belief))
    rank = np.arange(belief.shape[1]) - bigs[:, None]
    top, last, after = belief[:, 0], pick(belief, bigs + groups - 1), pick(belief, bigs + groups)
    worth = (small & (rank < groups[:, None]) & (belief >= low * low * top[:, None])).sum(axis=1)
    dumped = np.maximum(worth, np.where(bigs == 0, 1, 0))
    room_before = rest + (groups - 1) * theta - (head - last)
    q = np.minimum(np.divide(rho * last, room_before, out=np.zeros_like(rho), where=room_before > 0), 1.0)
    base = total(np.where(big, low * (belief * belief) + room * belief, 0.0))
    up = 1 / (1 + low)
    in_use = np.where(dumped > 0, pick(sums, bigs + dumped - 1), 0.0)
    dump = base + up * in_use + low * top * (mass - dumped * theta)
    tailed = base + up * (head + after * rho)
    stolen = base - (low * pick(belief, bigs - 1) + room) * (theta - mass) + up * after
    shared = base + up * (head - last * (q - rho) + after * q)
    never = -np.inf
    values = np.stack(
        [
            dump,
            np.where((tail >= theta) & (rest > 0), tailed, never),
            np.where((groups == 0) & (bigs > 0) & (smalls > 0) & (theta > mass), stolen, never),
            np.where((groups > 0) & (tail < theta) & (rest > 0) & (room_before > 0), shared, never),
        ]
    )
    case = values.argmax(axis=0)
    return Cases(
        levels, belief, big, small, bigs, groups, dumped, mass, rest, tail, rho, q, case, values.max(axis=0)
    )

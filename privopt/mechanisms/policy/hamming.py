"""The closed form of least Hamming error: which letters a step releases and how often, its kernels and its samples.

Write L = e^-epsilon and theta = 1 / (e^epsilon + 1). A release keeps the bounds exactly when it can be written
(1 - L) K(y | x) + L Q(y) with a kernel K of the same output distribution Q and K(y | x) <= Q(y) / theta: K sends letters
to groups of mass at least theta. A letter of belief at least theta is a group of its own. What the others weigh together
is shared out in one of four ways, and the best of the four is the optimum. Kernels are never written out: three numbers
a letter and two cumulative sums say all, for many beliefs at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Bools, Floats, Ints
from privopt.mechanisms.policy.fixed import Levels, total

DUMP, TAIL, STEAL, SHARE = range(4)
CASES = ("dump", "tail", "steal", "share")


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
    picked = np.take_along_axis(table, np.where(inside, index, 0)[:, None], axis=1)[:, 0]
    return np.where(inside, picked, 0.0)


def cases(belief: Floats, epsilon: float) -> Cases:
    """The best case for beliefs sorted by decreasing probability, shape (users, letters).

    Examples
    --------
    >>> answer = cases(np.array([[0.85, 0.15], [0.6, 0.4]]), 0.5)
    >>> [CASES[c] for c in answer.case], answer.value.round(4).tolist()
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


@dataclass(frozen=True, eq=False)
class Rows:
    """K of every user; letters by decreasing belief.

    A letter x goes to itself with probability ``keep``, to the letter ``extra`` of its user with ``side``, and with the
    rest to the columns whose interval [begin, end) overlaps its own, [start, start + width). Overlaps are
    read as shares of a row's own width, so that a belief of 1e-300 gives no 0 / 0.

    Parameters
    ----------
    order : array (users, letters)
        The letter at each position.
    belief, keep, side, start, width, begin, end : array (users, letters)
    marginal : array (users, letters)
        Output distribution Q, which is also that of K.
    extra : array (users,)
        Position, or -1.
    """

    levels: Levels
    cases: Cases
    order: Ints
    belief: Floats
    keep: Floats
    side: Floats
    start: Floats
    width: Floats
    begin: Floats
    end: Floats
    marginal: Floats
    extra: Ints

    def column(self, position: Ints) -> Floats:
        """K(y | x) at one y a user, for every x: shape (users, letters)."""
        users = np.arange(len(self.belief))
        at = position[:, None]
        ends = np.take_along_axis(self.end, at, axis=1)
        begins = np.take_along_axis(self.begin, at, axis=1)
        share = overlap(self.start, self.width, begins, ends)
        shares = (1.0 - self.keep - self.side).clip(0.0) * share
        shares += np.where((position == self.extra)[:, None], self.side, 0.0)
        shares[users, position] += self.keep[users, position]
        possible = self.belief > 0
        return np.where(possible, shares, np.take_along_axis(self.marginal, at, axis=1))


def overlap(start: Floats, width: Floats, begin: Floats, end: Floats) -> Floats:
    """Which share of [start, start + width) lies in [begin, end); 0 where the width is 0."""
    some = width > 0
    over = np.where(some, width, 1.0)
    with np.errstate(over="ignore"):
        upto = ((end - start) / over).clip(0.0, 1.0)
        before = ((begin - start) / over).clip(0.0, 1.0)
    return np.where(some & (end > begin), upto - before, 0.0)


def rows(beliefs: Floats, epsilon: float) -> Rows:
    """The kernels of least Hamming error for beliefs (users, letters) that sum to 1.

    Examples
    --------
    >>> answer = rows(np.array([[0.4, 0.6]]), 0.5)
    >>> answer.marginal.round(4).tolist(), answer.column(np.array([0])).round(4).tolist()
    ([[0.6, 0.4]], [[1.0, 0.0]])
    """
    order = np.argsort(-beliefs, axis=1, kind="stable")
    belief = np.take_along_axis(beliefs, order, axis=1)
    best = cases(belief, epsilon)
    keep, side, rest = _parts(best)
    width = rest * belief
    need = _needs(best)
    ends = np.cumsum(need, axis=1)
    place = np.arange(belief.shape[1])
    last = np.where(need > 0, place, 0).max(axis=1)[:, None]
    end = np.where(place >= last, np.inf, ends)
    begin = np.where(place > last, np.inf, ends - need)
    start = np.cumsum(width, axis=1) - width
    marginal = keep * belief + need
    extra = np.where((best.case == TAIL) | (best.case == SHARE), best.bigs + best.groups, -1)
    users = np.flatnonzero(extra >= 0)
    marginal[users, extra[users]] += total(side[users] * belief[users])
    return Rows(best.levels, best, order, belief, keep, side, start, width, begin, end, marginal, extra)


def _parts(f: Cases) -> tuple[Floats, Floats, Floats]:
    """What each letter keeps, sends aside and leaves to the other columns, as shares of its row."""
    rank, theta = f.rank, f.levels.theta
    case, groups = f.case[:, None], f.groups[:, None]
    own = np.where(case == DUMP, f.dumped[:, None], np.where(case == STEAL, 1, groups))
    owns = f.big | (f.small & (rank < own))
    keep = owns.astype(np.float64)
    rest = (f.small & ~owns).astype(np.float64)
    over = np.where(f.belief > 0, f.belief, 1.0)
    robbed = (case == STEAL) & (rank == -1)
    missing = (theta - f.mass)[:, None] / np.where(robbed, over, 1.0)
    keep, rest = np.where(robbed, 1.0 - missing, keep), np.where(robbed, missing, rest)
    beyond = np.cumsum(np.where(rest > 0, f.belief, 0.0), axis=1)
    with np.errstate(over="ignore"):
        first = ((theta - (beyond - f.belief)) / over).clip(0.0, 1.0)
    side = np.where((case == TAIL) & (rest > 0), f.rho[:, None] * first, 0.0)
    q, gap = f.q[:, None], np.maximum(f.q - f.rho, 0.0)[:, None]
    side = np.where((case == SHARE) & (rest > 0), q, side)
    rest = rest - np.where(rest > 0, np.where(robbed, 0.0, side), 0.0)
    sharing = (case == SHARE) & (rank == groups - 1)
    side, keep = np.where(sharing, gap, side), np.where(sharing, 1.0 - gap, keep)
    return keep, side, np.where(sharing, 0.0, rest)


def _needs(f: Cases) -> Floats:
    """What each column takes from rows other than its own, the letter aside not counted."""
    rank, theta = f.rank, f.levels.theta
    case, groups = f.case[:, None], f.groups[:, None]
    own = np.where(case == DUMP, f.dumped[:, None], np.where(case == STEAL, 1, groups))
    need = np.where(f.small & (rank < own), np.maximum(theta - f.belief, 0.0), 0.0)
    sharing = (case == SHARE) & (rank == groups - 1)
    need = np.where(sharing, need * (1.0 - np.maximum(f.q - f.rho, 0.0))[:, None], need)
    need[:, 0] += np.where(f.case == DUMP, np.maximum(f.mass - f.dumped * theta, 0.0), 0.0)
    return np.asarray(need)


@dataclass(frozen=True, init=False, eq=False)
class HammingKernel:
    """The release of least Hamming error for one belief, as an implicit kernel.

    Built by one sort; a sample costs a binary search, a posterior O(n). Floats throughout: it simulates, and what
    is certified is the channel made of :meth:`matrix`.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Probabilities that sum to 1.
    epsilon : float
        Nats, >= 0, perhaps inf.

    Examples
    --------
    >>> kernel = HammingKernel([0.3, 0.25, 0.2, 0.15, 0.1], 1.0)
    >>> kernel.case, round(kernel.error, 12)
    ('share', 0.384481388758)
    >>> kernel.posterior(0).round(4).tolist()
    [0.7425, 0.092, 0.0736, 0.0552, 0.0368]
    """

    epsilon: float
    rows: Rows

    def __init__(self, belief: ArrayLike, epsilon: float) -> None:
        object.__setattr__(self, "epsilon", float(epsilon))
        object.__setattr__(self, "rows", rows(np.array(belief, dtype=np.float64)[None, :], float(epsilon)))

    @property
    def case(self) -> str:
        """The case of the closed form: "dump", "tail", "steal" or "share"."""
        return CASES[int(self.rows.cases.case[0])]

    @property
    def error(self) -> float:
        """Pr(Y != X)."""
        return 1.0 - float(self.rows.cases.value[0])

    @cached_property
    def place(self) -> Ints:
        """Position of each letter among the sorted ones."""
        return np.argsort(self.rows.order[0], kind="stable")

    @cached_property
    def marginal(self) -> Floats:
        """Output distribution Q, shape (n,)."""
        return np.asarray(self.rows.marginal[0][self.place])

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        return np.cumsum(self.rows.marginal[0]), np.maximum.accumulate(self.rows.end[0])

    def sample(self, letter: int, rng: np.random.Generator) -> int:
        """A release of a letter, simulated: with probability e^-epsilon whatever Q gives, else a walk along its row."""
        mine, x = self.rows, int(self.place[letter])
        sums, ends = self._sums
        if mine.belief[0, x] == 0 or rng.random() < mine.levels.low:
            return int(mine.order[0, _search(sums, rng.random() * sums[-1])])
        u = rng.random() - mine.keep[0, x]
        if u < 0:
            return letter
        u -= mine.side[0, x]
        if u < 0 or mine.width[0, x] == 0:
            return int(mine.order[0, mine.extra[0]]) if mine.side[0, x] > 0 else letter
        rest = 1.0 - mine.keep[0, x] - mine.side[0, x]
        at = mine.start[0, x] + min(u / rest, 1.0) * mine.width[0, x]
        return int(mine.order[0, _search(ends, at)])

    def ratio(self, letter: int) -> Floats:
        """P(y | x) / Q(y) of a release y for every letter x; 1 for a y that is never released."""
        at = int(self.place[letter])
        share = self.rows.marginal[0, at]
        if share <= 0:
            return np.ones(len(self.place))
        column = self.rows.column(np.array([at]))[0]
        return np.asarray((self.rows.levels.room * (column / share) + self.rows.levels.low)[self.place])

    def posterior(self, letter: int) -> Floats:
        """Belief after the release of a letter, shape (n,), divided by its sum."""
        weights = self.rows.belief[0][self.place] * self.ratio(letter)
        return np.asarray(weights / weights.sum())

    def matrix(self) -> Floats:
        """The channel itself, shape (n, n); impossible letters get the row Q.

        Q is summed from the rows as written, so that rounding does not enter the ratios.
        """
        mine = self.rows
        kernel, marginal = self._kernel()
        channel = mine.levels.room * kernel + mine.levels.low * marginal
        return np.asarray(channel[np.ix_(self.place, self.place)])

    def sent(self) -> Floats:
        """The kernel K alone, without the part that ignores the letter, shape (n, n)."""
        kernel, _ = self._kernel()
        return np.asarray(kernel[np.ix_(self.place, self.place)])

    def _kernel(self) -> tuple[Floats, Floats]:
        """K and its output distribution, letters by decreasing belief."""
        mine, n = self.rows, len(self.place)
        shares = overlap(mine.start[0][:, None], mine.width[0][:, None], mine.begin, mine.end)
        kernel = (1.0 - mine.keep[0] - mine.side[0]).clip(0.0)[:, None] * shares
        kernel[np.arange(n), np.arange(n)] += mine.keep[0]
        if mine.extra[0] >= 0:
            kernel[:, mine.extra[0]] += mine.side[0]
        marginal = mine.belief[0] @ kernel
        kernel[mine.belief[0] == 0] = marginal
        return kernel, np.asarray(marginal)


def _search(ends: Floats, at: float) -> int:
    return min(int(np.searchsorted(ends, at, side="right")), len(ends) - 1)


def release_many(
    beliefs: Floats, epsilon: float, letters: Ints, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """One step of many users at once, simulated.

    Parameters
    ----------
    beliefs : array (users, n)
        Each row sums to 1.
    epsilon : float
        Nats, >= 0, perhaps inf.
    letters : int array (users,)
        What each user has.
    rng : numpy.random.Generator

    Returns
    -------
    releases : int array (users,)
    posteriors : array (users, n)
        Belief after the release.

    Examples
    --------
    >>> beliefs = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    >>> released, after = release_many(beliefs, 1.0, np.array([1, 0]), np.random.default_rng(0))
    >>> int(released[1]), after.sum(axis=1).round(12).tolist(), after[1].tolist()
    (0, [1.0, 1.0], [1.0, 0.0, 0.0])
    """
    mine = rows(beliefs, epsilon)
    users = np.arange(len(beliefs))
    x = (mine.order == letters[:, None]).argmax(axis=1)
    u, v = rng.random(len(beliefs)), rng.random(len(beliefs))
    keep, side, width = mine.keep[users, x], mine.side[users, x], mine.width[users, x]
    rest = np.maximum(1.0 - keep - side, 0.0)
    share = np.divide(v - keep - side, rest, out=np.zeros_like(v), where=rest > 0).clip(0.0, 1.0)
    walked = _place(mine.end, mine.start[users, x] + share * width)
    walked = np.where((v < keep + side) | (width == 0), np.where(side > 0, mine.extra, x), walked)
    walked = np.where(v < keep, x, walked)
    sums = np.cumsum(mine.marginal, axis=1)
    blind = _place(sums, v * sums[:, -1])
    y = np.where((u < mine.levels.low) | (mine.belief[users, x] == 0), blind, walked)
    shown = mine.marginal[users, y]
    ratio = mine.levels.room * (mine.column(y) / shown[:, None]) + mine.levels.low
    sorted_after = mine.belief * ratio
    after = np.empty_like(beliefs)
    np.put_along_axis(after, mine.order, sorted_after / sorted_after.sum(axis=1, keepdims=True), axis=1)
    return mine.order[users, y], after


def _place(ends: Floats, at: Floats) -> Ints:
    """Position of the first end beyond a number, one a user."""
    return np.asarray(np.minimum((ends <= at[:, None]).sum(axis=1), ends.shape[1] - 1))

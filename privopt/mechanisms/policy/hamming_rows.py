"""The kernels of the closed form, never written out: three numbers a letter and two cumulative sums, many beliefs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.fixed import total
from privopt.mechanisms.policy.hamming_cases import DUMP, SHARE, STEAL, TAIL, Cases, Levels, cases


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
    law : array (users, letters)
        Output law Q, which is also that of K.
    extra : array (users,)
        Position, or -1.
    """

    levels: Levels
    found: Cases
    order: Ints
    belief: Floats
    keep: Floats
    side: Floats
    start: Floats
    width: Floats
    begin: Floats
    end: Floats
    law: Floats
    extra: Ints

    def column(self, position: Ints) -> Floats:
        """K(y | x) at one y a user, for every x: shape (users, letters)."""
        users = np.arange(len(self.belief))
        at = position[:, None]
        ends = np.take_along_axis(self.end, at, axis=1)
        begins = np.take_along_axis(self.begin, at, axis=1)
        share = overlap(self.start, self.width, begins, ends)
        found = (1.0 - self.keep - self.side).clip(0.0) * share
        found += np.where((position == self.extra)[:, None], self.side, 0.0)
        found[users, position] += self.keep[users, position]
        possible = self.belief > 0
        return np.where(possible, found, np.take_along_axis(self.law, at, axis=1))


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
    >>> found = rows(np.array([[0.4, 0.6]]), 0.5)
    >>> found.law.round(4).tolist(), found.column(np.array([0])).round(4).tolist()
    ([[0.6, 0.4]], [[1.0, 0.0]])
    """
    order = np.argsort(-beliefs, axis=1, kind="stable")
    belief = np.take_along_axis(beliefs, order, axis=1)
    found = cases(belief, epsilon)
    keep, side, rest = _parts(found)
    width = rest * belief
    need = _needs(found)
    ends = np.cumsum(need, axis=1)
    place = np.arange(belief.shape[1])
    last = np.where(need > 0, place, 0).max(axis=1)[:, None]
    end = np.where(place >= last, np.inf, ends)
    begin = np.where(place > last, np.inf, ends - need)
    start = np.cumsum(width, axis=1) - width
    law = keep * belief + need
    extra = np.where((found.case == TAIL) | (found.case == SHARE), found.bigs + found.groups, -1)
    users = np.flatnonzero(extra >= 0)
    law[users, extra[users]] += total(side[users] * belief[users])
    return Rows(found.levels, found, order, belief, keep, side, start, width, begin, end, law, extra)


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

"""Pairwise merging by a short list of best partners for each symbol; loops that numba compiles.

The list of row i holds the best pairs (i, j), j > i, in order, and ``left`` the best pair that may have been left out.
The first of a list that is still there is the best of its row as long as it is better than what was left out; otherwise
the row is looked through again, but only when what was left out might be the best pair of all. A merged block keeps the
number of its first symbol and gets a new version; pairs of older versions are dropped when they come to the front.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.compiling import compiled

LENGTH = 30
"""Partners kept for each symbol."""


class Lists(NamedTuple):
    """The state: arrays only, so that it is passed as it is to compiled code.

    ``rows`` (n, n_s + n_x) and ``mass`` are those of the blocks, ``costs`` (n, 2) what they add to both informations.
    ``front`` and ``filled`` delimit each list in ``partner``, ``age`` and ``score``; ``left_score`` and ``left_partner``
    are what was left out. ``levels``: I(S;Y), I(X;Y), what their compensated sums carry, and merges made.
    ``limits``: multiplier, floor less its slack, price, least worth, stop for I(S;Y) and for I(X;Y).
    ``kinds``: columns of S, score by number, whether inadmissible pairs are skipped.
    """

    rows: Floats
    mass: Floats
    costs: Floats
    version: Ints
    partner: Ints
    age: Ints
    score: Floats
    front: Ints
    filled: Ints
    left_score: Floats
    left_partner: Ints
    pairs: Ints
    path: Floats
    levels: Floats
    limits: Floats
    kinds: Ints


def lose(x: Lists, i: int, j: int) -> tuple[float, float]:
    """What merging two blocks takes from I(S;Y) and from I(X;Y)."""
    mass = x.mass[i] + x.mass[j]
    own = mass * math.log(mass)
    secret = useful = 0.0
    for k in range(x.rows.shape[1]):
        t = x.rows[i, k] + x.rows[j, k]
        if t > 0:
            if k < x.kinds[0]:
                secret += t * math.log(t)
            else:
                useful += t * math.log(t)
    return x.costs[i, 0] + x.costs[j, 0] - (secret - own), x.costs[i, 1] + x.costs[j, 1] - (useful - own)


def rate(x: Lists, d_secret: float, d_useful: float) -> float:
    """The score, a whole number; as PairRule.scores."""
    if x.kinds[1] == 1:
        return float(np.rint(d_secret / max(d_useful, 1e-300) * 2.0**32))
    weight = 0.0 if x.kinds[1] == 0 else x.limits[0]
    sign = -1.0 if x.kinds[1] == 3 else 1.0
    return float(np.rint(sign * (d_secret - weight * d_useful) * 2.0**44))


def allowed(x: Lists, d_secret: float, d_useful: float) -> bool:
    """Whether a merge keeps the floor and is worth its price; as PairRule.admissible."""
    return bool(d_useful <= x.levels[1] - x.limits[1] and d_secret - x.limits[2] * d_useful > x.limits[3])


def insert(x: Lists, i: int, j: int, score: float) -> None:
    """Enter a pair into the list of row i, or into what was left out."""
    length = x.partner.shape[1]
    behind = score < x.left_score[i] or (score == x.left_score[i] and j > x.left_partner[i])
    if behind:
        return
    k = x.filled[i]
    if k == length and (
        score < x.score[i, k - 1] or (score == x.score[i, k - 1] and j > x.partner[i, k - 1])
    ):
        x.left_score[i], x.left_partner[i] = score, j
        return
    if k == length:
        k -= 1
        x.left_score[i], x.left_partner[i] = x.score[i, k], x.partner[i, k]
    else:
        x.filled[i] = k + 1
    while k > x.front[i] and (
        x.score[i, k - 1] < score or (x.score[i, k - 1] == score and x.partner[i, k - 1] > j)
    ):
        x.score[i, k], x.partner[i, k], x.age[i, k] = x.score[i, k - 1], x.partner[i, k - 1], x.age[i, k - 1]
        k -= 1
    x.score[i, k], x.partner[i, k], x.age[i, k] = score, j, x.version[j]


def scan(x: Lists, i: int) -> None:
    """Make the list of row i afresh."""
    x.front[i] = x.filled[i] = 0
    x.left_score[i], x.left_partner[i] = -np.inf, -1
    for j in range(i + 1, len(x.mass)):
        if x.version[j] >= 0:
            d_secret, d_useful = lose(x, i, j)
            if x.kinds[2] == 0 or allowed(x, d_secret, d_useful):
                insert(x, i, j, rate(x, d_secret, d_useful))


def build(x: Lists, begin: int, end: int) -> None:
    """Make the lists of some rows."""
    for i in range(begin, end):
        scan(x, i)


def drop_gone(x: Lists, i: int) -> None:
    """Bring the first pair of row i that is still there, and admissible, to the front of its list."""
    while x.front[i] < x.filled[i]:
        j = x.partner[i, x.front[i]]
        if x.version[j] >= 0 and x.version[j] == x.age[i, x.front[i]]:
            if x.kinds[2] == 0:
                return
            d_secret, d_useful = lose(x, i, j)
            if allowed(x, d_secret, d_useful):
                return
        x.front[i] += 1


def best_row(x: Lists) -> int:
    """The row of the best pair, whose list is then right; -1 if there is none."""
    while True:
        best, top, exact = -1, -np.inf, True
        for i in range(len(x.mass)):
            if x.version[i] < 0:
                continue
            score, sure = x.left_score[i], False
            if x.front[i] < x.filled[i]:
                head, j = x.score[i, x.front[i]], x.partner[i, x.front[i]]
                if head > score or (head == score and j < x.left_partner[i]):
                    score, sure = head, True
            if score > top:
                if sure:
                    before = x.front[i]
                    drop_gone(x, i)
                    if x.front[i] != before:
                        score, sure = x.left_score[i], False
                        if x.front[i] < x.filled[i]:
                            head, j = x.score[i, x.front[i]], x.partner[i, x.front[i]]
                            if head > score or (head == score and j < x.left_partner[i]):
                                score, sure = head, True
                if score > top:
                    best, top, exact = i, score, sure
        if best < 0 or exact:
            return best
        scan(x, best)


def lower(x: Lists, k: int, loss: float) -> None:
    """Take a loss from one of the informations, by Kahan's compensated sum."""
    step = -loss - x.levels[2 + k]
    level = x.levels[k] + step
    x.levels[2 + k] = (level - x.levels[k]) - step
    x.levels[k] = level


def merge(x: Lists, a: int, c: int, d_secret: float, d_useful: float) -> None:
    """Block c joins block a."""
    lower(x, 0, d_secret)
    lower(x, 1, d_useful)
    for k in range(2):
        x.costs[a, k] = x.costs[a, k] + x.costs[c, k] - (d_secret, d_useful)[k]
    x.rows[a] += x.rows[c]
    x.mass[a] += x.mass[c]
    x.version[a] += 1
    x.version[c] = -1
    m = int(x.levels[4])
    x.pairs[m, 0], x.pairs[m, 1] = a, c
    x.path[m + 1, 0], x.path[m + 1, 1] = x.levels[0], x.levels[1]
    x.levels[4] = m + 1
    scan(x, a)
    for i in range(a):
        if x.version[i] >= 0:
            d_secret, d_useful = lose(x, i, a)
            if x.kinds[2] == 0 or allowed(x, d_secret, d_useful):
                insert(x, i, a, rate(x, d_secret, d_useful))


def advance(x: Lists, merges: int) -> bool:
    """Make up to so many merges; False when the rule ends the path."""
    for _ in range(merges):
        if x.levels[0] <= x.limits[4] or x.levels[1] <= x.limits[5]:
            return False
        a = best_row(x)
        if a < 0:
            return False
        c = x.partner[a, x.front[a]]
        d_secret, d_useful = lose(x, a, c)
        if not allowed(x, d_secret, d_useful):
            return False
        merge(x, a, c, d_secret, d_useful)
    return True


def compiled_loops() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The loops ``build`` and ``advance`` as machine code."""
    helpers = (lose, rate, allowed, insert, scan, drop_gone, best_row, lower, merge)
    return compiled(build, helpers), compiled(advance, helpers)

"""The merges of pairwise merging by lists of best partners; loops that numba compiles."""

from __future__ import annotations

import numpy as np

from privopt.solvers.common.pair_lists import Lists, allowed, insert, lose, rate, scan


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

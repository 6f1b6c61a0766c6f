"""Merging in rounds: many disjoint pairs at a time, from a bounded list of candidates; for alphabets of any size.

With d_x = (P(s | x) - P(s)) / sqrt P(s), a pair of probabilities p and q lowers I(S;Y) by about
p q / (p + q) |d - d'|^2 / 2. Pairs that lower it much lie at opposite ends of some direction, pairs that lower it little lie
next to each other along it; sorting along some directions lists both, O(n log n) a round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.solvers.trade_off.mergings import MergingTable, numbered

DIRECTIONS = 12
"""Directions along which symbols are sorted in a round, at most."""

NEAREST = 3
"""Neighbours along a direction with which a symbol is paired."""

CELLS = 2_000_000
"""Numbers in the rows of candidates that are looked at together."""

SHARE = 0.25
"""Share of the blocks that may merge in a round."""

MOST_ROUNDS = 400
"""A round that merges fewer than one block in so many is not worth its time."""

GAIN = 1e-13
"""Nats that a merge with a price must be worth."""


@dataclass(frozen=True)
class Aim:
    """Which pairs merge first, and when merging ends; a pair lowers I(S;Y) by dS and I(X;Y) by dX >= dS.

    Parameters
    ----------
    together : bool
        Merge what is alike, for the bottleneck; else what cancels.
    price : float or None
        Only merges with dS > price dX are made (dS < price dX where alike ones merge), those worth most first. None: in
        the order of dS / dX.
    floor : float
        I(X;Y) stays at least this.
    stop_secret, stop_useful : float
        Ends as soon as I(S;Y), or I(X;Y), is at most this.
    """

    together: bool
    price: float | None = None
    floor: float = -np.inf
    stop_secret: float = -np.inf
    stop_useful: float = -np.inf

    def scores(self, d_secret: Floats, d_useful: Floats) -> Floats:
        """What is largest merges first; -inf where it must not."""
        sign = -1.0 if self.together else 1.0
        if self.price is None:
            return np.asarray(sign * d_secret / np.maximum(d_useful, 1e-300))
        worth = sign * (d_secret - self.price * d_useful)
        return np.where(worth > GAIN, worth, -np.inf)


def merged_in_rounds(table: MergingTable, aim: Aim, budget: Budget) -> Iterator[Ints]:
    """The assignment after each round; the last one ends where the aim does, or where time runs out."""
    rng = np.random.default_rng(budget.seed)
    assignment = np.arange(table.size)
    now = table
    while now.size > 1 and budget.remaining > 0:
        secret, useful = now.informations
        if secret <= aim.stop_secret or useful <= aim.stop_useful:
            return
        pairs, d_secret, d_useful = _best_pairs(now, aim, rng, budget)
        count = _affordable(aim, (secret, useful), d_secret, d_useful, max(1, int(SHARE * now.size)))
        if count < max(1, now.size // MOST_ROUNDS):
            return
        to = np.arange(now.size)
        to[pairs[:count, 1]] = pairs[:count, 0]
        to = numbered(to)
        assignment, now = to[assignment], now.merged(to)
        yield assignment


def _affordable(aim: Aim, levels: tuple[float, float], d_secret: Floats, d_useful: Floats, most: int) -> int:
    """How many of the pairs, in their order, merge: what they take adds up, as they are disjoint."""
    secret, useful = levels[0] - np.cumsum(d_secret[:most]), levels[1] - np.cumsum(d_useful[:most])
    within = np.flatnonzero(useful < aim.floor)
    count = int(within[0]) if within.size else len(secret)
    ended = np.flatnonzero((secret[:count] <= aim.stop_secret) | (useful[:count] <= aim.stop_useful))
    return int(ended[0]) + 1 if ended.size else count


def _best_pairs(
    now: MergingTable, aim: Aim, rng: np.random.Generator, budget: Budget
) -> tuple[Ints, Floats, Floats]:
    """Disjoint pairs, the best first, and what each takes from both informations."""
    pairs = _candidates(now, rng, together=aim.together)
    d_secret, d_useful = losses(now, pairs, budget)
    scores = aim.scores(d_secret, d_useful)
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > -np.inf]
    chosen = order[_disjoint(pairs[order], now.size)]
    return pairs[chosen], d_secret[chosen], d_useful[chosen]


def losses(now: MergingTable, pairs: Ints, budget: Budget) -> tuple[Floats, Floats]:
    """What merging each pair takes from I(S;Y) and from I(X;Y); nothing where time ran out."""
    width = now.secret.shape[1] + now.useful.shape[1] + 1
    step = max(1, CELLS // width)
    taken = np.zeros((2, len(pairs)))
    for begin in range(0, len(pairs), step):
        if budget.remaining <= 0:
            break
        i, j = pairs[begin : begin + step].T
        together = now.costs_of(
            now.secret[i] + now.secret[j], now.useful[i] + now.useful[j], now.mass[i] + now.mass[j]
        )
        for k in (0, 1):
            taken[k, begin : begin + step] = now.costs[k][i] + now.costs[k][j] - together[k]
    return np.maximum(taken[0], 0.0), np.maximum(taken[1], 0.0)


def _candidates(now: MergingTable, rng: np.random.Generator, *, together: bool) -> Ints:
    """Pairs i < j, without copies: neighbours along some directions, or opposites."""
    n = now.size
    lists = []
    for values in _directions(now, rng, together=together):
        order = np.argsort(values, kind="stable")
        if together:
            lists += [np.stack([order[:-k], order[k:]], axis=1) for k in range(1, min(NEAREST + 1, n))]
        else:
            half = n // 2
            lists += [np.stack([order[:half], order[::-1][:half]], axis=1)]
            lists.append(np.stack([order[:half], np.roll(order[::-1][:half], 1)], axis=1))
    both = np.sort(np.concatenate(lists), axis=1)
    keys = np.sort(both[:, 0] * n + both[:, 1])
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]  # several times as fast as np.unique
    pairs = np.stack([keys // n, keys % n], axis=1)
    return pairs[pairs[:, 0] < pairs[:, 1]]


def _directions(now: MergingTable, rng: np.random.Generator, *, together: bool) -> Iterator[Floats]:
    """Coordinates of the symbols along the axes that matter most and along random ones.

    What is to be alike is compared by posteriors; what is to cancel also by joint probabilities, so that sums vanish.
    """
    posterior = now.secret / now.mass[:, None]
    p_s = now.secret.sum(axis=0) / now.mass.sum()
    away = (posterior - p_s) / np.sqrt(np.maximum(p_s, 1e-300))
    if together:
        away = np.sqrt(posterior)
    axes = rng.standard_normal((away.shape[1], DIRECTIONS))
    for t, column in enumerate((away @ axes).T):
        yield column if together or t % 2 else column * now.mass
    spread = np.argsort(-(now.mass[:, None] * (away - now.mass @ away / now.mass.sum()) ** 2).sum(axis=0))
    for axis in spread[:DIRECTIONS].tolist():
        yield away[:, axis]


def _disjoint(pairs: Ints, size: int) -> Ints:
    """Places of pairs that share no member with an earlier chosen one: those that come first at both their ends, repeatedly."""
    chosen: list[Ints] = []
    left = np.arange(len(pairs))
    while left.size:
        first = np.full(size, len(pairs))
        np.minimum.at(first, pairs[left, 0], left)
        np.minimum.at(first, pairs[left, 1], left)
        best = left[(first[pairs[left, 0]] == left) & (first[pairs[left, 1]] == left)]
        chosen.append(best)
        used = np.zeros(size, dtype=bool)
        used[pairs[best].ravel()] = True
        left = left[~(used[pairs[left, 0]] | used[pairs[left, 1]])]
    return np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.int64)

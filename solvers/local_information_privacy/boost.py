"""Which high-risk observations to release as they are, within delta: all choices tried."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.solvers.local_information_privacy._merge_fast import best_values_fast
from privopt.solvers.local_information_privacy._merge_subsets import best_blocks, members
from privopt.solvers.local_information_privacy.merge_blocks import BAND, Blocks

CHUNK = 14
"""2^14 choices are weighed at a time."""

MOST = 22
"""High-risk observations up to which every choice is tried."""


def one_super_symbol(blocks: Blocks, high: Bools, *, count_merged: bool = True) -> Bools | None:
    """The best set of high-risk observations to keep merged, shape (n,); the others are released as they are.

    The pairs that break the bounds have probability at most delta, those of the merged symbol included if
    they count. None if no choice will do. Choices within rounding of a limit are taken as good first and
    tested in integers; if the best fails, they are refused.
    """
    for slack in (BAND, -BAND):
        merged = _enumerated(blocks, high, slack, count_merged)
        if merged is None or not count_merged or blocks.keep(partition(high & ~merged, merged, high)):
            return merged
    return None


def partition(free: Bools, merged: Bools, high: Bools) -> Bools:
    """Low-risk observations and free ones as they are, the merged ones in a block, shape (m, n)."""
    rest = np.eye(len(high), dtype=bool)[~high | free]
    return np.concatenate([merged[None, :], rest]) if merged.any() else rest


def _enumerated(blocks: Blocks, high: Bools, slack: float, count_merged: bool) -> Bools | None:
    """The best merged set by floats."""
    places = np.flatnonzero(high)
    first, last = places[:CHUNK], places[CHUNK:]
    inner = members(len(first))
    terms = _terms(blocks)
    sums = [inner.astype(np.float64) @ table[first] for table in terms]
    top, best = -math.inf, None
    for outer in members(len(last)):
        chunk = [
            part + outer.astype(np.float64) @ table[last] for part, table in zip(sums, terms, strict=True)
        ]
        score = _scores(blocks, chunk, high, slack, count_merged)
        at = int(np.argmax(score))
        if score[at] > top:
            top, best = float(score[at]), np.concatenate([inner[at], outer])
    if best is None:
        return None
    merged = np.zeros(len(high), dtype=bool)
    merged[places[best]] = True
    return merged


def _terms(blocks: Blocks) -> tuple[Floats, ...]:
    """For each observation its P(w, s), P(w, x), its worth alone and the mass of its violations alone."""
    singles = blocks.singles
    return blocks.law, blocks.seen, blocks.worth(singles)[:, None], blocks.broken_mass(singles)[:, None]


def _scores(blocks: Blocks, chunk: list[Floats], high: Bools, slack: float, count_merged: bool) -> Floats:
    """Worth of each choice, from the sums over the merged observations; -inf beyond delta."""
    law, seen, alone, mass = chunk
    total_mass = float(blocks.broken_mass(blocks.singles[high]).sum())
    total_worth = float(blocks.worth(blocks.singles[high]).sum())
    spent = total_mass - mass[:, 0]
    if count_merged:
        spent = spent + np.where(blocks.excess_of(law) > slack, law, 0.0).sum(axis=1)
    worth = blocks.worth_of(seen) + total_worth - alone[:, 0]
    return np.where(spent <= blocks.problem.delta + slack, worth, -math.inf)


def several_super_symbols(blocks: Blocks, high: Bools) -> Bools | None:
    """The best choice of observations released as they are, with the best partition of all others.

    Every block keeps the bounds but for pairs of probability 0. By dynamic programming over subsets, so
    for as many observations as that takes.
    """
    table = members(blocks.size)
    value = np.where(blocks.broken_mass(table) > 0, -math.inf, blocks.worth(table))
    best = best_values_fast(value)
    full = len(value) - 1
    singles = blocks.singles
    free_worth = table.astype(np.float64) @ blocks.worth(singles)
    spent = table.astype(np.float64) @ blocks.broken_mass(singles)
    score = np.where((table & ~high).any(axis=1), -math.inf, free_worth + best[full - np.arange(full + 1)])
    for slack in (BAND, -BAND):
        at = int(np.argmax(np.where(spent <= blocks.problem.delta + slack, score, -math.inf)))
        chosen = best_blocks(value, best, full - at)
        found = np.concatenate([table[chosen], singles[table[at]]])
        if blocks.keep(found):
            return found
    return None

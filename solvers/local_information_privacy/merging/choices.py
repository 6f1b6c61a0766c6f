"""Which high-risk observations to release as they are, within delta."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy.merging.blocks import BAND, Blocks
from privopt.solvers.local_information_privacy.merging.partitions import (
    best_blocks,
    best_values,
    best_values_fast,
    members,
    rows,
    search,
)

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
    return blocks.joint, blocks.seen, blocks.worth(singles)[:, None], blocks.broken_mass(singles)[:, None]


def _scores(blocks: Blocks, chunk: list[Floats], high: Bools, slack: float, count_merged: bool) -> Floats:
    """Worth of each choice, from the sums over the merged observations; -inf beyond delta."""
    joint, seen, alone, mass = chunk
    total_mass = float(blocks.broken_mass(blocks.singles[high]).sum())
    total_worth = float(blocks.worth(blocks.singles[high]).sum())
    spent = total_mass - mass[:, 0]
    if count_merged:
        spent = spent + np.where(blocks.excess_of(joint) > slack, joint, 0.0).sum(axis=1)
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
        parts = np.concatenate([table[chosen], singles[table[at]]])
        if blocks.keep(parts):
            return parts
    return None


TINY = 1e-300

GAIN = 1e-12


def greedy_orders(blocks: Blocks, high: Bools) -> dict[str, NDArray[np.int64]]:
    """The high-risk observations by gain for the mass of their violations, by that mass, and by gain."""
    places = np.flatnonzero(high)
    mass = blocks.broken_mass(blocks.singles[places])
    gain = gains(blocks, high)
    keys = {"ratio": -gain / np.maximum(mass, TINY), "mass": mass, "gain": -gain}
    return {name: places[np.argsort(key, kind="stable")] for name, key in keys.items()}


def gains(blocks: Blocks, high: Bools) -> Floats:
    """What each high-risk observation adds if it alone leaves the merged symbol."""
    singles = blocks.singles[high]
    return blocks.worth(singles) + blocks.worth(high & ~singles) - float(blocks.worth(high[None, :])[0])


class Rule:
    """Whether the pairs that break the bounds keep within delta, for sets left merged.

    Parameters
    ----------
    blocks : Blocks
    high : array of bool (n,)
        High-risk observations; those not merged are released as they are.
    count_merged : bool
        Whether the merged symbol counts.
    """

    def __init__(self, blocks: Blocks, high: Bools, *, count_merged: bool) -> None:
        self._blocks, self._high, self._counted = blocks, high, count_merged
        self._mass = blocks.broken_mass(blocks.singles)
        self._limit = blocks.problem.delta * (1 - BAND)

    def keeps(self, merged: Bools) -> bool:
        """A choice within rounding of delta is refused."""
        spent = float(self._mass[self._high & ~merged].sum())
        if self._counted and merged.any() and spent <= self._limit:
            spent += float(self._blocks.broken_mass(merged[None, :])[0])
        return spent <= self._limit


def greedy(order: NDArray[np.int64], high: Bools, rule: Rule) -> Bools:
    """Release one observation after the other where the result still keeps delta; the set left merged."""
    merged = high.copy()
    for w in order.tolist():
        merged[w] = False
        if not rule.keeps(merged):
            merged[w] = True
    return merged


def exchanged(blocks: Blocks, high: Bools, merged: Bools, rule: Rule, budget: Budget) -> Bools:
    """Exchange one released observation for one merged while that gains and keeps delta."""
    improved = True
    while improved:
        improved = False
        for out in np.flatnonzero(high & ~merged).tolist():
            if budget.remaining <= 0:
                return merged
            kept = next((m for m in _exchanges(blocks, merged, out) if rule.keeps(m)), None)
            if kept is not None:
                merged, improved = kept, True
    return merged


def _exchanges(blocks: Blocks, merged: Bools, out: int) -> list[Bools]:
    """Merged sets that take ``out`` in and let one go, the best first, those that gain only."""
    let_go = np.flatnonzero(merged)
    if not len(let_go):
        return []
    sets = np.tile(merged, (len(let_go), 1))
    sets[:, out] = True
    sets[np.arange(len(let_go)), let_go] = False
    alone = blocks.worth(blocks.singles)
    before = float(blocks.worth(merged[None, :])[0]) + alone[out]
    gain = blocks.worth(sets) + alone[let_go] - before
    return [sets[i] for i in np.argsort(-gain, kind="stable").tolist() if gain[i] > GAIN]


def choice_bound(blocks: Blocks, high: Bools) -> float:
    """Upper bound on the worth of one super-symbol and a choice within delta, for W = X.

    H(Y) is submodular in the set of released observations, so its gain is at most the sum of the gains
    from the empty set, and the choice at most a fractional knapsack.
    """
    gain, mass = gains(blocks, high), blocks.broken_mass(blocks.singles[high])
    order = np.argsort(-gain / np.maximum(mass, TINY), kind="stable")
    left = blocks.problem.delta
    total = float(blocks.worth(high[None, :])[0] + blocks.worth(blocks.singles[~high]).sum())
    for i in order.tolist():
        share = 1.0 if mass[i] <= left else left / mass[i]
        total, left = total + share * float(gain[i]), left - share * float(mass[i])
    return float(total)


def lifted_out(blocks: Blocks, parts: Bools, order: str, budget: Budget, rounds: int) -> Bools:
    """A partition within delta with observations taken out of their blocks, and the rest cut anew.

    What is left of a block may break the bounds as well; that is paid from delta too.
    """
    free = np.zeros(blocks.size, dtype=bool)
    alone, mass = blocks.worth(blocks.singles), blocks.broken_mass(blocks.singles)
    left = blocks.problem.delta * (1 - BAND) - float(blocks.broken_mass(parts).sum())
    while budget.remaining > 0 and len(parts):
        block_of = np.argmax(parts, axis=0)  # of free observations any
        rest = parts[block_of] & ~blocks.singles
        paid, worth = blocks.broken_mass(parts), blocks.worth(parts)
        price = mass + blocks.broken_mass(rest) - paid[block_of]
        gain = alone + blocks.worth(rest) - worth[block_of]
        open_ = parts.any(axis=0) & rest.any(axis=1) & (price <= left) & (gain > GAIN)
        if not open_.any():
            break
        key = {"ratio": gain / np.maximum(price, TINY), "mass": -price, "gain": gain}[order]
        w = int(np.argmax(np.where(open_, key, -np.inf)))
        parts = np.concatenate([parts[~parts[:, w]], rest[w][None, :]])
        free[w], left = True, left - price[w]
    good = blocks.allowed(parts)
    cut = parts[good]
    if good.any():
        start = [np.flatnonzero(part) for part in cut]
        cut = rows(search(blocks, budget, rounds, start)[0], blocks.size)
    if blocks.allowed(cut).all() and blocks.worth(cut).sum() > blocks.worth(parts[good]).sum():
        parts = np.concatenate([cut, parts[~good]])
    return np.concatenate([parts, blocks.singles[free]])


PRICED = 15
"""Observations up to which this is done; every price costs 3^n additions."""

PRICES = 14


def priced_partition(blocks: Blocks) -> tuple[Bools | None, float]:
    """The best partition that keeps delta, and an upper bound on the worth of every partition within delta.

    For a price c per unit of violating mass the partition of most worth - c mass comes from dynamic
    programming over subsets, and its value + c delta bounds all partitions within delta (weak duality). The
    least price whose partition keeps delta comes from bisection.
    """
    table = members(blocks.size)
    worth, mass = blocks.worth(table), blocks.broken_mass(table)
    delta = blocks.problem.delta * (1 - BAND)
    low, high, bound, kept = 0.0, math.inf, math.inf, None
    for _ in range(PRICES):
        price = 2 * low + 1.0 if high == math.inf else (low + high) / 2
        value, chosen = _best(worth - price * mass)
        bound = min(bound, value + price * blocks.problem.delta)
        if mass[chosen].sum() <= delta:
            high, kept = price, chosen
        else:
            low = price
    return None if kept is None else np.asarray(table[kept]), bound


def _best(value: Floats) -> tuple[float, list[int]]:
    best = best_values(value)
    return float(best[-1]), best_blocks(value, best, len(value) - 1)

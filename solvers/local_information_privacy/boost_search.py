"""Which high-risk observations to release as they are, within delta: greedy choices, exchanges, and a bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy.merge_blocks import BAND, Blocks
from privopt.solvers.local_information_privacy.merge_search import search

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
    cut, _ = search(blocks, parts[good], budget, rounds) if good.any() else (parts[good], 0)
    if blocks.allowed(cut).all() and blocks.worth(cut).sum() > blocks.worth(parts[good]).sum():
        parts = np.concatenate([cut, parts[~good]])
    return np.concatenate([parts, blocks.singles[free]])

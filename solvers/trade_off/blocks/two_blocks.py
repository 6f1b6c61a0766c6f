"""Better partitions near a known one: two blocks at a time are divided anew, in the best of all ways."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Ints
from privopt.problems.trade_off.partition_costs import BlockCosts, Goal, subset_sums

TOGETHER = 14
"""Symbols of two blocks that are divided anew, at most: in 2^13 ways."""

WORTH = 1e-12
"""Nats that a division must be worth."""


@dataclass(eq=False)
class TwoBlocks:
    """A partition that changes: its blocks as bits, what each costs and gains, and the pairs that were tried in vain.

    Parameters
    ----------
    need : float
        What the partition must gain; -inf where nothing is needed.
    """

    costs: BlockCosts
    goal: Goal
    need: float
    blocks: list[int]

    def improved(self, until: float) -> Ints:
        """The blocks when no pair of them is divided better in another way, or time is up."""
        values = {b: self._value(b) for b in [*self.blocks, 0]}
        tried: set[tuple[int, int]] = set()
        changed = True
        while changed:
            changed = False
            for a, b in self._pairs():
                if time.monotonic() > until:
                    return np.array(self.blocks)
                if (a, b) in tried or a not in self.blocks or not (b == 0 or b in self.blocks):
                    continue
                parts = self._divided(a, b, values)
                if parts is None:
                    tried.add((a, b))
                    continue
                self.blocks = [c for c in self.blocks if c not in (a, b)] + [c for c in parts if c]
                values.update({c: self._value(c) for c in parts})
                changed = True
        return np.array(self.blocks)

    def _pairs(self) -> list[tuple[int, int]]:
        """Pairs of blocks, or of a block and nothing, that are small enough together: the smallest first."""
        several = [b for b in self.blocks if b & (b - 1)]
        pairs = [(a, b) for i, a in enumerate(self.blocks) for b in self.blocks[:i]]
        pairs += [(a, 0) for a in several]
        sizes = {pair: (pair[0] | pair[1]).bit_count() for pair in pairs}
        return sorted((p for p in pairs if sizes[p] <= TOGETHER), key=lambda p: (sizes[p], p))

    def _value(self, block: int) -> tuple[float, float]:
        """What one block costs and gains."""
        if not block:
            return 0.0, 0.0
        held = [i for i in range(len(self.costs.symbols)) if block >> i & 1]
        cost, gain = self.goal.both(*self.costs.of(self.costs.rows[:, held].sum(axis=1)[None]))
        return float(cost[0]), float(gain[0])

    def _divided(self, a: int, b: int, values: dict[int, tuple[float, float]]) -> tuple[int, int] | None:
        """Two parts of both blocks that cost less and leave the partition what it needs, or None."""
        held = [i for i in range(len(self.costs.symbols)) if (a | b) >> i & 1]
        sums = subset_sums(self.costs.rows[:, held].T)
        cost, gain = self.goal.both(*self.costs.of(sums))
        half = len(sums) // 2  # the last symbol is in the second part
        both, gained = cost[:half] + cost[: half - 1 : -1], gain[:half] + gain[: half - 1 : -1]
        others = math.fsum(values[c][1] for c in self.blocks if c not in (a, b))
        both = np.where(gained + others >= self.need, both, math.inf)
        best = int(np.argmin(both))
        if not both[best] < values[a][0] + values[b][0] - WORTH:
            return None
        first = sum(1 << i for place, i in enumerate(held) if best >> place & 1)
        return first, (a | b) ^ first

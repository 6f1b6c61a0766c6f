"""The cheapest partition whose gain reaches a floor: branch and bound over the block of the last free symbol.

For any multiplier m >= 0 and any set r of free symbols, completing a partial partition costs at least
V(r) + m (need - gain so far), V(r) the least sum of cost - m gain over the partitions of r. A branch is cut only if
such a bound says that it holds nothing cheaper than what is known by more than ``TOLERANCE``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privopt.problems._observation import Floats
from privopt.problems._partition_costs import Ints, subset_sums
from privopt.problems._partition_weights import OutOfTime, least_weights, lightest_partition

TOLERANCE = 1e-13
"""A partition that is cheaper by less than this may be missed."""

CHILDREN = 1 << 16
"""Branches made at a time."""

MULTIPLIERS = 10
"""Most multipliers whose tables bound the branches."""

MAX_SYMBOLS = 16
"""The blocks of that many symbols fit 64 bits, 4 for each."""


@dataclass(frozen=True, eq=False)
class States:
    """Partial partitions: free symbols as bits, cost and gain so far, 4 bits a symbol that number its block, blocks."""

    free: Ints
    cost: Floats
    gain: Floats
    code: NDArray[np.uint64]
    count: Ints

    def take(self, index: Ints | NDArray[np.bool_] | slice) -> States:
        """Some of them."""
        return States(
            self.free[index], self.cost[index], self.gain[index], self.code[index], self.count[index]
        )


@dataclass(eq=False)
class Search:
    """Costs and gains of all 2^n blocks, n <= 16, the gain that is needed, and the best partition so far.

    ``tables`` holds the multipliers with their V; ``most`` the largest gain of a partition of each set, ``sizes``
    how many symbols a set has.
    """

    costs: Floats
    gains: Floats
    need: float
    deadline: float
    best: float = np.inf
    best_code: int | None = None
    tables: list[tuple[float, Floats]] = field(default_factory=list)
    most: Floats = field(default_factory=lambda: np.zeros(1))
    branches: int = 0
    sizes: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @property
    def size(self) -> int:
        """Number n of symbols."""
        return len(self.costs).bit_length() - 1

    def run(self) -> list[int] | None:
        """The block number of each symbol, or None if no partition has the gain that is needed.

        Raises
        ------
        OutOfTime
            If the deadline passes first.
        """
        self.sizes = subset_sums(np.ones(self.size)).astype(np.int64)
        self._hull()
        none = np.zeros(1, dtype=np.int64)
        root = States(none + len(self.costs) - 1, np.zeros(1), np.zeros(1), none.astype(np.uint64), none)
        waiting: list[list[States]] = [[] for _ in range(self.size + 1)]
        waiting[self.size].append(root)
        while any(waiting):
            if time.monotonic() > self.deadline:
                raise OutOfTime
            free = next(i for i, states in enumerate(waiting) if states)
            chunk, cut = waiting[free].pop(), max(1, CHILDREN >> (free - 1))
            if len(chunk.free) > cut:
                waiting[free].append(chunk.take(slice(None, -cut)))
            self._branch(chunk.take(slice(-cut, None)), waiting)
        return None if self.best_code is None else [self.best_code >> 4 * i & 15 for i in range(self.size)]

    def _hull(self) -> None:
        """Tables at the multipliers where the lower hull of (gain, cost) is met, and first partitions from them."""
        self.most = 0.0 - least_weights(0.0 - self.gains, self.deadline)
        rich = self._offer(lightest_partition(0.0 - self.gains, 0.0 - self.most))
        poor = self._weigh(0.0)
        while len(self.tables) < MULTIPLIERS and poor[1] < self.need <= rich[1]:
            slope = max(0.0, (rich[0] - poor[0]) / (rich[1] - poor[1]))
            cost, gain = self._weigh(slope)
            if cost - slope * gain >= poor[0] - slope * poor[1] - TOLERANCE:
                break
            poor, rich = ((cost, gain), rich) if gain < self.need else (poor, (cost, gain))
        self.tables.reverse()  # the multiplier at the need bounds best

    def _weigh(self, multiplier: float) -> tuple[float, float]:
        """Enter a table, and offer its partition; its cost and gain."""
        weights = self.costs - multiplier * self.gains
        self.tables.append((multiplier, least_weights(weights, self.deadline)))
        return self._offer(lightest_partition(weights, self.tables[-1][1]))

    def _offer(self, blocks: list[int]) -> tuple[float, float]:
        """Cost and gain of a partition; it becomes the best one if it is."""
        cost, gain = float(self.costs[blocks].sum()), float(self.gains[blocks].sum())
        if gain >= self.need and cost < self.best:
            self.best = cost
            self.best_code = sum(
                b << 4 * i for b, block in enumerate(blocks) for i in range(16) if block >> i & 1
            )
        return cost, gain

    def _branch(self, chunk: States, waiting: list[list[States]]) -> None:
        """Try every block of the last free symbol of each state."""
        blocks = last_blocks(chunk.free)
        m = blocks.shape[1]
        self.branches += blocks.size
        free = (chunk.free[:, None] ^ blocks).ravel()
        blocks = blocks.ravel()
        cost, gain = (
            np.repeat(chunk.cost, m) + self.costs[blocks],
            np.repeat(chunk.gain, m) + self.gains[blocks],
        )
        kept = np.flatnonzero(gain + self.most[free] >= self.need - TOLERANCE)
        lower = np.full(len(kept), -np.inf)
        for multiplier, least in self.tables:
            bound = cost[kept] + multiplier * (self.need - gain[kept]) + least[free[kept]]
            good = bound < self.best - TOLERANCE
            kept, lower, bound = kept[good], lower[good], bound[good]
            lower = np.maximum(lower, bound)
        kept = kept[np.argsort(-lower, kind="stable")]  # the most promising are taken first, from the end
        parent = kept // m
        code = chunk.code[parent] | (spread(blocks[kept]) * chunk.count[parent].astype(np.uint64))
        self._push(States(free[kept], cost[kept], gain[kept], code, chunk.count[parent] + 1), waiting)

    def _push(self, states: States, waiting: list[list[States]]) -> None:
        free = self.sizes[states.free]
        for m in np.unique(free).tolist():
            part = states.take(free == m)
            if m:
                waiting[m].append(part)
                continue
            good = np.flatnonzero((part.gain >= self.need) & (part.cost < self.best))
            if len(good):
                first = int(good[np.argmin(part.cost[good])])
                self.best, self.best_code = float(part.cost[first]), int(part.code[first])


def last_blocks(free: Ints) -> Ints:
    """Every block of the last free symbol of each set, shape (k, 2^(m-1)); all sets hold m symbols."""
    rest, blocks = free.copy(), np.zeros((len(free), 1), dtype=np.int64)
    while True:
        low = rest & -rest
        rest = rest ^ low
        if not rest[0]:
            return np.asarray(blocks | low[:, None])
        blocks = np.concatenate([blocks, blocks | low[:, None]], axis=1)


def spread(blocks: Ints) -> NDArray[np.uint64]:
    """The bits of numbers below 2^16 moved to every fourth place."""
    found = np.zeros(len(blocks), dtype=np.uint64)
    for i in range(MAX_SYMBOLS):
        found |= (blocks.astype(np.uint64) >> np.uint64(i) & np.uint64(1)) << np.uint64(4 * i)
    return found

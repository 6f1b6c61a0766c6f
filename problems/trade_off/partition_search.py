"""The cheapest partition whose gain reaches a floor: branch and bound over the block of the last free symbol.

For any multiplier m >= 0 and any set r of free symbols, completing a partial partition costs at least
V(r) + m (need - gain so far), V(r) the least sum of cost - m gain over the partitions of r. A branch is cut only if
such a bound says that it holds nothing cheaper than what is known by more than the errors of the numbers. What
reaches the floor to within these errors is left to ``reaches``, which decides exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.problems.set_partitions import OutOfTime, least_weights, lightest_partition
from privopt.problems.trade_off.partition_costs import subset_sums

CHILDREN = 1 << 16
"""Branches made at a time."""

MULTIPLIERS = 10
"""Most multipliers whose tables bound the branches."""

MOST_NEAR = 256
"""Partitions of nearly the least cost that are looked at one by one."""

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

    ``cost_error`` and ``gain_error`` bound what sums over the blocks of a partition are off, the latter together with
    ``need``; ``reaches`` says of block numbers whether the gain may suffice. ``tables`` holds the
    multipliers with their V; ``most`` the largest gain of a partition of each set, ``sizes`` how many symbols a set has.
    """

    costs: Floats
    gains: Floats
    need: float
    deadline: float
    cost_error: float = 0.0
    gain_error: float = 0.0
    reaches: Callable[[list[int]], bool] = lambda numbers: True
    best: float = np.inf
    best_code: int | None = None
    tables: list[tuple[float, Floats]] = field(default_factory=list)
    most: Floats = field(default_factory=lambda: np.zeros(1))
    branches: int = 0
    limit: float | None = None
    near: list[list[int]] = field(default_factory=list)
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
        self._enumerate()
        return None if self.best_code is None else self._numbers(self.best_code)

    @property
    def missed(self) -> float:
        """By how much a partition may cost less than the best one, exactly."""
        return 3 * self.cost_error + 2 * max(m for m, _ in self.tables) * self.gain_error

    def nearly(self, limit: float) -> list[list[int]] | None:
        """All partitions that may cost at most ``limit``, after a run; None if they are many."""
        self.limit = limit
        self._enumerate()
        return None if len(self.near) > MOST_NEAR else self.near

    def _enumerate(self) -> None:
        """Branch until nothing is left, or more than can be looked at was met."""
        none = np.zeros(1, dtype=np.int64)
        root = States(none + len(self.costs) - 1, np.zeros(1), np.zeros(1), none.astype(np.uint64), none)
        waiting: list[list[States]] = [[] for _ in range(self.size + 1)]
        waiting[self.size].append(root)
        while any(waiting) and len(self.near) <= MOST_NEAR:
            if time.monotonic() > self.deadline:
                raise OutOfTime
            free = next(i for i, states in enumerate(waiting) if states)
            chunk, cut = waiting[free].pop(), max(1, CHILDREN >> (free - 1))
            if len(chunk.free) > cut:
                waiting[free].append(chunk.take(slice(None, -cut)))
            self._branch(chunk.take(slice(-cut, None)), waiting)

    def _numbers(self, code: int) -> list[int]:
        """The block number of each symbol."""
        return [code >> 4 * i & 15 for i in range(self.size)]

    def _hull(self) -> None:
        """Tables at the multipliers where the lower hull of (gain, cost) is met, and first partitions from them."""
        half = len(self.gains) // 2  # the last symbol is in the first block
        self.most = 0.0 - least_weights(0.0 - self.gains[:half], self.deadline)
        rich = self._offer(lightest_partition(0.0 - self.gains, 0.0 - self.most))
        poor = self._weigh(0.0)
        while len(self.tables) < MULTIPLIERS and poor[1] < self.need <= rich[1]:
            slope = max(0.0, (rich[0] - poor[0]) / (rich[1] - poor[1]))
            cost, gain = self._weigh(slope)
            if cost - slope * gain >= poor[0] - slope * poor[1] - self.error(slope):
                break
            poor, rich = ((cost, gain), rich) if gain < self.need else (poor, (cost, gain))
        self.tables.reverse()  # the multiplier at the need bounds best

    def _weigh(self, multiplier: float) -> tuple[float, float]:
        """Enter a table, and offer its partition; its cost and gain."""
        weights = self.costs - multiplier * self.gains
        self.tables.append((multiplier, least_weights(weights[: len(weights) // 2], self.deadline)))
        return self._offer(lightest_partition(weights, self.tables[-1][1]))

    def _offer(self, blocks: list[int]) -> tuple[float, float]:
        """Cost and gain of a partition; it becomes the best one if it is."""
        cost, gain = math.fsum(self.costs[blocks].tolist()), math.fsum(self.gains[blocks].tolist())
        code = sum(b << 4 * i for b, block in enumerate(blocks) for i in range(16) if block >> i & 1)
        if cost < self.best and self._enough(gain, code):
            self.best, self.best_code = cost, code
        return cost, gain

    def error(self, multiplier: float) -> float:
        """By how much a bound with a multiplier may be off."""
        return self.cost_error + multiplier * self.gain_error

    def _enough(self, gain: float, code: int) -> bool:
        """Whether a partition has the gain that is needed, or that cannot be excluded."""
        if abs(gain - self.need) > self.gain_error:
            return gain > self.need
        return self.reaches(self._numbers(code))

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
        kept = np.flatnonzero(gain + self.most[free] >= self.need - self.gain_error)
        lower = np.full(len(kept), -np.inf)
        for multiplier, least in self.tables:
            bound = cost[kept] + multiplier * (self.need - gain[kept]) + least[free[kept]]
            error = self.error(multiplier)
            good = bound < self.best - error if self.limit is None else bound <= self.limit + error
            kept, lower, bound = kept[good], lower[good], bound[good]
            lower = np.maximum(lower, bound)
        kept = kept[np.argsort(-lower, kind="stable")]  # the most promising are taken first, from the end
        parent = kept // m
        numbered = spread(blocks[kept], self.size) * chunk.count[parent].astype(np.uint64)
        code = chunk.code[parent] | numbered
        self._push(States(free[kept], cost[kept], gain[kept], code, chunk.count[parent] + 1), waiting)

    def _push(self, states: States, waiting: list[list[States]]) -> None:
        free = self.sizes[states.free]
        for m in np.unique(free).tolist():
            part = states.take(free == m)
            if m:
                waiting[m].append(part)
                continue
            self._finish(part)

    def _finish(self, part: States) -> None:
        """Partitions without free symbols: a cheaper one becomes the best, or those near a limit are noted."""
        if self.limit is not None:
            for i in np.flatnonzero(part.cost <= self.limit + self.cost_error).tolist():
                if len(self.near) <= MOST_NEAR and self._enough(float(part.gain[i]), int(part.code[i])):
                    self.near.append(self._numbers(int(part.code[i])))
            return
        order = np.argsort(part.cost, kind="stable")
        for i in order[(part.cost < self.best)[order]].tolist():
            if self._enough(float(part.gain[i]), int(part.code[i])):
                self.best, self.best_code = float(part.cost[i]), int(part.code[i])
                return


def last_blocks(free: Ints) -> Ints:
    """Every block of the last free symbol of each set, shape (k, 2^(m-1)); all sets hold m symbols."""
    rest, blocks = free.copy(), np.zeros((len(free), 1), dtype=np.int64)
    while True:
        low = rest & -rest
        rest = rest ^ low
        if not rest[0]:
            return np.asarray(blocks | low[:, None])
        blocks = np.concatenate([blocks, blocks | low[:, None]], axis=1)


def spread(blocks: Ints, size: int) -> NDArray[np.uint64]:
    """The bits of numbers below 2^size, at most 2^16, moved to every fourth place."""
    codes, bits = np.zeros(len(blocks), dtype=np.uint64), blocks.astype(np.uint64)
    for i in range(size):
        codes |= (bits >> np.uint64(i) & np.uint64(1)) << np.uint64(4 * i)
    return codes

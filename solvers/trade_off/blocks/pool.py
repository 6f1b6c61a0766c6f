"""Blocks that a linear program may use as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.problems.trade_off.partition_costs import BlockCosts, Goal


@dataclass(frozen=True, eq=False)
class Pool:
    """Blocks as bits (m,), what they cost and gain, and which symbols they hold (m, n)."""

    blocks: Ints
    cost: Floats
    gain: Floats
    members: Floats

    def reduced(self, prices: Floats, multiplier: float) -> Floats:
        """Their reduced costs."""
        return self.cost - multiplier * self.gain - self.members @ prices

    def take(self, kept: Ints) -> Pool:
        """Some of them."""
        return Pool(self.blocks[kept], self.cost[kept], self.gain[kept], self.members[kept])

    def joined(self, other: Pool) -> Pool:
        """These and then others."""
        return Pool(
            np.concatenate([self.blocks, other.blocks]),
            np.concatenate([self.cost, other.cost]),
            np.concatenate([self.gain, other.gain]),
            np.concatenate([self.members, other.members]),
        )


def priced(costs: BlockCosts, goal: Goal, blocks: Ints) -> Pool:
    """Blocks with what they cost and gain."""
    members = members_of(blocks, len(costs.symbols))
    return Pool(blocks, *goal.both(*costs.of(members @ costs.rows.T)), members)


def members_of(blocks: Ints, size: int) -> Floats:
    """Which symbols blocks hold, shape (m, n).

    Examples
    --------
    >>> members_of(np.array([0b01, 0b11]), 2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return (blocks[:, None] >> np.arange(size) & 1).astype(np.float64)


def cheapest(reduced: Floats, count: int) -> Ints:
    """Places of the ``count`` cheapest of all that are below 0.

    Examples
    --------
    >>> cheapest(np.array([-1.0, 0.5, -3.0]), 5).tolist()
    [0, 2]
    """
    below = np.flatnonzero(reduced < 0)
    if len(below) <= count:
        return below
    return np.sort(below[np.argpartition(reduced[below], count)[:count]])

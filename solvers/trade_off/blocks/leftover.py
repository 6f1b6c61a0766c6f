"""The best of the partitions that prices leave."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.problems.set_partitions import OutOfTime
from privopt.problems.trade_off.partitions import Exact, numbers_of
from privopt.problems.trade_off.priced_blocks import LightBlocks, Prices

WIDER = 3.0
"""By how much more is gone through where the best partition was not yet met."""

FIRST = 1e-9
"""Nats beyond the relaxation that are gone through first."""

FARTHEST = 1e3
"""Nats beyond the relaxation that no partition is."""


@dataclass(frozen=True, eq=False)
class Best:
    """The best partition that was met: its blocks as bits, what it costs, and whether no other one of the listed blocks costs less."""

    blocks: Ints | None
    cost: float
    closed: bool


NONE = Best(None, math.inf, False)
"""Nothing was met."""


def better(one: Best, other: Best) -> Best:
    """The cheaper one."""
    return one if one.cost <= other.cost else other


@dataclass(frozen=True, eq=False)
class Leftover:
    """The partitions into some blocks that prices leave, from the relaxation outward."""

    prices: Prices
    light: LightBlocks
    exact: Exact | None = None
    """Decides about partitions that floats leave in doubt; they are left out where it is None."""

    def best(self, deadline: float, start: Best = NONE) -> Best:
        """The best partition, from one to start with, or the best that was met in the time and as far as the blocks reach."""
        prices, known, step = self.prices, start, FIRST
        while True:
            limit = min(prices.base + step, known.cost)
            if prices.room(limit, self.light.least) > self.light.reach:
                return known
            try:
                for blocks, costs, gains in prices.partitions(self.light, limit, deadline):
                    known = self._better(known, blocks, costs, gains)
            except OutOfTime:
                return known
            if known.cost <= limit:
                return replace(known, closed=True)
            if step > FARTHEST:
                return known
            step *= WIDER

    def _better(self, known: Best, blocks: Ints, costs: Floats, gains: Floats) -> Best:
        """The better one of a partition and some others, (k, d) blocks as bits; those that miss what is needed are left out."""
        goal = self.prices.goal
        for i in np.argsort(costs, kind="stable").tolist():
            if costs[i] >= known.cost:
                return known
            sure = goal.weighed or gains[i] >= goal.need + goal.gain_error
            if sure or (self.exact is not None and self.exact.keeps(numbers_of(blocks[i].tolist()))):
                return Best(blocks[i], float(costs[i]), False)
        return known

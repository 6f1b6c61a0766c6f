"""The best of all mergings, proved from prices of the symbols.

With prices pi of the symbols and a multiplier m >= 0, a partition that gains what is needed costs at least

    sum pi + m need + the sum over its blocks B of r(B),    r(B) = cost(B) - m gain(B) - pi(B).

What r is at least bounds the cost of every partition, and the reduced costs of a partition that costs no more than a known one add up
to little: it is made of few blocks, which are found by a tree (:mod:`privopt.problems.trade_off.block_tree`) and leave few
partitions, and those are compared in exact arithmetic. Prices that leave little are the dual of the program that covers each symbol
once (set partitioning), in which sums of blocks are relaxed; whoever finds them, nothing here depends on it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import U
from privopt.core.problem import Enclosure
from privopt.problems.set_partitions import OutOfTime, light_partitions
from privopt.problems.trade_off.block_tree import BlockTree
from privopt.problems.trade_off.data import TradeOffData
from privopt.problems.trade_off.partition_costs import BlockCosts, Goal, block_costs, goal_of
from privopt.problems.trade_off.partitions import Exact, numbers_of

MAX_PRICED = 62
"""Observations of positive probability whose blocks are numbers of 64 bits."""

MOST_LIGHT = 400_000
"""Blocks of small reduced cost that are kept, at most; with ten values of S about 60 MB."""

MOST_PARTIAL = 4_000_000
"""Partial partitions that are made of them, at most."""

LARGE = 1e100
"""Prices, multipliers and weights are at most this: sums and products of them are finite."""

MOST_COMPARED = 256
"""Partitions that are compared in exact arithmetic, at most."""


@dataclass(frozen=True, eq=False)
class LightBlocks:
    """Blocks of small reduced cost, and the least one of all.

    Parameters
    ----------
    blocks : int array (m,)
        As bits.
    reduced, costs, gains : float array (m,)
        Reduced costs, with what is below 0 made 0; what each block costs and gains.
    least : float
        The least reduced cost of any block, at most 0.
    reach : float
        All blocks of at most this reduced cost are among them; -inf if that is not known.
    """

    blocks: Ints
    reduced: Floats
    costs: Floats
    gains: Floats
    least: float
    reach: float

    @property
    def complete(self) -> bool:
        """Whether they are all of some reduced cost."""
        return self.reach > -math.inf

    def below(self, most: float) -> LightBlocks:
        """Those of reduced cost at most ``most``."""
        kept = self.reduced <= most
        return replace(
            self,
            blocks=self.blocks[kept],
            reduced=self.reduced[kept],
            costs=self.costs[kept],
            gains=self.gains[kept],
            reach=min(self.reach, most),
        )


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of a problem's symbols, in the order of ``costs.symbols``, and the multiplier of what is needed."""

    costs: BlockCosts
    goal: Goal
    multiplier: float
    prices: Floats

    @property
    def size(self) -> int:
        """How many symbols there are."""
        return len(self.prices)

    @cached_property
    def error(self) -> float:
        """By how much the reduced costs of a partition may be off, together with what they are added to.

        The errors of costs and gains are beyond 40 u of all that is added there, so that another share of them covers the
        roundings of r; sums of prices take n additions.
        """
        paid = float(np.abs(self.prices).sum()) + self.multiplier * abs(self.goal.need)
        return (
            2 * (self.goal.cost_error + self.multiplier * self.goal.gain_error)
            + 8 * (self.size + 4) * U * paid
        )

    @cached_property
    def base(self) -> float:
        """What every partition costs beside its reduced costs, nearly."""
        return math.fsum(self.prices.tolist()) + self.multiplier * self.goal.need

    def least_cost(self, least: float) -> float:
        """What no partition costs less than, if no block has a reduced cost below ``least`` <= 0."""
        return self.base + self.size * least - self.error

    @cached_property
    def tree(self) -> BlockTree:
        """Finds blocks by their reduced costs."""
        return BlockTree(self.costs.rows, self.goal.entropies(self.costs, self.multiplier), self.prices)

    def light(
        self, most: float, *, deadline: float = math.inf, count: float = MOST_LIGHT, width: int | None = None
    ) -> LightBlocks:
        """The blocks of reduced cost at most ``most``, but for errors; see :meth:`BlockTree.below`."""
        found = self.tree.below(most + self.error, deadline=deadline, count=count, width=width)
        cost, gain = self.goal.both(*self.costs.of(found.masses))
        reduced = cost - self.multiplier * gain - found.paid
        least = float(reduced.min(initial=0.0))
        reach = most if found.complete else -math.inf
        light = LightBlocks(found.blocks, reduced, cost, gain, least, reach).below(most + self.error)
        return replace(light, reduced=np.maximum(light.reduced, 0.0))

    def room(self, limit: float, least: float) -> float:
        """The largest reduced cost of a block in a partition of cost at most ``limit``, if none is below ``least`` <= 0."""
        return limit - self.base + 2 * self.error - self.size * least

    def partitions(
        self, light: LightBlocks, limit: float, deadline: float
    ) -> Iterator[tuple[Ints, Floats, Floats]]:
        """Partitions of cost at most ``limit`` and perhaps more: their blocks as bits (k, d), costs and gains (k,).

        Of those that gain what is needed none is left out whose cost is below the limit by more than errors, as far as the
        blocks reach: see :meth:`room`.

        Raises
        ------
        OutOfTime
            If the deadline passes, or they are too many to go through.
        """
        room = self.room(limit, light.least)
        some = light.below(room)
        found = light_partitions(
            some.blocks, some.reduced, self.size, room, deadline=deadline, count=MOST_PARTIAL
        )
        for rows in found:
            costs, gains = some.costs[rows].sum(axis=1), some.gains[rows].sum(axis=1)
            kept = (costs <= limit + self.goal.cost_error) & (gains >= self.goal.need - self.goal.gain_error)
            if kept.any():
                yield some.blocks[rows[kept]], costs[kept], gains[kept]


def proved_by_prices(problem: TradeOffData, dual: dict[str, object], seconds: float) -> Enclosure | None:
    """Floats around the bound that prices prove for mergings: by themselves, or by what they leave to be compared."""
    deadline = time.monotonic() + seconds
    if problem.form != "merging" or len(problem.observation.support) > MAX_PRICED:
        return None
    prices, cost = _read(problem, dual), dual.get("cost")
    if prices is None or type(cost) not in (int, float, type(None)):
        return None
    upto = prices.base if cost is None else float(cost)  # type: ignore[arg-type]  # a number, as was seen
    room = upto - prices.base + 16 * prices.error
    light = prices.light(room, deadline=time.monotonic() + seconds / 2) if room > 0 else None
    if light is None or not light.complete:
        cost, light = None, prices.light(0.0, deadline=deadline)
    if not light.complete:
        return None
    plain = _from_cost(prices, prices.least_cost(light.least))
    if cost is None or prices.room(upto + 4 * prices.error, light.least) > light.reach:
        return plain
    compared = _compared(problem, prices, light, upto, deadline)
    return plain if compared is None or compared[1] > plain[1] else compared


def _read(problem: TradeOffData, dual: dict[str, object]) -> Prices | None:
    """The prices of a dual, given in the order of the observations of positive probability."""
    multiplier, values = dual.get("multiplier"), dual.get("pi")
    if type(multiplier) not in (int, float) or not isinstance(values, list):
        return None
    if not set(map(type, values)) <= {int, float} or len(values) != len(problem.observation.support):
        return None
    m, prices = float(multiplier), np.array([float(v) for v in values])  # type: ignore[arg-type]  # a number, as was seen
    costs = block_costs(problem)
    goal = goal_of(problem, costs)
    sizes = [m, *np.abs(prices).tolist(), *map(abs, goal.costs)]
    if not m >= 0 or not all(size <= LARGE for size in sizes):  # nor where one is no number
        return None
    return Prices(costs, goal, m, prices[np.searchsorted(problem.observation.support, costs.symbols)])


def _from_cost(prices: Prices, least: float) -> Enclosure:
    """Floats around the objective if no partition costs less than ``least``, which counts errors already."""
    high = math.nextafter(prices.goal.offset[1] - least, math.inf)
    return high - 2 * prices.error, high


def _compared(
    problem: TradeOffData, prices: Prices, light: LightBlocks, cost: float, deadline: float
) -> Enclosure | None:
    """Floats around the best of all partitions that cost at most so much, and of what any other may reach."""
    exact, error = Exact(problem, prices.costs), prices.error
    for limit in (cost + 4 * error, cost - 4 * error):  # where too many are equally good, none is better
        rest = _from_cost(prices, limit - error)
        try:
            near = _near(prices, light, limit, deadline)
        except OutOfTime:
            continue
        kept = [numbers for numbers in near if prices.goal.weighed or exact.keeps(numbers)]
        if not kept:
            return rest
        best = exact.best(kept, 0.0, 0).bound
        return max(best[0], rest[0]), max(best[1], rest[1])
    return None


def _near(prices: Prices, light: LightBlocks, limit: float, deadline: float) -> list[list[int]]:
    """The block number of each symbol, of all partitions of cost at most ``limit``."""
    near: list[list[int]] = []
    for blocks, _, _ in prices.partitions(light, limit, deadline):
        if len(near) + len(blocks) > MOST_COMPARED:
            raise OutOfTime
        near += [numbers_of(row) for row in blocks.tolist()]
    return near

"""Column generation over all blocks of symbols: prices, until no block is cheaper."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import FINEST
from privopt.core.solver import Budget
from privopt.mechanisms import Merging
from privopt.problems.set_partitions import OutOfTime
from privopt.problems.trade_off.partition_costs import BlockCosts, Goal, block_costs, goal_of
from privopt.problems.trade_off.partitions import Exact, numbers_of
from privopt.problems.trade_off.priced_blocks import LightBlocks, Prices
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.blocks.leftover import NONE, Best, Leftover, better
from privopt.solvers.trade_off.blocks.pool import Pool, cheapest, members_of, priced
from privopt.solvers.trade_off.blocks.program import Restricted, dive, integral
from privopt.solvers.trade_off.blocks.two_blocks import TwoBlocks

POOL = 1 << 14
"""Blocks that join the pool at a time, at most."""

LARGEST = 1 << 17
"""Blocks in the pool, at most; those of large reduced cost leave."""

WIDTHS = (1 << 11, 1 << 15)
"""Partial blocks that quick searches for cheap blocks go on with, one after the other; the second is for more symbols than ``FEW``."""

FEW = 24
"""Symbols up to which a search for all blocks takes no longer than the second quick one."""

GONE = 0.05
"""Seconds that partitions into blocks of the pool are gone through for, at least."""

ADDED = 300
"""Columns that join at a time, at most."""

KEPT = 1500
"""Columns that stay when new blocks join the pool, at most."""

ROUNDS = 1000
"""Linear programs, at most."""

CLOSE = 1e-9
"""Nats that the program may leave between its value and the bound of its prices."""

WHOLE = 1500
"""Blocks of an integer program, at most."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best partition that was met, closed if no other is better, and prices that leave no block a negative reduced cost, if there are any."""

    best: Best
    prices: Prices | None = None


@dataclass(eq=False)
class Program:
    """The linear program over the blocks of a pool, which grows until no block at all is cheaper.

    Parameters
    ----------
    start : int array
        Blocks of a partition to begin with.
    centre : (float array (n,), float)
        The best prices and multiplier so far; at first those that share out the cost of all symbols together.
    columns, used : int array
        Places in the pool of the blocks that the program has, and of those that its last optimum is made of.
    exact : Exact or None
        Decides about partitions that floats leave in doubt; they are left out where it is None.
    rounds : int
        Linear programs that were solved.
    """

    costs: BlockCosts
    goal: Goal
    budget: Budget
    deadline: float
    pool: Pool
    columns: Ints
    used: Ints
    start: Ints
    centre: tuple[Floats, float]
    exact: Exact | None = None
    rounds: int = 0

    @property
    def size(self) -> int:
        """How many symbols there are."""
        return len(self.costs.symbols)

    @property
    def need(self) -> float | None:
        """What partitions must gain; None where nothing is needed."""
        return None if self.goal.weighed else self.goal.need

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return max(0.0, self.deadline - time.monotonic())

    def assignment(self, blocks: Ints) -> Ints:
        """The block number of each observation of positive probability, in their order."""
        numbers = np.array(numbers_of(blocks.tolist()))
        return numbers[np.argsort(self.costs.symbols)]

    def solved(self, seconds: float) -> Outcome:
        """The best partition with the prices that prove it, or the best that was met until time ran out.

        Partitions into the blocks of the pool are sought for about so many seconds before all blocks are, and at the end; the
        partitions that prices leave are gone through for twice as long.
        """
        prices: Prices | None = None
        stalled = False  # what is found is known, and its negative reduced costs are what HiGHS tolerates
        best = self._near(self.start, time.monotonic() + seconds)
        try:
            while self.left and self.rounds < ROUNDS:
                values, multiplier = self._solved_over_pool()
                prices = Prices(self.costs, self.goal, multiplier, values)
                self.budget.progress(0.6, f"{self.rounds} programs, {len(self.pool.blocks)} blocks")
                cheap = self._cheap(prices, WIDTHS[0])
                if self.size * cheap.least >= -CLOSE or stalled:
                    best = self._first(prices, best, seconds / 2)
                    cheap = self._cheap(prices, WIDTHS[1]) if self.size > FEW else cheap
                if self.size * cheap.least >= -CLOSE or stalled:
                    cheap = self._within(prices, best.cost)
                    if cheap.complete and (stalled or -self.size * cheap.least <= CLOSE):
                        return self._settled(prices, cheap, best, seconds)
                stalled = not self._join(prices, cheap)
        except OutOfTime:
            self.budget.progress(0.6, "out of time")
        return Outcome(best if prices is None else self._pooled(prices, best, seconds))

    def _first(self, prices: Prices, best: Best, seconds: float) -> Best:
        """A good partition before all blocks are sought that a better one may hold: that takes little where symbols are few."""
        if self.size > FEW:
            return self._pooled(prices, best, seconds)
        return better(replace(self._gone_through(prices, max(seconds, GONE)), closed=False), best)

    def _cheap(self, prices: Prices, width: int) -> LightBlocks:
        """Blocks of little reduced cost, some of them negative if such are quickly found."""
        return prices.light(math.inf, deadline=self.deadline, count=width, width=width)

    def _within(self, prices: Prices, known: float) -> LightBlocks:
        """All blocks that a partition of at most a known cost may hold; if they are too many, all of negative reduced cost."""
        room = known - prices.base + 32 * prices.error + CLOSE
        if room < math.inf:
            found = prices.light(max(0.0, room), deadline=self.deadline)
            if found.complete or time.monotonic() > self.deadline:
                return found
        return prices.light(0.0, deadline=self.deadline, count=POOL)

    def _settled(self, prices: Prices, found: LightBlocks, best: Best, seconds: float) -> Outcome:
        """The best partition that prices leave, which are raised so far that no block has a negative reduced cost."""
        raised = replace(prices, prices=prices.prices + found.least)
        reduced = (
            found.costs
            - raised.multiplier * found.gains
            - members_of(found.blocks, self.size) @ raised.prices
        )
        light = replace(
            found, reduced=np.maximum(reduced, 0.0), least=min(0.0, float(reduced.min(initial=0.0)))
        )
        best = Leftover(raised, light, self.exact).best(time.monotonic() + 2 * seconds, best)
        return Outcome(best if best.closed else self._sought(raised, best, seconds), raised)

    def _pooled(self, prices: Prices, best: Best, seconds: float) -> Best:
        """The best partition into blocks of the pool, as far as the time allows, or the best before.

        They are gone through from the relaxation outward; else a dive, exchanges and branch and bound seek one.
        """
        found = self._gone_through(prices, seconds / 6)
        best = better(replace(found, closed=False), best)
        return best if found.closed else self._sought(prices, best, seconds * 5 / 6)

    def _gone_through(self, prices: Prices, seconds: float) -> Best:
        """The best partition into blocks of the pool, or the best that was met in the time; closed among these blocks alone."""
        pool, reduced = self.pool, self.pool.reduced(prices.prices, prices.multiplier)
        light = LightBlocks(pool.blocks, np.maximum(reduced, 0.0), pool.cost, pool.gain, 0.0, math.inf)
        return Leftover(prices, light, self.exact).best(time.monotonic() + seconds)

    def _sought(self, prices: Prices, best: Best, seconds: float) -> Best:
        """The best partition that a dive, exchanges and branch and bound find in the time, or the best before."""
        until, pool = time.monotonic() + seconds, self.pool
        reduced = pool.reduced(prices.prices, prices.multiplier)
        reduced[self.used] = -math.inf
        reduced[pool.members.sum(axis=1) == 1] = -math.inf
        some = pool.take(np.argsort(reduced, kind="stable")[:WHOLE])
        need = None if self.need is None else self.need + self.goal.gain_error + 2 * FINEST
        dived = dive(some, need, self._priced, until - time.monotonic())
        if dived is not None:
            best = better(self._near(dived, time.monotonic() + seconds / 6), best)
        if best.blocks is None or time.monotonic() > until:
            return best
        some = some.joined(self._priced(np.setdiff1d(best.blocks, some.blocks)))
        start = np.isin(some.blocks, best.blocks).astype(np.float64)
        point = integral(some, need, start, until - time.monotonic())
        return best if point is None else better(self._near(some.blocks[point > 0], until), best)

    def _near(self, blocks: Ints, until: float) -> Best:
        """The best partition near one that was met, if it gains what is needed for sure."""
        need = -math.inf if self.need is None else self.need + self.goal.gain_error
        near = TwoBlocks(self.costs, self.goal, need, blocks.tolist()).improved(until)
        some = self._priced(near)
        if math.fsum(some.gain.tolist()) < need:
            return NONE
        return Best(near, math.fsum(some.cost.tolist()), False)

    def _priced(self, blocks: Ints) -> Pool:
        return priced(self.costs, self.goal, blocks)

    def _join(self, prices: Prices, found: LightBlocks) -> bool:
        """Let the found blocks join the pool, the cheapest ones if they are many; dear columns leave the program.

        Whether any of them was not there, of those that should be cheaper than nothing.
        """
        some = np.flatnonzero(~np.isin(found.blocks, self.pool.blocks))
        some = some[np.argsort(found.reduced[some], kind="stable")[:POOL]]
        blocks = found.blocks[some]
        grown = self.pool.joined(
            Pool(blocks, found.costs[some], found.gains[some], members_of(blocks, self.size))
        )
        reduced = grown.reduced(prices.prices, prices.multiplier)
        reduced[self.used] = -math.inf
        if len(reduced) > LARGEST:
            kept = np.sort(np.argpartition(reduced, LARGEST // 2)[: LARGEST // 2])
            self.used = np.searchsorted(kept, self.used)
            grown, reduced = grown.take(kept), reduced[kept]
        self.pool = grown
        near = np.argpartition(reduced, KEPT)[:KEPT] if len(reduced) > KEPT else np.arange(len(reduced))
        self.columns = np.union1d(near, self.used)
        return bool((found.reduced[some] <= 0).any())

    def _solved_over_pool(self) -> tuple[Floats, float]:
        """The best prices for a program of the blocks of the pool alone, and their multiplier.

        Raises
        ------
        OutOfTime
            If the deadline passes first.
        """
        pool, best, program = self.pool, -math.inf, Restricted(self.size, self.need)
        program.add(pool.take(self.columns))
        centre = self.centre
        while True:
            found = program.solve(self.left)
            if found is None or not self.left:
                raise OutOfTime
            self.rounds += 1
            prices, multiplier = found.prices, found.multiplier
            self.used = self.columns[found.point > 0]
            between = ((centre[0] + prices) / 2, (centre[1] + multiplier) / 2)
            wrong = self.columns[:0]
            for point in (between, (prices, multiplier)):
                reduced = pool.reduced(*point)
                least = min(0.0, float(reduced.min()))
                bound = math.fsum(point[0].tolist()) + point[1] * self.goal.need + self.size * least
                if bound > best:
                    best, centre = bound, (point[0] + least, point[1])
                new = cheapest(reduced, ADDED)
                wrong = new[pool.take(new).reduced(prices, multiplier) < -FINEST / 10]
                wrong = np.setdiff1d(wrong, self.columns)
                if len(wrong):
                    break
            if found.value - best <= CLOSE or not len(wrong) or self.rounds >= ROUNDS:
                self.centre = centre
                return centre
            program.add(pool.take(wrong))
            self.columns = np.concatenate([self.columns, wrong])


def program_of(problem: TradeOff, budget: Budget, deadline: float) -> Program:
    """The program of a problem; the incumbent is its first partition, whose blocks are no columns: they make first prices degenerate."""
    costs = block_costs(problem)
    goal, bits = goal_of(problem, costs), 1 << np.arange(len(costs.symbols))
    known = start = bits if problem.is_floor else np.array([int(bits.sum())])
    if isinstance(budget.incumbent, Merging):
        numbers = budget.incumbent.assignment[costs.symbols]
        start = np.array([int(bits[numbers == b].sum()) for b in np.unique(numbers)])
    return replace(program_on(costs, goal, known, budget, deadline), start=start, exact=Exact(problem, costs))


def program_on(costs: BlockCosts, goal: Goal, start: Ints, budget: Budget, deadline: float) -> Program:
    """The program with single symbols, pairs, the whole and the blocks of a partition as columns."""
    n = len(costs.symbols)
    bits = 1 << np.arange(n)
    pairs = (bits[:, None] | bits)[np.triu_indices(n, 1)]
    blocks = np.unique(np.concatenate([bits, pairs, bits.sum()[None], start]))
    pool = priced(costs, goal, blocks)
    shared = costs.mass * (pool.cost[-1] / costs.mass.sum())
    every = np.arange(len(blocks))
    return Program(costs, goal, budget, deadline, pool, every, every[:0], start, (shared, 0.0))

"""Several blocks at a time are divided anew, in the best way: from the best merging so far, for alphabets of any size.

What blocks cost adds up, so some of them may be replaced by any partition of their symbols that gains as much and costs less. The
best one of about sixteen symbols is found by the program over all their blocks in some hundredths of a second. Where blocks are large
some of their symbols stay together. Which blocks are tried is drawn: any, those that say most about the secret, or those that
lie near one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.partition_costs import BlockCosts, Goal, block_costs, goal_of
from privopt.problems.trade_off.partitions import numbers_of
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.blocks.generation import program_on
from privopt.solvers.trade_off.large import start_of
from privopt.solvers.trade_off.mergings import first_kept, impossible, proposed

T = TypeVar("T", bound=TradeOff)

UNITS = 16
"""Symbols, or groups of symbols that stay together, that are divided anew at a time, at most."""

MOST = 6
"""Blocks that are divided anew at a time, at most."""

SECONDS, WHOLE = 0.2, 10.0
"""Seconds of one program, at most, and of the only one where that has all symbols."""

IN_VAIN = 150
"""Programs in a row without a gain after which no more are tried."""

WORTH = 1e-12
"""Nats that an exchange must be worth."""

SPREAD = 0.2
"""How far chance goes against likeness when blocks near one are drawn."""


class Exchanges(Solver[T]):
    """Exchanges between blocks, from the best answer so far."""

    name: ClassVar[str] = "block-exchange"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    def cost(self, problem: T) -> float:
        """It goes on while exchanges help; what it finds first counts most."""
        size = len(problem.observation.support)
        return 0.05 if size <= UNITS else 0.05 * min(size, 200)

    def refuse(self, problem: T) -> str | None:
        """Refuse channels."""
        return None if problem.form == "merging" else 'it seeks mergings: ask form="merging"'

    def run(self, problem: T, budget: Budget) -> Proposal:
        """Propose the partition that time left, or that no exchange tried makes better."""
        if (none := impossible(problem)) is not None:
            return none
        short = budget.earlier(0.05)
        start = start_of(problem, budget.earlier(0.7))
        costs = block_costs(problem)
        places = np.searchsorted(problem.observation.support, costs.symbols)
        search = Search(
            costs, goal_of(problem, costs), np.random.default_rng(budget.seed), _parts(start[places])
        )
        tries = search.run(short)
        ends = np.empty(len(start), dtype=np.int64)
        for number, block in enumerate(search.blocks):
            ends[places[block]] = number
        release = first_kept(problem, [ends, start])
        stop = "no exchange helps" if short.remaining > 0 else "out of time"
        return proposed(problem, release, {"iterations": tries, "stop": stop})


@register
@dataclass(frozen=True)
class BlockExchange(Exchanges[PrivacyFunnel]):
    """Several blocks at a time are divided anew, in the best way: from the best merging so far, for alphabets of any size."""

    solves: ClassVar = PrivacyFunnel


@register
@dataclass(frozen=True)
class BottleneckExchange(Exchanges[InformationBottleneck]):
    """Several blocks at a time are divided anew, in the best way: from the best merging so far, for alphabets of any size."""

    solves: ClassVar = InformationBottleneck


def _parts(numbers: Ints) -> list[Ints]:
    """The places of the symbols in each block."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


@dataclass(eq=False)
class Search:
    """A partition that changes: the places of the symbols in each block, by the order of ``costs.symbols``."""

    costs: BlockCosts
    goal: Goal
    rng: np.random.Generator
    blocks: list[Ints]

    def run(self, budget: Budget) -> int:
        """Exchange until time is up or none of many tries helps; how many were made."""
        tries, in_vain = 0, 0
        cost, gain = self._priced(self.blocks)
        while budget.remaining > 0 and in_vain < IN_VAIN and len(self.costs.symbols) > 1:
            chosen = self._drawn(tries)
            spare = (
                math.inf
                if self.goal.weighed
                else math.fsum(gain.tolist()) - self.goal.need - self.goal.gain_error
            )
            parts = self._divided(
                chosen, float(gain[chosen].sum()) - spare, float(cost[chosen].sum()), budget
            )
            tries, in_vain = tries + 1, in_vain + 1
            budget.progress(in_vain / IN_VAIN, f"{len(self.blocks)} blocks, {tries} programs")
            if parts is None and len(self.costs.symbols) <= UNITS:
                break  # nothing is better than what one program of all symbols has found
            if parts is None:
                continue
            in_vain = 0
            kept = np.setdiff1d(np.arange(len(self.blocks)), chosen)
            self.blocks = [*(self.blocks[i] for i in kept.tolist()), *parts]
            more = self._priced(parts)
            cost, gain = np.concatenate([cost[kept], more[0]]), np.concatenate([gain[kept], more[1]])
        return tries

    def _priced(self, blocks: list[Ints]) -> tuple[Floats, Floats]:
        """What blocks cost and gain."""
        masses = np.array([self.costs.rows[:, block].sum(axis=1) for block in blocks])
        return self.goal.both(*self.costs.of(masses))

    def _drawn(self, tries: int) -> Ints:
        """Blocks to divide anew, by turns: any, those that say most, those near one; at least two, or all if they are small."""
        if len(self.costs.symbols) <= UNITS:
            return np.arange(len(self.blocks))
        n_s = len(self.costs.secret_rows)
        masses = np.array([self.costs.rows[: 1 + n_s, block].sum(axis=1) for block in self.blocks])
        noise = self.rng.gumbel(size=len(self.blocks))
        shares = self.costs.secret_rows.sum(axis=1) / self.costs.mass.sum()
        apart = masses[:, 1:] - masses[:, :1] * shares
        if tries % 3 == 0:
            worth = noise
        elif tries % 3 == 1:
            worth = np.log(np.maximum(np.abs(apart).sum(axis=1), 1e-300)) + noise
        else:
            one = int(self.rng.integers(len(self.blocks)))
            posteriors = masses[:, 1:] / masses[:, :1]
            worth = -np.abs(posteriors - posteriors[one]).sum(axis=1) + SPREAD * noise
            worth[one] = math.inf
        order = np.argsort(-worth, kind="stable")[:MOST]
        sizes = np.cumsum([len(self.blocks[i]) for i in order.tolist()])
        return order[: max(2, int(np.searchsorted(sizes, UNITS, side="right")))]

    def _divided(self, chosen: Ints, need: float, cost: float, budget: Budget) -> list[Ints] | None:
        """Blocks of the symbols of some that gain what is needed and cost less than they do, or None."""
        units, start = self._units(chosen)
        costs = self.costs.merged(units)
        goal = self.goal if self.goal.weighed else replace(self.goal, need=need)
        place = np.argsort(costs.symbols)
        bits = np.array([int((1 << place[start == b]).sum()) for b in np.unique(start)])
        whole = len(self.costs.symbols) <= UNITS
        seconds = min(WHOLE if whole else SECONDS, budget.remaining)
        now = time.monotonic()
        program = program_on(costs, goal, bits, Budget(deadline=now + seconds), now + 0.7 * seconds)
        best = program.solved(0.1 * seconds).best
        if best.blocks is None or not best.cost < cost - WORTH:
            return None
        numbers = np.array(numbers_of(best.blocks.tolist()))[place]
        return [
            np.concatenate([units[u] for u in np.flatnonzero(numbers == b).tolist()])
            for b in np.unique(numbers)
        ]

    def _units(self, chosen: Ints) -> tuple[list[Ints], Ints]:
        """The symbols of some blocks one by one, or as many as fit and what is left of each block; and the block of each."""
        blocks = [self.blocks[i] for i in chosen.tolist()]
        room = [UNITS // len(blocks)] * len(blocks)
        if sum(map(len, blocks)) <= UNITS:
            room = [len(block) for block in blocks]
        units: list[Ints] = []
        start: list[int] = []
        for number, (block, most) in enumerate(zip(blocks, room, strict=True)):
            mixed = self.rng.permutation(block)
            single = len(block) if len(block) <= most else most - 1
            parts = [mixed[i : i + 1] for i in range(single)] + (
                [mixed[single:]] if single < len(block) else []
            )
            units += parts
            start += [number] * len(parts)
        return units, np.array(start)

"""The best merging that pairwise merging, prices and moves of single symbols find within the time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Merging
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.partitions import best_partition
from privopt.solvers.trade_off.mergings import (
    MergingTable,
    best_kept,
    impossible,
    merging_table,
    numbered,
    proposed,
)
from privopt.solvers.trade_off.pairs import FLOOR_SLACK, PairRule, merge_path, predicted_seconds
from privopt.solvers.trade_off.pairwise import too_many
from privopt.solvers.trade_off.zero_leakage import refuse_independence

SPARE = 1e-13
"""Nats that moves leave to the slack of a bound."""

GAIN = 1e-13
"""Nats that a move must be worth."""

CELLS = 200_000
"""Numbers in the tables of sums that are made at a time."""

SWEEPS = 30
"""Most rounds over all symbols."""


@register
@dataclass(frozen=True)
class Portfolio(Solver[PrivacyFunnel]):
    """Pairwise merging by two scores, and at several prices of information; moves of single symbols after each.

    Under a floor or a cap the price is searched by bisection: merge while dS > price dX, move symbols while that
    pays, then merge on up to the bound and move symbols within it. The best that was seen is proposed.

    Parameters
    ----------
    steps : int
        Prices tried, >= 1.
    enumerated : int
        Alphabets up to this size are also searched through, in fractions of a second.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "portfolio"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: nothing is proved."""

    steps: int = 10
    enumerated: int = 12

    def cost(self, problem: PrivacyFunnel) -> float:
        """As many merging paths as prices, and as much again for moves."""
        n, width = len(problem.observation.support), len(problem.observation.p_s)
        return 2 * self.steps * predicted_seconds(n, width) + 1e-3 * n

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse alphabets that are too large for memory, and less than one step."""
        if (why := too_many(problem)) is not None:
            return why
        return (
            refuse_independence(problem) if self.steps >= 1 else f"steps must be at least 1, got {self.steps}"
        )

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best of all candidates."""
        if (none := impossible(problem)) is not None:
            return none
        everything = np.arange(len(problem.observation.support))
        candidates = [everything, np.zeros_like(everything)]
        if (
            len(everything) <= self.enumerated
            and (best := best_partition(problem, budget.remaining / 2)) is not None
        ):
            candidates.append(best.assignment[problem.observation.support])
        if isinstance(budget.incumbent, Merging):
            candidates.append(numbered(budget.incumbent.assignment[problem.observation.support]))
        candidates += Searches(problem, budget, self.steps).candidates()
        stats = {
            "iterations": len(candidates),
            "stop": "all tried" if budget.remaining > 0 else "out of time",
        }
        return proposed(problem, best_kept(problem, candidates), stats)


@dataclass(frozen=True, eq=False)
class Searches:
    """The searches of one run."""

    problem: PrivacyFunnel
    budget: Budget
    steps: int

    @cached_property
    def table(self) -> MergingTable:
        """The symbols."""
        return merging_table(self.problem)

    def candidates(self) -> Iterator[Ints]:
        """Partitions to choose from, in a fixed order, until there are no more or time runs out."""
        if self.problem.mode == "trade_off":
            yield from self._weighed()
        else:
            yield from self._bounded()

    def _weighed(self) -> Iterator[Ints]:
        tau = self.problem.budget
        for score in ("lagrangian", "leakage", "ratio"):
            yield self.settle(self.merged(PairRule(score, tau, price=tau)), tau)

    def _bounded(self) -> Iterator[Ints]:
        """Pairwise merging; then on from where it ends at a price, the price at which the bound is just met first."""
        for score in ("leakage", "ratio"):
            yield self.to_bound(None, score)
        if isinstance(self.budget.incumbent, Merging):
            start = numbered(self.budget.incumbent.assignment[self.problem.observation.support])
            yield self.to_bound(start, "ratio")
        for start in reversed(self._starts()):
            for score in ("leakage", "ratio"):
                if self.budget.remaining > 0:
                    yield self.to_bound(start, score)

    def _starts(self) -> list[Ints]:
        """Partitions at the prices of a bisection, those that leave the bound something to merge, in that order.

        Under a cap those beyond it as well: moves bring them back to it.
        """
        low, high, starts = 0.0, 1.0, []
        left = self.budget.remaining
        until = left / 2 if math.isfinite(left) else 0.0  # the other half is for going on from there
        for step in range(self.steps):
            if self.budget.remaining <= until:
                break
            self.budget.progress(step / self.steps, "searching the price of information")
            price = (low + high) / 2
            start = self.settle(self.merged(PairRule("lagrangian", price, price=price)), price)
            secret, useful = self.table.merged(start).informations
            reached = useful < self.problem.budget if self.problem.is_floor else secret < self.problem.budget
            low, high = (price, high) if reached else (low, price)
            merges = int(start.max()) + 1 < self.table.size
            if merges and not (reached and self.problem.is_floor):
                starts.append(start)
        return starts

    def merged(self, rule: PairRule, start: Ints | None = None) -> Ints:
        """Pairwise merging by a rule, from the blocks of a start."""
        if start is None:
            return merge_path(self.table, rule, self.budget).assignment()
        return merge_path(self.table.merged(start), rule, self.budget).assignment()[start]

    def settle(self, assignment: Ints, price: float) -> Ints:
        """Moves and merges that pay at a price, in turn until neither does."""
        worth = weighed_worth(price)
        for _ in range(self.steps):
            after = moved(self.table, assignment, worth, self.budget)
            merged = self.merged(PairRule("lagrangian", price, price=price), after)
            if merged.max() == after.max() or self.budget.remaining <= 0:
                return merged
            assignment = merged
        return assignment

    def to_bound(self, start: Ints | None, score: str) -> Ints:
        """Merging as far as the bound allows or asks, then moves within it."""
        problem = self.problem
        if problem.is_floor:
            rule = PairRule(score, floor=problem.budget)
            worth: Worth = floor_worth(problem.budget - FLOOR_SLACK + SPARE)
        else:
            rule = PairRule(score, stop_secret=problem.budget - SPARE)
            worth = cap_worth(problem.budget - SPARE)
        return moved(self.table, self.merged(rule, start), worth, self.budget)


Worth = Callable[[Floats, Floats, float, float], Floats]
"""(changes of I(S;Y), changes of I(X;Y), I(S;Y), I(X;Y)) to what each move is worth; -inf where it is not allowed."""


def weighed_worth(multiplier: float) -> Worth:
    """Lower I(S;Y) - multiplier I(X;Y)."""

    def worth(d_secret: Floats, d_useful: Floats, secret: float, useful: float) -> Floats:
        return multiplier * d_useful - d_secret

    return worth


def floor_worth(floor: float) -> Worth:
    """Lower I(S;Y) while I(X;Y) stays at least ``floor``."""

    def worth(d_secret: Floats, d_useful: Floats, secret: float, useful: float) -> Floats:
        return np.where(useful + d_useful >= floor, -d_secret, -np.inf)

    return worth


def cap_worth(cap: float) -> Worth:
    """Raise I(X;Y) while I(S;Y) stays at most ``cap``."""

    def worth(d_secret: Floats, d_useful: Floats, secret: float, useful: float) -> Floats:
        return np.where(secret + d_secret <= cap, d_useful, -np.inf)

    return worth


@dataclass(eq=False)
class Blocks:
    """Blocks by number, some of them empty: which symbols, their sums, what they add to both informations."""

    table: MergingTable
    assignment: Ints
    sums: list[Floats]
    counts: Ints
    costs: list[Floats]

    @property
    def informations(self) -> tuple[float, float]:
        """I(S;Y) and I(X;Y)."""
        first, second = (
            math.fsum(c.tolist()) + o for c, o in zip(self.costs, self.table.offsets, strict=True)
        )
        return first, second

    def changes(self, i: Ints) -> tuple[Floats, Floats]:
        """What moving each symbol to each block changes in I(S;Y) and in I(X;Y), shape (symbols, blocks); 0 for its own."""
        own = self.assignment[i]
        rows = [self.table.secret[i], self.table.useful[i], self.table.mass[i]]
        joined = self.table.costs_of(*(s[None] + r[:, None] for s, r in zip(self.sums, rows, strict=True)))
        left = self.table.costs_of(
            *(np.maximum(s[own] - r, 0.0) for s, r in zip(self.sums, rows, strict=True))
        )
        changes = []
        for cost, to, rest in zip(self.costs, joined, left, strict=True):
            change = to - cost + (np.where(self.counts[own] == 1, 0.0, rest) - cost[own])[:, None]
            change[np.arange(len(i)), own] = 0.0
            changes.append(change)
        return changes[0], changes[1]

    def move(self, i: int, to: int) -> None:
        """Put symbol i into another block; its sums are made afresh, so that errors do not build up."""
        own = int(self.assignment[i])
        self.assignment[i] = to
        for block in (own, to):
            members = np.flatnonzero(self.assignment == block)
            self.counts[block] = len(members)
            parts = (self.table.secret, self.table.useful, self.table.mass)
            for total, part in zip(self.sums, parts, strict=True):
                total[block] = part[members].sum(axis=0)
            for cost, value in zip(
                self.costs, self.table.costs_of(*(s[block] for s in self.sums)), strict=True
            ):
                cost[block] = value


def blocks_of(table: MergingTable, assignment: Ints) -> Blocks:
    """The blocks of an assignment, and an empty one for a symbol that leaves its own."""
    numbers = numbered(assignment)
    merged = table.merged(numbers)
    sums = [
        np.concatenate([v, np.zeros((1, *v.shape[1:]))]) for v in (merged.secret, merged.useful, merged.mass)
    ]
    costs = [np.append(c, 0.0) for c in merged.costs]
    return Blocks(table, numbers, sums, np.append(np.bincount(numbers), 0), costs)


def moved(table: MergingTable, assignment: Ints, worth: Worth, budget: Budget) -> Ints:
    """The assignment after moves, the best block for each symbol in turn, until none helps or time runs out."""
    blocks = blocks_of(table, assignment)
    for sweep in range(SWEEPS):
        moves = _sweep(blocks, worth, budget)
        budget.progress((sweep + 1) / SWEEPS, "moving single symbols")
        if not moves or budget.remaining <= 0:
            break
        blocks = blocks_of(table, blocks.assignment)
    return numbered(blocks.assignment)


def _sweep(blocks: Blocks, worth: Worth, budget: Budget) -> int:
    """Go through all symbols once, some at a time; how many moved."""
    table, moves = blocks.table, 0
    levels = blocks.informations
    step = max(1, CELLS // (len(blocks.counts) * (table.secret.shape[1] + table.useful.shape[1])))
    for begin in range(0, table.size, step):
        if budget.remaining <= 0:
            return moves
        some = np.arange(begin, min(table.size, begin + step))
        promising = some[_values(blocks, some, worth, *levels).max(axis=1) > GAIN]
        for i in promising:
            if budget.remaining <= 0:
                return moves
            # the moves before this one may have changed what it is worth
            values = _values(blocks, i[None], worth, *levels)[0]
            best = int(np.argmax(values))
            if values[best] > GAIN:
                blocks.move(int(i), best)
                levels = blocks.informations
                moves += 1
    return moves


def _values(blocks: Blocks, i: Ints, worth: Worth, secret: float, useful: float) -> Floats:
    """What moving each symbol to each block is worth; of the empty blocks one is offered, to symbols in company."""
    d_secret, d_useful = blocks.changes(i)
    values = worth(d_secret, d_useful, secret, useful)
    own = blocks.assignment[i]
    values[np.arange(len(i)), own] = 0.0
    empty = np.flatnonzero(blocks.counts == 0)
    values[:, empty[1:]] = -np.inf
    values[np.ix_(blocks.counts[own] == 1, empty[:1])] = -np.inf
    return values

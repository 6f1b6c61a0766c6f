"""The starts and improvements of the portfolio: merging at a price, then up to the bound, then moves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from privopt.arrays import Ints
from privopt.core.solver import Budget
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.common.merging_table import MergingTable, merging_table
from privopt.solvers.common.pair_path import merge_path
from privopt.solvers.common.pair_rule import FLOOR_SLACK, PairRule
from privopt.solvers.common.partition_moves import Worth, cap_worth, floor_worth, moved, weighed_worth

SPARE = 1e-13
"""Nats that moves leave to the slack of a bound."""


@dataclass(frozen=True, eq=False)
class Portfolio:
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
        for start in reversed(self._starts()):
            for score in ("leakage", "ratio"):
                if self.budget.remaining > 0:
                    yield self.to_bound(start, score)

    def _starts(self) -> list[Ints]:
        """Partitions at the prices of a bisection, those that leave the bound something to merge, in that order.

        Under a cap those beyond it as well: moves bring them back to it.
        """
        low, high, found = 0.0, 1.0, []
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
                found.append(start)
        return found

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

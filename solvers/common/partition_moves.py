"""Single symbols that move to another block, or out of theirs, as long as that helps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.solvers.common.merging_table import MergingTable, numbered

GAIN = 1e-13
"""Nats that a move must be worth."""

CELLS = 200_000
"""Numbers in the tables of sums that are made at a time."""

SWEEPS = 30
"""Most rounds over all symbols."""

Worth = Callable[[Floats, Floats, float, float], Floats]
"""(changes of I(S;Y), changes of I(X;Y), I(S;Y), I(X;Y)) to what each move is worth; -inf where it is not allowed."""


def weighed_worth(multiplier: float, sign: float = 1.0) -> Worth:
    """Lower I(S;Y) - multiplier I(X;Y); raise it with sign -1."""

    def worth(d_secret: Floats, d_useful: Floats, secret: float, useful: float) -> Floats:
        return sign * (multiplier * d_useful - d_secret)

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
        found = []
        for cost, to, rest in zip(self.costs, joined, left, strict=True):
            change = to - cost + (np.where(self.counts[own] == 1, 0.0, rest) - cost[own])[:, None]
            change[np.arange(len(i)), own] = 0.0
            found.append(change)
        return found[0], found[1]

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

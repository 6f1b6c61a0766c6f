"""Merging of subsets: the set that lowers the weighed objective most, again and again on the merged symbols."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privopt.arrays import Ints
from privopt.core.solver import Budget
from privopt.problems.trade_off.partition_costs import subset_sums, xlogx
from privopt.solvers.common.merging_table import MergingTable, numbered
from privopt.solvers.trade_off.subset_steps import SubsetMerge

FIRSTS = 40
"""Symbols that an order is started from, at most; beyond, evenly spaced ones."""

ROUNDS = 30
"""Steps from one order, at most."""

GAIN = 1e-13
"""Nats that a merge must be worth."""

Step = Callable[[SubsetMerge, Budget], Ints]


def sub_sup(question: SubsetMerge, budget: Budget) -> Ints:
    """Replace g by its increments along an order, merge the best set for that, and order by it anew.

    Source: Iyer, Bilmes, "Algorithms for approximate minimization of the difference between submodular functions".
    """
    best, value = np.zeros(0, dtype=np.int64), 0.0
    n = question.table.size
    firsts = np.unique(np.linspace(0, n - 1, min(n, FIRSTS)).astype(np.int64))
    for order in question.orders(np.random.default_rng(budget.seed), firsts):
        last = 0.0
        for _ in range(ROUNDS):
            if budget.remaining <= 0:
                return best
            chosen = question.best_for(question.gains(order))
            change = question.change(chosen)
            if change >= last - GAIN:
                break
            last = change
            if change < value - GAIN:
                best, value = np.sort(chosen), change
            order = ordered_after(question, chosen)
    return best


def ordered_after(question: SubsetMerge, chosen: Ints) -> Ints:
    """A set first, then the others by what each would add."""
    rest = np.setdiff1d(np.arange(question.table.size), chosen)
    return np.concatenate([chosen, rest[np.argsort(question.marginals(chosen)[rest], kind="stable")]])


def mod_mod(question: SubsetMerge, budget: Budget) -> Ints:
    """Replace f by a modular bound above it, and g by one below, from every best pair.

    From the empty set it would stay there: single symbols change nothing, so the bound on f is 0.

    Source: as for sub_sup.
    """
    best, value = np.zeros(0, dtype=np.int64), 0.0
    n = question.table.size
    for i in np.unique(np.linspace(0, n - 1, min(n, FIRSTS)).astype(np.int64)).tolist():
        chosen, last = question.pair_order(i)[:2], 0.0
        for _ in range(ROUNDS):
            if budget.remaining <= 0:
                return best
            change = question.change(chosen)
            if change >= last - GAIN:
                break
            last = change
            if change < value - GAIN:
                best, value = np.sort(chosen), change
            chosen = _modular_step(question, chosen)
    return best


def _modular_step(question: SubsetMerge, chosen: Ints) -> Ints:
    """The minimiser of a modular bound: f at a set by leaving it for its members, by joining nothing for the others.

    f(Y) <= f(W) - sum over W - Y of f(j | W - j) + sum over Y - W of f(j | empty), and the latter are 0.
    """
    inside = np.zeros(question.table.size, dtype=bool)
    inside[chosen] = True
    mass = np.asarray(question.table.mass[chosen].sum())
    less = np.maximum(mass - question.table.mass, 0.0)
    leave = question.masses - (xlogx(mass) - xlogx(less))
    above = np.where(inside, leave, 0.0)
    below = question.gains(ordered_after(question, chosen))
    return np.flatnonzero((1 - question.price) * above - below < 0)


def tabulated(question: SubsetMerge, budget: Budget) -> Ints:
    """The best set of all, every one of the 2^n tried."""
    table = question.table
    change = (1 - question.price) * (subset_sums(question.masses) - xlogx(subset_sums(table.mass)))
    change -= subset_sums(question.cells)
    for column in table.secret.T:
        if budget.remaining <= 0:
            return np.zeros(0, dtype=np.int64)
        change += xlogx(subset_sums(column))
    best = int(np.argmin(change))
    chosen = np.array([i for i in range(table.size) if best >> i & 1], dtype=np.int64)
    return chosen if question.change(chosen) < -GAIN else chosen[:0]


def repeated(table: MergingTable, price: float, step: Step, budget: Budget) -> Ints:
    """Merge the set that a step finds, and again on the merged symbols, until it finds none."""
    assignment = np.arange(table.size)
    while budget.remaining > 0:
        now = table.merged(assignment)
        if now.size < 2:
            break
        chosen = step(SubsetMerge(now, price), budget)
        if len(chosen) < 2:
            break
        to = np.arange(now.size)
        to[chosen] = chosen[0]
        assignment = numbered(to[assignment])
        budget.progress(1 - now.size / table.size, "merging subsets")
    return assignment

"""Merging of subsets: the set that lowers the weighed objective most becomes one block, again and again.

Merging a set W changes I(S;Y) - m I(X;Y) by (1 - m) f(W) - g(W), with f(W) = sum h(p_x) - h(p(W)), h(t) = t ln t, and
g(W) = sum over s of [sum h(p_sx) - h(p_s(W))]. Both are submodular, non-increasing, 0 on the empty set and on single symbols:
a difference of submodular functions. A general method for plain submodular functions is not needed for its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.partition_costs import subset_sums, xlogx
from privopt.solvers.trade_off.mergings import (
    MergingTable,
    best_kept,
    impossible,
    merging_table,
    numbered,
    proposed,
)
from privopt.solvers.trade_off.zero_leakage import refuse_independence

MAX_STEPPED, MAX_TABULATED = 3000, 20
"""Symbols up to which sets are sought by modular steps, and by trying every one."""

FIRSTS = 40
"""Symbols that an order is started from, at most; beyond, evenly spaced ones."""

ROUNDS = 30
"""Steps from one order, at most."""

GAIN = 1e-13
"""Nats that a merge must be worth."""


@dataclass(frozen=True, eq=False)
class SubsetMerge:
    """Which set of symbols to merge at a price, for releases of X itself."""

    table: MergingTable
    price: float

    @cached_property
    def masses(self) -> Floats:
        """For each symbol h of its probability."""
        return xlogx(self.table.mass)

    @cached_property
    def cells(self) -> Floats:
        """The sum over s of h(p_sx), for each symbol."""
        return np.asarray(xlogx(self.table.secret).sum(axis=1))

    def change(self, chosen: Ints) -> float:
        """What merging a set adds to I(S;Y) - price I(X;Y); negative is good."""
        if len(chosen) < 2:
            return 0.0
        first = self.masses[chosen].sum() - xlogx(np.asarray(self.table.mass[chosen].sum()))
        second = self.cells[chosen].sum() - xlogx(self.table.secret[chosen].sum(axis=0)).sum()
        return float((1 - self.price) * first - second)

    def gains(self, order: Ints) -> Floats:
        """Increments of g along an order, by symbol: a modular function below g that equals it on every prefix."""
        along = np.cumsum(self.cells[order]) - xlogx(np.cumsum(self.table.secret[order], axis=0)).sum(axis=1)
        increments = np.empty(len(order))
        increments[order] = np.diff(along, prepend=0.0)
        return increments

    def best_for(self, modular: Floats) -> Ints:
        """The minimiser of (1 - price) f - modular, exactly.

        It is a modular weight plus a concave function of p(W), whose slope at the optimum splits the symbols by weight over
        probability: a prefix in that order.
        """
        weight = (1 - self.price) * self.masses - modular
        order = np.argsort(weight / self.table.mass, kind="stable")
        along = np.cumsum(weight[order]) - (1 - self.price) * xlogx(np.cumsum(self.table.mass[order]))
        k = int(np.argmin(along))
        return order[: k + 1] if along[k] < 0 else order[:0]

    def marginals(self, chosen: Ints) -> Floats:
        """What each symbol adds to the change when it joins a set, or would when it leaves."""
        inside = np.zeros(self.table.size, dtype=bool)
        inside[chosen] = True
        mass, rows = self.table.mass[chosen].sum(), self.table.secret[chosen].sum(axis=0)
        sign = np.where(inside, -1.0, 1.0)
        other_mass = np.maximum(mass + sign * self.table.mass, 0.0)
        other_rows = np.maximum(rows + sign[:, None] * self.table.secret, 0.0)
        first = self.masses - sign * (xlogx(other_mass) - xlogx(np.asarray(mass)))
        second = self.cells - sign * (xlogx(other_rows).sum(axis=1) - xlogx(rows).sum())
        return np.asarray((1 - self.price) * first - second)

    def orders(self, rng: np.random.Generator, firsts: Ints) -> list[Ints]:
        """Orders to start from: some symbols first and the rest by pair value; by posterior, probability, at random."""
        by = [self.pair_order(int(i)) for i in firsts]
        posterior = self.table.secret / self.table.mass[:, None]
        by += [np.argsort(sign * column, kind="stable") for column in posterior.T for sign in (1, -1)]
        by.append(np.argsort(-self.table.mass, kind="stable"))
        return by + [rng.permutation(self.table.size) for _ in range(4)]

    def pair_order(self, i: int) -> Ints:
        """Symbol i first, then the others as pairs with it are worth."""
        first = self.masses + self.masses[i] - xlogx(self.table.mass + self.table.mass[i])
        rows = xlogx(self.table.secret + self.table.secret[i]).sum(axis=1)
        value = (1 - self.price) * first - (self.cells + self.cells[i] - rows)
        value[i] = -np.inf
        return np.argsort(value, kind="stable")


Step = Callable[[SubsetMerge, Budget], Ints]


def sub_sup(merge: SubsetMerge, budget: Budget) -> Ints:
    """Replace g by its increments along an order, merge the best set for that, and order by it anew.

    Source: Iyer, Bilmes, "Algorithms for approximate minimization of the difference between submodular functions".
    """
    best, value = np.zeros(0, dtype=np.int64), 0.0
    n = merge.table.size
    firsts = np.unique(np.linspace(0, n - 1, min(n, FIRSTS)).astype(np.int64))
    for order in merge.orders(np.random.default_rng(budget.seed), firsts):
        last = 0.0
        for _ in range(ROUNDS):
            if budget.remaining <= 0:
                return best
            chosen = merge.best_for(merge.gains(order))
            change = merge.change(chosen)
            if change >= last - GAIN:
                break
            last = change
            if change < value - GAIN:
                best, value = np.sort(chosen), change
            order = ordered_after(merge, chosen)
    return best


def ordered_after(merge: SubsetMerge, chosen: Ints) -> Ints:
    """A set first, then the others by what each would add."""
    rest = np.setdiff1d(np.arange(merge.table.size), chosen)
    return np.concatenate([chosen, rest[np.argsort(merge.marginals(chosen)[rest], kind="stable")]])


def mod_mod(merge: SubsetMerge, budget: Budget) -> Ints:
    """Replace f by a modular bound above it, and g by one below, from every best pair.

    From the empty set it would stay there: single symbols change nothing, so the bound on f is 0.

    Source: as for sub_sup.
    """
    best, value = np.zeros(0, dtype=np.int64), 0.0
    n = merge.table.size
    for i in np.unique(np.linspace(0, n - 1, min(n, FIRSTS)).astype(np.int64)).tolist():
        chosen, last = merge.pair_order(i)[:2], 0.0
        for _ in range(ROUNDS):
            if budget.remaining <= 0:
                return best
            change = merge.change(chosen)
            if change >= last - GAIN:
                break
            last = change
            if change < value - GAIN:
                best, value = np.sort(chosen), change
            chosen = _modular_step(merge, chosen)
    return best


def _modular_step(merge: SubsetMerge, chosen: Ints) -> Ints:
    """The minimiser of a modular bound: f at a set by leaving it for its members, by joining nothing for the others.

    f(Y) <= f(W) - sum over W - Y of f(j | W - j) + sum over Y - W of f(j | empty), and the latter are 0.
    """
    inside = np.zeros(merge.table.size, dtype=bool)
    inside[chosen] = True
    mass = np.asarray(merge.table.mass[chosen].sum())
    less = np.maximum(mass - merge.table.mass, 0.0)
    leave = merge.masses - (xlogx(mass) - xlogx(less))
    above = np.where(inside, leave, 0.0)
    below = merge.gains(ordered_after(merge, chosen))
    return np.flatnonzero((1 - merge.price) * above - below < 0)


def tabulated(merge: SubsetMerge, budget: Budget) -> Ints:
    """The best set of all, every one of the 2^n tried."""
    table = merge.table
    change = (1 - merge.price) * (subset_sums(merge.masses) - xlogx(subset_sums(table.mass)))
    change -= subset_sums(merge.cells)
    for column in table.secret.T:
        if budget.remaining <= 0:
            return np.zeros(0, dtype=np.int64)
        change += xlogx(subset_sums(column))
    best = int(np.argmin(change))
    chosen = np.array([i for i in range(table.size) if best >> i & 1], dtype=np.int64)
    return chosen if merge.change(chosen) < -GAIN else chosen[:0]


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


STEPS = {"sub-sup": sub_sup, "mod-mod": mod_mod}


@register
@dataclass(frozen=True)
class Submodular(Solver[PrivacyFunnel]):
    """Merging of subsets: the set that lowers the weighed objective most becomes one block, again and again.

    Minimise a difference of submodular functions, merge that set, and repeat on the merged symbols.

    The step "sub-sup" solves its submodular problem exactly, as a prefix of the symbols sorted by weight over
    probability. Taking the largest fall first is often too greedy: single pairs at the same price do better.

    Source: the lectures on privacy-utility trade-offs, submodular privacy funnel; the steps by Iyer, Bilmes.

    Parameters
    ----------
    variant : {"sub-sup", "mod-mod"}
        How the difference is replaced by something that can be minimised.
    steps : int
        Prices tried under a floor or a cap, >= 1.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "submodular"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: nothing is proved."""

    variant: str = "sub-sup"
    steps: int = 10

    def cost(self, problem: PrivacyFunnel) -> float:
        """Orders from each of up to 40 symbols, for every block that is made at every price."""
        n, width = len(problem.observation.support), len(problem.observation.p_s)
        prices = 1 if problem.mode == "trade_off" else self.steps
        return prices * (0.01 + min(n, 40) * n / 4 * (2e-4 + 5e-8 * n * width))

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse more than 3000 symbols, observations that are not X itself, and unknown variants."""
        if self.variant not in STEPS:
            return f'variant must be "sub-sup" or "mod-mod", got {self.variant!r}'
        return refusal(problem, MAX_STEPPED, self.steps)

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best merging at the prices tried."""
        return subset_proposal(problem, STEPS[self.variant], self.steps, budget)


@register
@dataclass(frozen=True)
class SubmodularExact(Solver[PrivacyFunnel]):
    """Merging of subsets with the best set of all at every step: what ``submodular`` approximates.

    Every one of the 2^n sets is tried at each step; the sequence of steps is as greedy as that of ``submodular``.

    Parameters
    ----------
    steps : int
        Prices tried under a floor or a cap, >= 1.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "submodular-exact"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Kept for comparison: exact in each step, not in the whole."""

    steps: int = 10

    def cost(self, problem: PrivacyFunnel) -> float:
        """Twice as much with each symbol."""
        n, width = len(problem.observation.support), len(problem.observation.p_s)
        prices = 1 if problem.mode == "trade_off" else self.steps
        return prices * (0.01 + 4e-8 * 2.0**n * (width + 3))

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse more than 20 symbols, and observations that are not X itself."""
        return refusal(problem, MAX_TABULATED, self.steps)

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best merging at the prices tried."""
        return subset_proposal(problem, tabulated, self.steps, budget)


def subset_proposal(problem: PrivacyFunnel, step: Step, steps: int, budget: Budget) -> Proposal:
    """The best of the mergings at some prices; releasing everything, or nothing, is among the candidates."""
    if (none := impossible(problem)) is not None:
        return none
    table = merging_table(problem)
    none_merged, all_merged = np.arange(table.size), np.zeros(table.size, dtype=np.int64)
    mergings = _priced(problem, table, step, steps, budget)
    stats = {"iterations": len(mergings), "stop": "all tried" if budget.remaining > 0 else "out of time"}
    return proposed(problem, best_kept(problem, [none_merged, all_merged, *mergings]), stats)


def _priced(
    problem: PrivacyFunnel, table: MergingTable, step: Step, steps: int, budget: Budget
) -> list[Ints]:
    if problem.mode == "trade_off":
        return [repeated(table, problem.budget, step, budget)] if problem.budget < 1 else []
    low, high, mergings = 0.0, 1.0, []
    for _ in range(steps):
        if budget.remaining <= 0:
            break
        price = (low + high) / 2
        mergings.append(repeated(table, price, step, budget))
        secret, useful = table.merged(mergings[-1]).informations
        reached = useful < problem.budget if problem.is_floor else secret < problem.budget
        low, high = (price, high) if reached else (low, price)
    return mergings


def refusal(problem: PrivacyFunnel, limit: int, steps: int) -> str | None:
    """Why a problem is not taken, or None."""
    size = len(problem.observation.support)
    if problem.observation.useful is not None:
        return "it is made for releases of X itself, here X is seen through an observation"
    if size > limit:
        return f"it takes at most {limit} symbols, this problem has {size}"
    return refuse_independence(problem) if steps >= 1 else f"steps must be at least 1, got {steps}"

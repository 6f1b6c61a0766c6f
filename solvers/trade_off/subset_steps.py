"""The best set of symbols to merge into one block: a difference of submodular functions, and its modular steps.

Merging a set W changes I(S;Y) - m I(X;Y) by (1 - m) f(W) - g(W), with f(W) = sum h(p_x) - h(p(W)), h(t) = t ln t, and
g(W) = sum over s of [sum h(p_sx) - h(p_s(W))]. Both are submodular, non-increasing, 0 on the empty set and on single symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.problems.trade_off.partition_costs import xlogx
from privopt.solvers.common.merging_table import MergingTable


@dataclass(frozen=True, eq=False)
class SubsetMerge:
    """The question which set of symbols to merge at a price, for releases of X itself."""

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
        found = np.empty(len(order))
        found[order] = np.diff(along, prepend=0.0)
        return found

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

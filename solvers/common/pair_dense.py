"""Pairwise merging on arrays: all scores in one table, the best of each row remembered."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.solvers.common.merging_table import MergingTable
from privopt.solvers.common.pair_rule import PairPath, PairRule

MAX_SYMBOLS = 6000
"""Symbols whose table of scores fits 300 MB."""


class DensePairs:
    """Scores of all pairs i < j, -inf where a pair is gone or not admissible."""

    def __init__(self, table: MergingTable, rule: PairRule, budget: Budget) -> None:
        self.rule, self.table, self.budget = rule, table, budget
        self.secret, self.useful, self.mass = table.secret.copy(), table.useful.copy(), table.mass.copy()
        self.costs = [cost.copy() for cost in table.costs]
        self.levels, self.carry = list(table.informations), [0.0, 0.0]
        self.alive = np.ones(table.size, dtype=bool)
        self.scores = np.full((table.size, table.size), -np.inf)
        self.best = np.full(table.size, -np.inf)
        self.partner = np.zeros(table.size, dtype=np.int64)

    def losses(self, i: int, others: Ints) -> tuple[Floats, Floats]:
        """What merging i with each of the others takes from I(S;Y) and from I(X;Y)."""
        rows = (v[others] + v[i] for v in (self.secret, self.useful, self.mass))
        together = self.table.costs_of(*rows)
        first, second = (c[others] + c[i] - t for c, t in zip(self.costs, together, strict=True))
        return first, second

    def rescore(self, i: int, others: Ints) -> Floats:
        """Scores of i with the others; not admissible ones are -inf."""
        d_secret, d_useful = self.losses(i, others)
        scores = self.rule.scores(d_secret, d_useful)
        if not self.rule.first:
            scores[~self.rule.admissible(d_secret, d_useful, self.levels[1])] = -np.inf
        return scores

    def find_best(self, i: int) -> None:
        """Look through row i."""
        row = self.scores[i, i + 1 :]
        if len(row):
            k = int(np.argmax(row))
            self.partner[i], self.best[i] = i + 1 + k, row[k]

    def run(self) -> PairPath:
        """Merge until the rule ends it or time runs out."""
        pairs: list[tuple[int, int]] = []
        levels, n = [tuple(self.levels)], self.table.size
        complete = self._fill()
        while complete and not self.rule.ended(*self.levels):
            if self.budget.remaining <= 0:
                complete = False
                break
            a = int(np.argmax(self.best))
            c = int(self.partner[a])
            if self.best[a] == -np.inf:
                break
            lost = self.losses(a, np.array([c]))
            if not self.rule.admissible(*lost, self.levels[1])[0]:
                if self.rule.first:
                    break
                self._refresh(a)
                continue
            self._lower(float(lost[0][0]), float(lost[1][0]))
            pairs.append((a, c))
            levels.append(tuple(self.levels))
            self._merge(a, c)
            self.budget.progress(0.2 + 0.8 * len(pairs) / n, "merging pairs")
        found = np.array(levels)
        return PairPath(n, np.array(pairs, dtype=np.int64).reshape(-1, 2), found[:, 0], found[:, 1], complete)

    def _fill(self) -> bool:
        n = self.table.size
        for i in range(n - 1):
            if i % 64 == 0:
                if self.budget.remaining <= 0:
                    return False
                self.budget.progress(0.2 * i / n, "scoring pairs")
            self.scores[i, i + 1 :] = self.rescore(i, np.arange(i + 1, n))
            self.find_best(i)
        return True

    def _lower(self, *lost: float) -> None:
        """Take losses from both informations, by Kahan's compensated sums: a floor is met to 1e-12 after thousands."""
        for k, loss in enumerate(lost):
            step = -loss - self.carry[k]
            level = self.levels[k] + step
            self.carry[k] = (level - self.levels[k]) - step
            self.levels[k] = level

    def _refresh(self, i: int) -> None:
        """Drop what is no longer admissible from row i."""
        others = i + 1 + np.flatnonzero(self.scores[i, i + 1 :] > -np.inf)
        self.scores[i, others] = self.rescore(i, others)
        self.find_best(i)

    def _merge(self, a: int, c: int) -> None:
        for values in (self.secret, self.useful, self.mass):
            values[a] += values[c]
        together = self.table.costs_of(self.secret[a], self.useful[a], self.mass[a])
        self.costs[0][a], self.costs[1][a] = together
        self.alive[c] = False
        self.scores[c], self.scores[:, c], self.best[c] = -np.inf, -np.inf, -np.inf
        below, above = np.flatnonzero(self.alive[:a]), a + 1 + np.flatnonzero(self.alive[a + 1 :])
        self.scores[below, a] = self.rescore(a, below)
        self.scores[a, above] = self.rescore(a, above)
        self.find_best(a)
        mine, kept = self.scores[below, a], self.best[below]
        better = (mine > kept) | ((mine == kept) & (a < self.partner[below]))
        stale = np.isin(self.partner[below], (a, c)) & ~(mine > kept)
        self.best[below[better]], self.partner[below[better]] = mine[better], a
        for i in below[stale].tolist():
            self.find_best(i)
        for i in range(a + 1, c):
            if self.alive[i] and self.partner[i] == c:
                self.find_best(i)

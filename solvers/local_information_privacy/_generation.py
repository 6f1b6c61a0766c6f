"""Column generation: posteriors are found as the prices of the observations ask for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.tree import pricing_of
from privopt.solvers.local_information_privacy._edges import Edges
from privopt.solvers.local_information_privacy._heuristic_pricing import costs, descend
from privopt.solvers.local_information_privacy._peeling import peel
from privopt.solvers.local_information_privacy._pivots import Walks, together
from privopt.solvers.local_information_privacy._pricing import Search
from privopt.solvers.local_information_privacy._pricing_lp import BoxLP
from privopt.solvers.local_information_privacy._restricted import Restricted

WORTH = 1e-9
"""A column enters if its reduced cost is below minus this."""

MOST = 60
"""Columns that enter in one round."""

PEELS = 6
FIRST_VERTICES = 10
WANDERS = (0, 3, 10)
"""Random pivots before a walk; longer ones are tried when shorter ones find too little."""


class Generation:
    """The columns found so far, the master programme over them, and three ways to find more.

    Parameters
    ----------
    problem : LocalInformationPrivacy
        With mutual information for its utility, and some row that can be broken.
    budget : Budget

    Attributes
    ----------
    prices : array (n,)
        Duals of the master programme, in nats.
    value : float
        Its value, the entropy left of X given the release.
    """

    def __init__(self, problem: LocalInformationPrivacy, budget: Budget) -> None:
        self.pricing = pricing_of(problem)
        self.law = problem.observation.p_w[problem.observation.support]
        self.lp, self.edges = BoxLP(self.pricing), Edges.of(self.pricing)
        self.rng = np.random.default_rng(budget.seed)
        self.master = Restricted(self.law)
        self.rounds = 0
        self._known: set[bytes] = set()
        self._bases: dict[int, Ints] = {}
        self._corners: list[Ints] = []
        self._begin(budget)
        self.weights, self.prices, self.value = self.master.solve()

    def _begin(self, budget: Budget) -> None:
        """The law of the observations, which may be released as it is, and posteriors of low entropy around it."""
        self._enter(self.law[None], [None], [0])
        for _ in range(PEELS):
            found = peel(self.lp, self.law, self.rng, budget)
            self._enter(np.array(found), [None] * len(found), list(range(len(found))))
        for _ in range(FIRST_VERTICES):
            self.lp.solve(self.rng.normal(size=len(self.law)))
            if (basis := self.lp.basis()) is not None:
                self._corners.append(basis)

    def walk(self, budget: Budget) -> bool:
        """One round of walks along edges and of the master programme; whether any column came in."""
        if not self._corners and not self._bases:
            return False
        added = 0
        for wander in WANDERS:
            walks = Walks.of(self.edges, np.array(self._starts(fresh=wander == WANDERS[-1])))
            walks.wander(self.rng, wander)
            added += self._take(
                [basis for _, basis in sorted(walks.descend(self.prices, budget), key=_first)]
            )
            if added >= MOST // 3:
                break
        return self._solved(added)

    def look(self, search: Search) -> bool:
        """Take the columns that a search came across, each let down to a vertex; whether any came in."""
        bases, loose = [], []
        for reduced, point in sorted(search.columns, key=_first)[:MOST]:
            found = descend(self.lp, self.prices, point)
            basis = None if found is None or found[0] > reduced else self.lp.basis()
            if basis is None:
                loose.append(point)
            else:
                bases.append(basis)
        added = self._take(bases)
        if loose:
            inside = self.edges.inside(np.array(loose), self.law)
            added += self._add(inside, [None] * len(inside))
        return self._solved(added)

    def search(self, tolerance: float) -> Search:
        """Exact pricing at the present prices, to be run."""
        return Search(self.lp, self.prices, tolerance)

    def _starts(self, *, fresh: bool) -> list[Ints]:
        """Bases to walk from: those of the posteriors in use, then random ones."""
        every = list(self._bases.values()) or self._corners
        count = together(self.edges)
        order = [] if fresh else np.argsort(-self.weights).tolist()[:count]
        used = [self._bases[i] for i in order if i in self._bases]
        return (used + [every[i] for i in self.rng.integers(len(every), size=count).tolist()])[:count]

    def _take(self, bases: list[Ints]) -> int:
        """Add the vertices of bases, the first ones first."""
        if not bases:
            return 0
        chosen = np.unique(np.sort(np.array(bases[: 4 * MOST]), axis=1), axis=0)
        points, good = self.edges.points(chosen)
        points, chosen = points[good], chosen[good]
        order = np.argsort(costs(self.pricing, points) - points @ self.prices)
        return self._add(points[order], list(chosen[order]))

    def _add(self, points: Floats, bases: list[Ints | None]) -> int:
        """Add the first MOST of the posteriors that are cheaper than their price."""
        reduced = costs(self.pricing, points) - points @ self.prices
        return self._enter(points, bases, np.flatnonzero(reduced < -WORTH).tolist())

    def _enter(self, points: Floats, bases: list[Ints | None], which: list[int]) -> int:
        """Add the first MOST of these posteriors that are new; how many came in."""
        chosen: list[int] = []
        for i in which:
            key = points[i].round(12).tobytes()
            if key not in self._known and len(chosen) < MOST:
                self._known.add(key)
                chosen.append(i)
        for place, i in enumerate(chosen, start=len(self.master.costs)):
            if (basis := bases[i]) is not None:
                self._bases[place] = basis
        if chosen:
            self.master.add(points[chosen], costs(self.pricing, points[chosen]))
        return len(chosen)

    def _solved(self, added: int) -> bool:
        self.rounds += 1
        if added:
            self.weights, self.prices, self.value = self.master.solve()
        return added > 0


def _first(pair: tuple[float, NDArray[np.float64] | Ints]) -> float:
    return pair[0]

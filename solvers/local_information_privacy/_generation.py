"""Column generation: posteriors are found as the prices of the observations ask for them.

Walks along the edges of the polytope of posteriors, many at a time, to vertices of low reduced cost.

At a vertex the tangent of the entropy is infinitely steep towards entries that are 0, so descent along
tangents stops at almost every vertex. Here each neighbour's own reduced cost is computed: one pivot of
the simplex tableau leads to each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.tree import phi, pricing_of
from privopt.solvers.local_information_privacy._edges import Edges
from privopt.solvers.local_information_privacy._heuristic_pricing import costs, descend, slopes
from privopt.solvers.local_information_privacy._pricing import Search
from privopt.solvers.local_information_privacy._pricing_lp import BoxLP

PIVOT = 1e-7
"""Entries of a tableau below this are no pivots."""

CELLS = 100_000
"""Most entries of the tableaus that are walked together."""

STEPS = 60
"""Most pivots of one walk."""


def together(edges: Edges) -> int:
    """Number of walks to make at a time."""
    m, columns = edges.rows.shape
    return int(np.clip(CELLS // (m * max(1, columns - m)), 2, 64))


@dataclass
class Walks:
    """Bases (k, m) and the columns outside them (k, j), their tableaus (k, m, j) and basic values (k, m)."""

    edges: Edges
    bases: Ints
    outside: Ints
    tableau: Floats
    values: Floats

    @classmethod
    def of(cls, edges: Edges, bases: Ints) -> Walks:
        """Walks that start at the vertices of these bases, shape (k, m)."""
        outside = edges.outside(bases)
        return cls(edges, bases.copy(), outside, edges.tableaus(bases, outside), edges.values(bases))

    def wander(self, rng: np.random.Generator, steps: int) -> None:
        """Random pivots from every vertex."""
        for _ in range(steps):
            theta, leave = self._ratios()
            chance = rng.random(theta.shape) * np.isfinite(theta)
            enter = chance.argmax(axis=1)
            able = np.flatnonzero(chance.max(axis=1) > 0)
            self._pivot(able, enter[able], leave[able, enter[able]])

    def descend(self, prices: Floats, budget: Budget, stop: float = 1e-10) -> list[tuple[float, Ints]]:
        """Best neighbour after best neighbour; the bases on the way with reduced cost below ``-stop``."""
        found: list[tuple[float, Ints]] = []
        extended = np.concatenate([prices, np.zeros(self.edges.rows.shape[1] - len(prices))])
        present = self._costs(self.values[:, :, None], None, extended)[:, 0]
        for _ in range(STEPS):
            if budget.remaining == 0:
                break
            theta, leave = self._ratios()
            costs = self._neighbours(extended, theta)
            enter = costs.argmin(axis=1)
            least = costs[np.arange(len(enter)), enter]
            better = np.flatnonzero(least < present - stop)
            if not len(better):
                break
            self._pivot(better, enter[better], leave[better, enter[better]])
            self._keep(better)
            present = least[better]
            found += [(float(c), b.copy()) for c, b in zip(present, self.bases, strict=True) if c < -stop]
        return found

    def _keep(self, which: Ints) -> None:
        if len(which) < len(self.bases):
            self.bases, self.outside = self.bases[which], self.outside[which]
            self.tableau, self.values = self.tableau[which], self.values[which]

    def _ratios(self) -> tuple[Floats, Ints]:
        """Length of the step and the row that leaves, for each column outside."""
        usable = self.tableau > PIVOT
        divisor = np.where(usable, self.tableau, 1.0)
        ratios = np.where(usable, np.maximum(self.values, 0.0)[:, :, None] / divisor, np.inf)
        leave = ratios.argmin(axis=1)
        return np.take_along_axis(ratios, leave[:, None, :], axis=1)[:, 0, :], leave

    def _costs(self, values: Floats, entered: Floats | None, prices: Floats) -> Floats:
        """Reduced costs at basic values (k, m, j) with values ``entered`` (k, j) of the columns outside."""
        linear = np.einsum("km,kmj->kj", prices[self.bases], values)
        if entered is not None:
            linear += prices[self.outside] * entered
        seen = self.edges.seen
        if seen is None:
            n = self.edges.pricing.size
            curve = phi(np.where((self.bases < n)[:, :, None], values, 0.0).clip(0.0, 1.0)).sum(axis=1)
            if entered is not None:
                curve += phi(np.where(self.outside < n, entered, 0.0).clip(0.0, 1.0))
            return np.asarray(curve - linear)
        total = np.einsum("ckm,kmj->kcj", seen[:, self.bases], values)
        if entered is not None:
            total += entered[:, None, :] * seen[:, self.outside].transpose(1, 0, 2)
        return np.asarray(phi(total.clip(0.0, 1.0)).sum(axis=1) - linear)

    def _neighbours(self, prices: Floats, theta: Floats) -> Floats:
        """Reduced cost of each neighbour, inf for none."""
        able = np.isfinite(theta)
        step = np.where(able, theta, 0.0)
        values = self.values[:, :, None] - step[:, None, :] * self.tableau
        return np.where(able, self._costs(values, step, prices), np.inf)

    def _pivot(self, which: Ints, enter: Ints, leave: Ints) -> None:
        """Exchange a column outside and a basic one in each of some tableaus."""
        every = np.arange(len(which))
        table, values = self.tableau[which], self.values[which]
        pivot = table[every, leave, enter]
        row = table[every, leave] / pivot[:, None]
        value = values[every, leave] / pivot
        column = table[every, :, enter]
        column[every, leave] = 0.0
        table -= column[:, :, None] * row[:, None, :]
        values -= column * value[:, None]
        table[every, :, enter] = -column / pivot[:, None]
        row[every, enter] = 1.0 / pivot
        table[every, leave], values[every, leave] = row, value
        self.tableau[which], self.values[which] = table, values
        entering = self.outside[which, enter]
        self.outside[which, enter] = self.bases[which, leave]
        self.bases[which, leave] = entering


TINY = 1e-9
"""Entries, slacks and steps below this count as 0."""


def peel(lp: BoxLP, start: Floats, rng: np.random.Generator, budget: Budget) -> list[Floats]:
    """Vertices whose hull holds ``start``: one at a time, each leaving what is left on a smaller face.

    From the rest r go away from a vertex v of the least face around r, as far as the polytope allows:
    the end point is the new rest, and r lies between v and it.

    Parameters
    ----------
    lp : BoxLP
    start : array (n,)
        An allowed posterior.
    rng : numpy.random.Generator
        Chooses among the vertices of low entropy.
    budget : Budget
        Out of time, what is left stands as the last column.
    """
    rows = lp.pricing.rows
    rest, found = start.copy(), []
    for _ in range(len(start) + len(rows)):
        vertex = _vertex(lp, rest, rng)
        if vertex is None or budget.remaining == 0:
            break
        found.append(vertex)
        away = rest - vertex
        if np.abs(away).max() <= TINY:
            return found
        rest = _end(rows, rest, away)
    found.append(rest)
    return found


def _vertex(lp: BoxLP, rest: Floats, rng: np.random.Generator) -> Floats | None:
    """A vertex of the least face that holds the rest."""
    random = rng.exponential(size=len(rest)) * (rest > TINY)
    cost = slopes(lp.pricing, random / random.sum())
    tight = lp.pricing.rows @ rest >= -TINY * np.abs(lp.pricing.rows).max(axis=1, initial=0.0)
    return lp.face(cost, rest > TINY, tight)


def _end(rows: Floats, rest: Floats, away: Floats) -> Floats:
    """The last allowed point on the ray from the rest."""
    steps = [np.inf]
    falling = away < -1e-15
    steps.append(float((rest[falling] / -away[falling]).min(initial=np.inf)))
    rise = rows @ away
    rising = rise > 1e-15
    steps.append(float((np.maximum(-(rows @ rest)[rising], 0.0) / rise[rising]).min(initial=np.inf)))
    end = np.maximum(rest + min(steps) * away, 0.0)
    return np.asarray(end / end.sum())


class Restricted:
    """min costs . w over sum_i w_i v_i = p, w >= 0, with columns that are added as they are found.

    Parameters
    ----------
    p : array (n,)
    """

    def __init__(self, p: Floats) -> None:
        import highspy

        self.p = p
        self.columns, self.costs = np.zeros((0, len(p))), np.zeros(0)
        engine: Any = highspy.Highs
        self._highs = engine()
        for name, value in (("output_flag", False), ("presolve", "off"), ("threads", 1)):
            self._highs.setOptionValue(name, value)
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(name, 1e-10)
        self._highs.setOptionValue("simplex_strategy", 4)  # primal: the last basis stays feasible
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = 0, len(p)
        lp.row_lower_ = lp.row_upper_ = p
        self._highs.passModel(lp)

    def add(self, columns: Floats, costs: Floats) -> None:
        """More posteriors, a row each, with their costs."""
        used = columns > 0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))[:-1]]).astype(np.int32)
        index = np.nonzero(used)[1].astype(np.int32)
        m = len(columns)
        self._highs.addCols(
            m, costs, np.zeros(m), np.full(m, np.inf), len(index), starts, index, columns[used]
        )
        self.columns = np.concatenate([self.columns, columns])
        self.costs = np.concatenate([self.costs, costs])

    def solve(self) -> tuple[Floats, Floats, float]:
        """Weights, prices and value of an optimal basis.

        Raises
        ------
        ArithmeticError
            If HiGHS finds no optimum.
        """
        import highspy

        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._highs.clearSolver()
            self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError(
                f"the master programme ended as {self._highs.modelStatusToString(status)!r}"
            )
        found = self._highs.getSolution()
        weights, prices = np.array(found.col_value), np.array(found.row_dual)
        return weights, prices, float(self.costs @ weights)


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

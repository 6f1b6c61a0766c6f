"""Column generation: posteriors come in as the prices of the observations ask for them, until proved or out of time."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.measures.shannon import entropy
from privopt.mechanisms import Channel, Merging
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common.mixing import Restricted
from privopt.solvers.local_information_privacy.answer import ANALYTIC, NEGLIGIBLE
from privopt.solvers.local_information_privacy.columns.pricing import FINEST, LARGEST, Search, written
from privopt.solvers.local_information_privacy.columns.program import (
    BoxLP,
    Pricing,
    descend,
    entropies,
    pricing_of,
    slopes,
)
from privopt.solvers.local_information_privacy.columns.walks import Edges, Walks, together

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
    rest, vertices = start.copy(), []
    for _ in range(len(start) + len(rows)):
        vertex = _vertex(lp, rest, rng)
        if vertex is None or budget.remaining == 0:
            break
        vertices.append(vertex)
        away = rest - vertex
        if np.abs(away).max() <= TINY:
            return vertices
        rest = _end(rows, rest, away)
    vertices.append(rest)
    return vertices


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


def alone(rows: Floats, p: Floats) -> Floats:
    """For each observation the last allowed posterior on the way from the distribution of the observations to it alone, a row each.

    Examples
    --------
    >>> alone(np.array([[1.0, -2.0]]), np.array([0.5, 0.5])).round(3).tolist()
    [[0.667, 0.333], [0.0, 1.0]]
    """
    room = np.maximum(-(rows @ p), 0.0)[:, None]
    rise = rows + room
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(rise > 1e-15, room / rise, np.inf).min(axis=0, initial=1.0)
    return np.asarray(p + steps[:, None] * (np.eye(len(p)) - p))


WORTH = 1e-9
"""A column enters if its reduced cost is below minus this."""

ALONE = 200
"""Observations up to which there is one at first that stands out alone, for each of them."""

MOST = 60
"""Columns that enter in one round."""

LOOKED = 400
"""Columns that a search came across from which descents start, at most: many of them end at the same vertex."""

PEELS = 6

STALL = 1e-9
"""A round that lowers the value by less, relatively, although columns came in, shows that the program is degenerate."""

STALLS = 12
"""Such rounds in a row after which exact pricing begins: where lifts hardly differ, nothing gains more."""

EXTREME = 0.15
"""Share of the program's own prices in the prices of the next round then."""

MIXTURES = 2
"""Mixtures that are peeled then."""

PEELING = 0.2
"""Share of the time that they may take."""

FIRST = 0.7
"""Share of the time in which the first must end, without which nothing is known but the whole."""

MARGIN = 1e-11
"""Share of its room that a row leaves to rounding, so that a mixture of vertices needs no repair."""


OVER = 0.25
"""Seconds beyond its time in which the first MOST columns of a search are still let down."""


def narrowed(pricing: Pricing, p: Floats) -> Pricing:
    """The polytope with a little less room in every row; ``p`` stays allowed."""
    room = np.maximum(-(pricing.rows @ p), 0.0)
    return Pricing(pricing.rows + MARGIN * room[:, None], pricing.matrix)


FIRST_VERTICES = 10

WANDERS = (0, 3, 10)
"""Random pivots before a walk; longer ones are tried when shorter ones find too little."""


class Generation:
    """The columns so far, the master program over them, and three ways to find more.

    Parameters
    ----------
    problem : LocalInformationPrivacy
        With mutual information for its utility, and some row that can be broken.
    budget : Budget

    Attributes
    ----------
    prices : array (n,)
        Duals of the master program, in nats.
    value : float
        Its value, the entropy left of X after the release.
    """

    def __init__(self, problem: LocalInformationPrivacy, budget: Budget) -> None:
        self.pricing = pricing_of(problem)
        self.p = problem.observation.p_w[problem.observation.support]
        self.lp, self.edges = BoxLP(self.pricing), Edges.of(narrowed(self.pricing, self.p))
        self.rng = np.random.default_rng(budget.seed)
        self.master = Restricted(self.p)
        self.rounds = 0
        self._known: set[bytes] = set()
        self._bases: dict[int, Ints] = {}
        self._corners: list[Ints] = []
        self._begin(budget)
        self._seed(problem, budget.incumbent)
        self.weights, self.prices, self.value = self.master.solve()
        self._aim, self._stalls = self.prices, 0

    def _begin(self, budget: Budget) -> None:
        """The distribution of the observations, which may be released as it is, and posteriors of low entropy around it."""
        self._enter(self.p[None], [None], [0])
        if len(self.p) <= ALONE:
            self._enter_whole(self.edges.inside(alone(self.pricing.rows, self.p), self.p))
        begun, left = time.monotonic(), budget.remaining
        for share in (
            FIRST,
            *(PEELING,) * (PEELS - 1),
        ):  # of the first one the rest is the answer until walks help
            some = replace(budget, deadline=begun + share * left)
            if some.remaining == 0:
                break
            peeled = self.edges.inside(np.array(peel(self.lp, self.p, self.rng, some)), self.p)
            self._enter_whole(peeled)
        for _ in range(FIRST_VERTICES):
            if budget.remaining == 0:
                break
            self.lp.solve(self.rng.normal(size=len(self.p)))
            if (basis := self.lp.basis()) is not None:
                self._corners.append(basis)

    def _seed(self, problem: LocalInformationPrivacy, incumbent: object) -> None:
        """The posteriors of the best answer so far."""
        if not isinstance(incumbent, (Channel, Merging)):
            return
        support = problem.observation.support
        joint = problem.observation.p_w[support, None] * incumbent.matrix[support]
        mass = joint.sum(axis=0)
        points = (joint[:, mass > NEGLIGIBLE] / mass[mass > NEGLIGIBLE]).T
        self._enter_whole(self.edges.inside(points, self.p, 1.0))

    def walk(self, budget: Budget) -> bool:
        """One round of walks along edges and of the master program; whether any column came in."""
        if not self._corners and not self._bases:
            return False
        self._aim = self._mild() if self._stalls else self.prices
        added = self._mix(budget) if self._stalls else 0
        for wander in WANDERS:
            walks = Walks.of(self.edges, np.array(self._starts(fresh=wander == WANDERS[-1])))
            walks.wander(self.rng, wander)
            added += self._take([basis for _, basis in sorted(walks.descend(self._aim, budget), key=_first)])
            if added >= MOST // 3:
                break
        return self._solved(added) and self._stalls < STALLS

    def look(self, search: Search, budget: Budget) -> bool:
        """Take the columns that a search came across, each let down to a vertex while there is time; whether any came in."""
        self._aim = self.prices
        bases, loose, over = [], [], time.monotonic() + budget.remaining + OVER
        for i, (reduced, point) in enumerate(sorted(search.columns, key=_first)[:LOOKED]):
            if budget.remaining == 0 and (i >= MOST or time.monotonic() > over):
                break
            lower = descend(self.lp, self.prices, point)
            basis = None if lower is None or lower[0] > reduced else self.lp.basis()
            if basis is None:
                loose.append(point)
            else:
                bases.append(basis)
        added = self._take(bases)
        if loose:
            inside = self.edges.inside(np.array(loose), self.p)
            added += self._add(inside, [None] * len(inside))
        return self._solved(added)

    def search(self, tolerance: float, before: Search | None = None) -> Search:
        """Exact pricing at the present prices, to be run; it may begin from the tree of a search at others."""
        return Search(self.lp, self.prices, tolerance, None if before is None else before.root)

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
        order = np.argsort(entropies(self.pricing, points) - points @ self._aim)
        return self._add(points[order], list(chosen[order]))

    def _add(self, points: Floats, bases: list[Ints | None]) -> int:
        """Add the first MOST of the posteriors that are cheaper than their price."""
        reduced = entropies(self.pricing, points) - points @ self._aim
        return self._enter(points, bases, np.flatnonzero(reduced < -WORTH).tolist())

    def _enter(self, points: Floats, bases: list[Ints | None], which: list[int], most: int = MOST) -> int:
        """Add the first ``most`` of these posteriors that are new; how many came in."""
        chosen: list[int] = []
        for i in which:
            key = points[i].round(12).tobytes()
            if key not in self._known and len(chosen) < most:
                self._known.add(key)
                chosen.append(i)
        for place, i in enumerate(chosen, start=len(self.master.costs)):
            if (basis := bases[i]) is not None:
                self._bases[place] = basis
        if chosen:
            self.master.add(points[chosen], entropies(self.pricing, points[chosen]))
        return len(chosen)

    def _enter_whole(self, points: Floats) -> int:
        """Add all of these posteriors that are new: without some of them the rest need not average to anything."""
        return self._enter(points, [None] * len(points), list(range(len(points))), most=len(points))

    def _solved(self, added: int) -> bool:
        self.rounds += 1
        if added:
            before = self.value
            self.weights, self.prices, self.value = self.master.solve()
            gained = self.value <= before - STALL * max(1.0, abs(before))
            self._stalls = 0 if gained else self._stalls + 1
        else:
            self._stalls = 0
        return added > 0

    def _mild(self) -> Floats:
        """Prices between those of the program, extreme where it is degenerate, and what each observation pays now.

        An observation w pays - sum_y P(y | w) ln P(w | y), which adds up to the same value.
        """
        if self.pricing.matrix is not None:
            return self.prices
        used = self.weights > 0
        posteriors = self.master.columns[used]
        shares = self.weights[used, None] * posteriors
        paid = (shares * -np.log(np.maximum(posteriors, 1e-300))).sum(axis=0)
        paid /= np.maximum(shares.sum(axis=0), 1e-300)
        return np.asarray(EXTREME * self.prices + (1 - EXTREME) * paid)

    def _mix(self, budget: Budget) -> int:
        """Mix a few of the releases in use and peel the mixture: what comes in can take their place at once."""
        used, added = np.flatnonzero(self.weights > NEGLIGIBLE), 0
        for _ in range(MIXTURES):
            if budget.remaining == 0 or len(used) < 2:
                break
            size = min(len(used), int(self.rng.integers(2, 6)))
            chosen = self.rng.choice(used, size, replace=False)
            mixture = self.weights[chosen] @ self.master.columns[chosen]
            peeled = np.array(peel(self.lp, mixture / mixture.sum(), self.rng, budget))
            added += self._enter_whole(self.edges.inside(peeled, self.p))
        return added


def _first(pair: tuple[float, NDArray[np.float64] | Ints]) -> float:
    return pair[0]


ENOUGH = 20
"""Exact pricing pauses for the master program once a posterior is cheaper than its price by so many tolerances."""

SLICE = 400
"""Boxes of exact pricing between walks at first; twice as many every time."""

PATIENCE = 4
"""Rounds of walks in a row that find nothing before exact pricing begins."""


LOOKING = 0.05
"""Share of the time left that descents from the columns of a search may take, beyond the first ones."""

AGAIN = 5
"""Rounds of walks between exact searches after the turn, at most."""

WORTHWHILE = 0.1
"""A search begins anew at better prices if they gain this share of what its bound leaves open."""


class Anytime:
    """A run of column generation that turns to the proof, and ends, when shares of the time are spent.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    budget : Budget
    tolerance : float
        What the proof may leave open, as a share of the utility, or of 1 nat if that is less.
    turn, end : float
        Shares of the time that is left.

    Attributes
    ----------
    best : Search or None
        The search whose bound is best.
    """

    def __init__(
        self, problem: LocalInformationPrivacy, budget: Budget, tolerance: float, turn: float, end: float
    ) -> None:
        now, left = time.monotonic(), budget.remaining
        self.turn, self.end = now + turn * left, now + end * left
        self.budget, self.share = budget, tolerance
        self.columns = Generation(problem, replace(budget, deadline=self.turn))
        p, matrix = self.columns.p, self.columns.pricing.matrix
        self.whole = float(entropy(p if matrix is None else matrix @ p, normalise=True))
        self.best: Search | None = None
        self.boxes = self.searches = 0

    @property
    def tolerance(self) -> float:
        """Nats that the proof may leave open: a share of the utility reached, or of 1 if that is less."""
        return max(FINEST, self.share * min(1.0, self.whole - self.columns.value))

    def finish(self) -> str:
        """Run to the end, and say why it stopped."""
        search: Search | None = None
        while True:
            self._walk()
            search = self.columns.search(self.tolerance, search)
            self.searches += 1
            if self._overtaken(search):
                continue
            if search.done and search.least >= -self.tolerance:
                return "no other posterior would help"
            stale = not np.array_equal(search.prices, self.columns.prices)
            helped = self._look(search)
            if (helped or stale) and time.monotonic() < self.turn:
                continue
            if not search.done:
                self._priced(search, -np.inf, np.inf)
                helped = self._look(search)
            if time.monotonic() >= self.end:
                return "out of time"
            if not search.done:
                return "the proof is as long as may be stored"
            if not helped:
                return "rounding hides what else would help"
            self._walk_on()

    def _walk(self) -> None:
        """Walk until several rounds have brought nothing."""
        budget, fruitless = replace(self.budget, deadline=self.turn), 0
        while budget.remaining > 0 and fruitless < PATIENCE:
            fruitless = 0 if self.columns.walk(budget) else fruitless + 1
            self.budget.report(self.whole - self.columns.value, fraction=0.5)

    def _look(self, search: Search) -> bool:
        """Take the columns of a search, for a share of the time; whether any came in."""
        now = time.monotonic()
        return self.columns.look(
            search, replace(self.budget, deadline=now + LOOKING * max(0.0, self.end - now))
        )

    def _walk_on(self) -> None:
        """A few rounds of walks after the turn, from what an exact search came across."""
        budget = replace(self.budget, deadline=self.end)
        for _ in range(AGAIN):
            if budget.remaining == 0 or not self.columns.walk(budget):
                break

    def _overtaken(self, search: Search) -> bool:
        """Run a search, with walks in between; whether one of them made it pointless."""
        boxes, enough = SLICE, -ENOUGH * self.tolerance
        while True:
            self._priced(search, enough, boxes)
            late = time.monotonic() >= self.turn
            if search.done or search.least <= enough or late or search.size >= LARGEST:
                return False
            boxes *= 2
            before = self.columns.value
            self.columns.walk(replace(self.budget, deadline=self.turn))
            if self.columns.value < before - max(self.tolerance, -WORTHWHILE * search.bound):
                return True

    def _priced(self, search: Search, enough: float, boxes: float) -> None:
        """Go on with a search; until the turn, it pauses for the master program."""
        before = search.nodes
        if time.monotonic() >= self.turn:
            enough, boxes = -np.inf, np.inf
        search.run(replace(self.budget, deadline=self.end), enough, boxes)
        self.boxes += search.nodes - before
        if self.best is None or self.value(search) > self.value(self.best):
            self.best = search
            self.budget.report(bound=self.whole - self.value(search), fraction=0.7)

    def value(self, search: Search) -> float:
        """The lower bound on the entropy that is left, proved by a search."""
        return float(self.columns.p @ search.prices) + search.bound

    def proved(self, problem: LocalInformationPrivacy) -> tuple[float, object]:
        """The best bound of a search, or the analytic one if that is less, with its dual."""
        fallback = analytic_bound(problem), ANALYTIC
        if self.best is None or problem.delta > 0:
            return fallback
        bound, dual = written(problem, self.best)
        return (bound, dual) if bound < fallback[0] else fallback

    def stats(self, stop: str) -> dict[str, float | int | str]:
        """What was done."""
        return {
            "iterations": self.columns.rounds,
            "vertices": len(self.columns.master.costs),
            "searches": self.searches,
            "boxes": self.boxes,
            "programs": self.columns.lp.solved,
            "stop": stop,
        }

"""Posteriors of low cost that keep the bounds at every joint of a set whose rows vary in intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import silent_highs
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.layers import Layers
from privopt.solvers.local_information_privacy.columns.program import phi
from privopt.solvers.local_information_privacy.cuts.mixtures import Bound, Mixtures

FLOOR = 1e-4
"""Entries below this count as this in the slope -ln t."""

STEPS = 12
"""Most programs for one start."""

PEAKS = 10
"""Starts of a round that are high at a few symbols and level elsewhere."""

MOST = 3
"""Symbols at which such a start is high, at most."""

GROWTH = 1.5
"""Of the time of such a program with its rows and columns."""

OFTEN = 50
"""Starts of a round over peaks alone, whose programs are small."""

NEAR = 3
"""Starts of a round beside a posterior met before, and as many half way between two."""

FURTHER = 2
"""Posteriors of a round, the best ones, from which descents go on over all that is allowed."""

SPREAD = (0.3, 1.7)
"""Factors of the entries of a start beside a posterior."""

KEPT = 1.0 - 1e-6
"""Posteriors of which so much keeps the bounds at every prior ask for no further ones."""

PRIORS = 300
"""Bounds at further priors, at most."""

STALL = 1e-4
"""A round counts as fruitless if it gains less, relatively."""

PATIENCE = 25
"""Fruitless rounds in a row after which the search ends."""


class Posteriors(ABC):
    """Posteriors that keep the bounds, over which linear functions are minimised."""

    p: Floats

    @abstractmethod
    def least(self, cost: Floats) -> Floats | None:
        """The posterior that costs least; None where the program fails."""

    def descend(self, prices: Floats, start: Floats, budget: Budget) -> list[Floats]:
        """The vertices on the way down from a start: the entropy is concave, so each tangent leads no higher."""
        best, point, path = np.inf, start, list[Floats]()
        for _ in range(STEPS):
            vertex = self.least(-np.log(np.maximum(point, FLOOR)) - prices) if budget.remaining > 0 else None
            if vertex is None:
                break
            reduced = float(phi(vertex).sum() - prices @ vertex)
            if reduced >= best - 1e-9:
                break
            best, point = reduced, vertex
            path.append(vertex)
        return path


class Allowed(Posteriors):
    """Posteriors whose columns keep the bounds on ratios at all rows of the set, at one prior each.

    hi is the least of L.m + r a + W . (m - a)_+ over numbers a, and lo the largest of L.m + r b - W . (b - m)_+
    (linear programming duality), so that a and b and the positive parts are further variables.
    """

    def __init__(self, layers: Layers) -> None:
        self.p, self.layers = layers.p.mid, layers
        self._highs = silent_highs({})
        self._highs.passModel(_model(layers))
        self._places = np.arange(len(self.p), dtype=np.int32)

    def least(self, cost: Floats) -> Floats | None:
        """The posterior that costs least; None where the program fails."""
        n = len(self.p)
        self._highs.changeColsCost(n, self._places, cost * self.p)
        values = _solution(self._highs)
        return None if values is None else _posterior(values[:n], self.p)


class Level(Posteriors):
    """Those among the allowed ones with a and b the same number for all values of the secret: a small program.

    The best posteriors have nearly one level for most symbols, a few peaks and a few zeros. m = c + rise - fall. Without falls there is
    a row for each bound and no more: what is likely at few symbols only is found so, where these are all that a release may be about.
    """

    def __init__(self, layers: Layers, *, falls: bool = True) -> None:
        self.p, self.layers, self.falls = layers.p.mid, layers, falls
        self._highs = silent_highs({})
        self._highs.passModel(_level_model(layers, falls=falls))
        self._asked = set[tuple[float, ...]]()
        self._places = np.arange(1 + (2 if falls else 1) * len(self.p), dtype=np.int32)

    def least(self, cost: Floats) -> Floats | None:
        """The posterior that costs least; None where the program fails."""
        paid, n = cost * self.p, len(self.p)
        costs = np.concatenate([[paid.sum()], paid, -paid])[: len(self._places)]
        self._highs.changeColsCost(len(costs), self._places, costs)
        values = _solution(self._highs)
        if values is None:
            return None
        fallen = values[1 + n :] if self.falls else 0.0
        return _posterior(values[0] + values[1 : 1 + n] - fallen, self.p)

    @property
    def work(self) -> float:
        """About how long one program takes, in no unit."""
        return float((len(self._places) + self._highs.getNumRow()) ** GROWTH)

    def ask(self, bound: Bound) -> None:
        """Ask for a bound on a ratio at another prior, too."""
        if len(self._asked) >= PRIORS or bound.key in self._asked:
            return
        self._asked.add(bound.key)
        row = _level_rows(self.layers, bound.above[None], bound.below[None])[0, : len(self._places)]
        self._highs.addRow(-np.inf, 0.0, len(row), self._places, row)


def _solution(highs: Any) -> Floats | None:
    import highspy

    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        highs.clearSolver()
        return None
    return np.array(highs.getSolution().col_value)


def _posterior(m: Floats, p: Floats) -> Floats:
    mass = np.maximum(m, 0.0) * p
    return np.asarray(mass / mass.sum())


class Descents:
    """Rounds of descents at the prices of the best mixture so far, which what they meet then improves.

    Parameters
    ----------
    allowed : Allowed
    mixtures : Mixtures
        Take the posteriors.
    seed : int
    """

    def __init__(self, allowed: Allowed, mixtures: Mixtures, seed: int) -> None:
        self.allowed, self.mixtures = allowed, mixtures
        self._forms = [Level(allowed.layers, falls=False), Level(allowed.layers)]
        self._rng = np.random.default_rng(seed)

    def run(self, until: Budget) -> None:
        """Go on until time is spent or rounds no longer gain: over peaks alone or over all levels, whichever last gained more for its work.

        Work is counted, not timed: a seed has the same rounds wherever they end by themselves.
        """
        forms, gains, fruitless = self._forms, [np.inf, np.inf], 0
        while until.remaining > 0 and fruitless < PATIENCE:
            which = int(gains[1] > gains[0]) if gains[0] != gains[1] else fruitless % 2
            before = self.mixtures.value
            programs = self._round(forms[which], until)
            gained = before - self.mixtures.value
            gains[which] = gained / (max(1, programs) * forms[which].work)
            fruitless = 0 if gained > STALL * before else fruitless + 1

    def _round(self, form: Level, until: Budget) -> int:
        """How many programs led to something."""
        prices, starts = self.mixtures.prices, self._starts() if form.falls else self._peaked()
        points = [v for start in starts for v in form.descend(prices, start, until)]
        if points:
            self._ask(form, np.array(points))
            points += self._further(np.array(points), prices, until) if form.falls else []
            self.mixtures.mix(np.array(points))
        return len(points)

    def _ask(self, form: Level, points: Floats) -> None:
        """Ask for the bounds that posteriors break at the worst prior of the set."""
        broken = points[self.mixtures.shares(points) < KEPT]
        for bound in self.mixtures.broken(broken):
            form.ask(bound)

    def _further(self, points: Floats, prices: Floats, until: Budget) -> list[Floats]:
        """On from the best of these among all that are allowed."""
        reduced = phi(points).sum(axis=1) - points @ prices
        best = points[np.argsort(reduced, kind="stable")[:FURTHER]]
        return [v for point in best for v in self.allowed.descend(prices, point, until)]

    def _peaked(self) -> list[Floats]:
        """Few symbols, at random or as they are likely, or what two posteriors met before have together."""
        rng, p, pool = self._rng, self.allowed.p, self.mixtures.pool
        starts, most = [], min(len(p), MOST)
        for _ in range(OFTEN):
            start, count = np.zeros(len(p)), int(rng.integers(most + 1))
            if count == 0:
                one, two = rng.integers(len(pool), size=2).tolist()
                start = pool[one] + rng.random() * pool[two]
            else:
                likely = None if rng.random() < 0.5 else p
                start[rng.choice(len(p), count, replace=False, p=likely)] = rng.random(count)
            starts.append(start / start.sum())
        return starts

    def _starts(self) -> list[Floats]:
        rng, p, pool = self._rng, self.allowed.p, self.mixtures.pool
        starts = []
        for _ in range(PEAKS):
            chosen = rng.choice(len(p), min(len(p), int(rng.integers(1, MOST + 1))), replace=False)
            start = 0.5 * p
            start[chosen] += rng.random(len(chosen))
            starts.append(start)
        for one, two in rng.integers(len(pool), size=(NEAR, 2)).tolist():
            starts += [pool[one] * rng.uniform(*SPREAD, len(p)), pool[one] + pool[two]]
        return [start / start.sum() for start in starts]


def _model(layers: Layers) -> Any:
    """Variables m (n,), a and b (k,), the positive parts of m - a and of b - m (k n,) each."""
    import highspy

    least, width = layers.least.mid, layers.width.mid
    above, below, (k, n) = layers.above.mid, layers.below.mid, least.shape
    left = 1.0 - least.sum(axis=1)
    bounds = np.concatenate(
        [
            (above - below) @ least,
            above * left,
            -below * left,
            (above[:, :, None] * width).reshape(len(above), -1),
            (below[:, :, None] * width).reshape(len(above), -1),
        ],
        axis=1,
    )
    columns, rows = bounds.shape[1], len(bounds)
    s, w = (part.ravel() for part in np.meshgrid(np.arange(k), np.arange(n), indexing="ij"))
    part = n + 2 * k + s * n + w
    rises = np.column_stack([w, n + s, part]), np.array([-1.0, 1.0, 1.0])
    falls = np.column_stack([w, n + k + s, part + k * n]), np.array([1.0, -1.0, 1.0])
    places = [np.arange(n), *[np.flatnonzero(row) for row in bounds]]
    values = [layers.p.mid, *[row[row != 0] for row in bounds]]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, 1 + rows + 2 * k * n
    lp.col_cost_, lp.col_lower_ = np.zeros(columns), np.zeros(columns)
    lp.col_upper_ = np.full(columns, np.inf)
    lp.row_lower_ = np.concatenate([[1.0], np.full(rows, -np.inf), np.zeros(2 * k * n)])
    lp.row_upper_ = np.concatenate([[1.0], np.zeros(rows), np.full(2 * k * n, np.inf)])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    sizes = np.concatenate([[len(place) for place in places], np.full(2 * k * n, 3)])
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(sizes)])
    lp.a_matrix_.index_ = np.concatenate([*places, rises[0].ravel(), falls[0].ravel()])
    lp.a_matrix_.value_ = np.concatenate([*values, np.tile(rises[1], k * n), np.tile(falls[1], k * n)])
    return lp


def _level_model(layers: Layers, *, falls: bool) -> Any:
    """Variables c, rise (n,) and, with falls, fall (n,) of at most c + rise; hi and lo of c are c."""
    import highspy

    p, n = layers.p.mid, len(layers.p.mid)
    parts = [np.concatenate([[1.0], p, -p])[None], _level_rows(layers, layers.above.mid, layers.below.mid)]
    kept = len(parts[1])
    if falls:
        parts.append(np.column_stack([np.ones(n), np.eye(n), -np.eye(n)]))
    table = np.concatenate(parts)[:, : 1 + (2 if falls else 1) * n]
    left = len(table) - 1 - kept
    rows, places = np.nonzero(table)
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = table.shape
    lp.col_cost_, lp.col_lower_ = np.zeros(lp.num_col_), np.zeros(lp.num_col_)
    lp.col_upper_ = np.full(lp.num_col_, np.inf)
    lp.row_lower_ = np.concatenate([[1.0], np.full(kept, -np.inf), np.zeros(left)])
    lp.row_upper_ = np.concatenate([[1.0], np.zeros(kept), np.full(left, np.inf)])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(table)))])
    lp.a_matrix_.index_, lp.a_matrix_.value_ = places, table[rows, places]
    return lp


def _level_rows(layers: Layers, above: Floats, below: Floats) -> Floats:
    """Bounds on ratios as rows of these variables, at most 0."""
    least = layers.least.mid
    most = least + layers.width.mid
    return np.column_stack(
        [(above - below).sum(axis=1), above @ most - below @ least, below @ most - above @ least]
    )

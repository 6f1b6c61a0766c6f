"""The master program of the borders and the programs inside them, for Benders' decomposition of one component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.solver import Budget
from privopt.solvers.metric_privacy._linear import Linear
from privopt.solvers.metric_privacy._parts import Part

MISSED = 1e-7
"""Sums of rows inside that are off by less than this in all are rounding."""

FINE = 1e-9
"""Tolerance of the master program, whose rows are the bounds of the others."""


@dataclass(frozen=True, eq=False)
class Cut:
    """What rows inside cost at least: constant + the sum of weights * rows at the border; at most 0 where nothing is missed."""

    constant: float
    weights: Floats
    possible: bool


def _rows(part: Part, pairs: Ints, place: Ints, count: int) -> Any:
    """Rows scaling (M[first] - growth M[second]) of some pairs, for every output; columns are ``place`` by outputs."""
    from scipy.sparse import csr_array

    m = part.cost.shape[1]
    scale = part.scaling[pairs]
    entries = np.concatenate([scale, -part.growth[pairs] * scale])
    outputs = np.arange(m)
    first = (place[part.first[pairs]][:, None] * m + outputs).ravel()
    second = (place[part.second[pairs]][:, None] * m + outputs).ravel()
    rows = np.arange(len(first))
    return csr_array(
        (np.repeat(entries, m), (np.concatenate([rows, rows]), np.concatenate([first, second]))),
        shape=(len(rows), count * m),
    )


def _sums(count: int, m: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array(
        (np.ones(count * m), (np.repeat(np.arange(count), m), np.arange(count * m))), shape=(count, count * m)
    )


class Inside:
    """The program of the rows of some points, given those at the border: bounds of what is inside.

    Parameters
    ----------
    part : Part
    points : int array (k,)
        Positions in the part.
    border : bool array (n,)
        Which points of the part are at a border.
    """

    def __init__(self, part: Part, points: Ints, border: Bools) -> None:
        from scipy.sparse import hstack, identity, vstack

        self.part, self.points = part, points
        self.cut: Cut | None = None
        self._place = np.full(len(part.points), -1)
        self._place[points] = np.arange(len(points))
        within = self._place >= 0
        self._pairs = np.flatnonzero(within[part.first] & within[part.second])
        self._above = np.flatnonzero(within[part.first] & border[part.second])  # M[point] <= growth M[border]
        self._below = np.flatnonzero(border[part.first] & within[part.second])  # M[border] <= growth M[point]
        k, m = len(points), part.cost.shape[1]
        self._cost = np.concatenate([part.cost[points].ravel(), np.zeros(2 * k)])
        self._missing = np.concatenate([np.zeros(k * m), np.ones(2 * k)])
        ratios = _rows(part, self._pairs, self._place, k)
        one: Any = identity(k, format="csr")
        empty: Any = ratios[:, : 2 * k] * 0.0
        table = vstack([hstack([_sums(k, m), one, -one]), hstack([ratios, empty])])
        self._program = Linear(
            self._cost,
            np.zeros(k * m + 2 * k),
            np.full(k * m + 2 * k, np.inf),
            table,
            np.concatenate([np.ones(k), np.full(ratios.shape[0], -np.inf)]),
            np.concatenate([np.ones(k), np.zeros(ratios.shape[0])]),
        )

    @property
    def iterations(self) -> int:
        """Steps of the simplex method so far."""
        return self._program.iterations

    def solve(self, rows: Floats, budget: Budget) -> float | None:
        """Enter the best rows inside for those at the border, and their cost; None where there are none. Keeps the cut."""
        k, m = len(self.points), self.part.cost.shape[1]
        lower, upper, low_at, up_at = self._bounds(rows)
        self.cut = None
        for possible in (True, False):
            slack = 0.0 if possible else np.inf
            room = np.full(2 * k, slack)
            self._program.price(self._cost if possible else self._missing)
            self._program.bound(
                np.concatenate([lower.ravel(), np.zeros(2 * k)]), np.concatenate([upper.ravel(), room])
            )
            if self._program.run(budget) == "optimal":
                break
        else:
            return None
        self.cut = self._read(possible, low_at, up_at, rows.shape)
        made = np.maximum(self._program.x[: k * m].reshape(k, m), 0.0)
        rows[self.points] = made
        missed = not possible and self._program.value > MISSED
        return None if missed else float((made * self.part.cost[self.points]).sum())

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats, Ints, Ints]:
        """Lower and upper bounds inside, and the pair that gives each, -1 for none."""
        part, shape = self.part, (len(self.points), rows.shape[1])
        lower, upper = np.zeros(shape), np.full(shape, np.inf)
        low_at, up_at = np.full(shape, -1), np.full(shape, -1)
        for pair in self._below.tolist():
            at = self._place[part.second[pair]]
            value = rows[part.first[pair]] / part.growth[pair]
            higher = value > lower[at]
            lower[at, higher], low_at[at, higher] = value[higher], pair
        for pair in self._above.tolist():
            at = self._place[part.first[pair]]
            value = rows[part.second[pair]] * part.growth[pair]
            less = value < upper[at]
            upper[at, less], up_at[at, less] = value[less], pair
        return np.minimum(lower, upper), upper, low_at, up_at

    def _read(self, possible: bool, low_at: Ints, up_at: Ints, shape: tuple[int, ...]) -> Cut:
        """The cut of the multipliers that the last run ended with: it holds for any that are not negative."""
        part, (k, m) = self.part, (len(self.points), shape[1])
        priced = part.cost[self.points].copy() if possible else np.zeros((k, m))
        weights = np.zeros(shape)
        used = np.maximum(-self._program.row_dual[k:].reshape(-1, m), 0.0) * part.scaling[self._pairs, None]
        np.add.at(priced, self._place[part.first[self._pairs]], used)
        np.subtract.at(priced, self._place[part.second[self._pairs]], used * part.growth[self._pairs, None])
        reduced = self._program.reduced[: k * m].reshape(k, m)
        at, y = np.nonzero((reduced > 0) & (low_at >= 0))
        pair, value = low_at[at, y], reduced[at, y]
        priced[at, y] -= value
        np.add.at(weights, (part.first[pair], y), value / part.growth[pair])
        at, y = np.nonzero((reduced < 0) & (up_at >= 0))
        pair, value = up_at[at, y], -reduced[at, y]
        priced[at, y] += value
        np.subtract.at(weights, (part.second[pair], y), value * part.growth[pair])
        return Cut(float(priced.min(axis=1).sum()), weights, possible)


class Master:
    """The program of the rows at the borders and of what each inside costs at least.

    Beside the promised pairs it knows what chains through an inside promise of two points at its border. Its answers are
    lowered by what rounding breaks of chains, so that bounds inside do not contradict each other.
    """

    def __init__(self, part: Part, border: Ints, insides: Sequence[Inside]) -> None:
        from scipy.sparse import csr_array, hstack, vstack

        self.part, self.border = part, border
        self._place = np.full(len(part.points), -1)
        self._place[border] = np.arange(len(border))
        self._count, self.value = len(insides), 0.0
        k, m = len(border), part.cost.shape[1]
        first, second, growth = _chains(part, self._place >= 0, insides)
        self._growth = _closure(self._place[first], self._place[second], growth, k)
        linked = Part(part.points, first, second, growth, part.cost)
        ratios = _rows(linked, np.arange(len(first)), self._place, k)
        rows = vstack([_sums(k, m), ratios])
        self._program = Linear(
            np.concatenate([part.cost[border].ravel(), np.ones(self._count)]),
            np.zeros(k * m + self._count),
            np.full(k * m + self._count, np.inf),
            hstack([rows, csr_array((rows.shape[0], self._count))]),
            np.concatenate([np.ones(k), np.full(ratios.shape[0], -np.inf)]),
            np.concatenate([np.ones(k), np.zeros(ratios.shape[0])]),
            FINE,
        )

    @property
    def iterations(self) -> int:
        """Steps of the simplex method so far."""
        return self._program.iterations

    def cost_of(self, rows: Floats) -> float:
        """What the rows at the borders cost."""
        return float((rows[self.border] * self.part.cost[self.border]).sum())

    def cut(self, insides: Sequence[Inside]) -> bool:
        """Add the cuts of the insides; whether there were any."""
        from scipy.sparse import csr_array

        for i, inside in enumerate(insides):
            if inside.cut is None:
                continue
            own = np.zeros(self._count)
            own[i] = -1.0 if inside.cut.possible else 0.0
            line = np.concatenate([inside.cut.weights[self.border].ravel(), own])
            size = float(np.abs(line).max())
            if size > 0:
                limit = np.array([-inside.cut.constant / size])
                self._program.add(csr_array(line[None] / size), np.full(1, -np.inf), limit)
        return any(inside.cut is not None for inside in insides)

    def solve(self, rows: Floats, budget: Budget) -> bool:
        """Enter the rows at the borders; False where the time ends first."""
        if self._program.run(budget) != "optimal":
            return False
        k, m = len(self.border), rows.shape[1]
        made = np.maximum(self._program.x[: k * m].reshape(k, m), 0.0)
        rows[self.border] = np.stack([(growth[:, None] * made).min(axis=0) for growth in self._growth])
        self.value = self._program.value
        return True


def _closure(first: Ints, second: Ints, growth: Floats, count: int) -> Floats:
    """How much larger a probability may be at one point at a border than at another, along chains; shape (count, count)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    nats = np.maximum(np.log(growth), 1e-300)
    apart = np.asarray(dijkstra(coo_array((nats, (first, second)), shape=(count, count)).tocsr()))
    return np.exp(np.minimum(apart, 700.0))


def _chains(part: Part, border: Bools, insides: Sequence[Inside]) -> tuple[Ints, Ints, Floats]:
    """Ordered pairs of points at borders: promised, or joined by a chain through the inside of a subset that promises more."""
    direct = np.flatnonzero(border[part.first] & border[part.second])
    least = {
        (int(a), int(b)): float(g)
        for a, b, g in zip(part.first[direct], part.second[direct], part.growth[direct], strict=True)
    }
    for inside in insides:
        for a, b, nats in _through(part, border, inside.points):
            growth = float(np.exp(nats))
            if growth < least.get((a, b), np.inf) * (1 - 1e-12):
                least[a, b] = growth
    ends = np.array(list(least), dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1], np.array(list(least.values()))


def _through(part: Part, border: Bools, points: Ints) -> list[tuple[int, int, float]]:
    """Chains from border to border through some points: both ends, and nats along the shortest one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    within = np.zeros(len(border), dtype=bool)
    within[points] = True
    nats = np.maximum(np.log(part.growth), 1e-300)
    own = within[part.first] & within[part.second]
    out = border[part.first] & within[part.second]
    ends = np.unique(part.first[out])
    if len(ends) < 2:
        return []
    place = np.full(len(border), -1)
    place[points] = np.arange(len(points))
    table = coo_array(
        (nats[own], (place[part.first[own]], place[part.second[own]])), shape=(len(points), len(points))
    )
    apart = np.asarray(dijkstra(table.tocsr(), directed=False))
    step = np.full((len(ends), len(points)), np.inf)
    step[np.searchsorted(ends, part.first[out]), place[part.second[out]]] = nats[out]
    entered = np.stack([(row[:, None] + apart).min(axis=0) for row in step])
    joined = np.stack([(row[None] + step).min(axis=1) for row in entered])
    a, b = np.nonzero(np.isfinite(joined) & ~np.eye(len(ends), dtype=bool))
    return [
        (int(ends[i]), int(ends[j]), float(joined[i, j])) for i, j in zip(a.tolist(), b.tolist(), strict=True)
    ]

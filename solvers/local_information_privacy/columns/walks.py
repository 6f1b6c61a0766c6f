"""Walks along the edges of the polytope of posteriors, many at a time, to vertices of low reduced cost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy.columns.program import Pricing, phi

ROUNDING = 1e-13
"""Values of a vertex below this are 0."""

MIXED = 1e-6
"""A point that needs more of the distribution of the observations than this is no rounding of an allowed one."""

LEVEL = 1e-14
"""Room in a row, relative to its largest entry, below which there is none."""

NEARLY = 1e-10
"""Such rows may be missed by so much, relatively: what is proposed of them is made exact."""

MISSED = 1e-12
"""Equations of a vertex may be missed by so much."""


@dataclass(frozen=True)
class Edges:
    """The rows [G 1; 1 0] (v, slack) = (0, 1) of the polytope, with prices and entropy for walks on it.

    Columns of slacks have one entry, and are not written down: there are as many as rows.
    """

    pricing: Pricing
    real: Floats
    """The columns of v, shape (rows of G and one more, n)."""
    seen: Floats | None

    @classmethod
    def of(cls, pricing: Pricing) -> Edges:
        """Rows of G are divided by their largest entry."""
        r, n = pricing.rows.shape
        scale = np.maximum(np.abs(pricing.rows).max(axis=1, initial=0.0), 1e-300)[:, None]
        real = np.vstack([pricing.rows / scale, np.ones((1, n))])
        seen = None
        if pricing.matrix is not None:
            seen = np.concatenate([pricing.matrix, np.zeros((pricing.coordinates, r))], axis=1)
        return cls(pricing, real, seen)

    @property
    def size(self) -> int:
        """Columns of v and of slacks."""
        return len(self.real) - 1 + self.pricing.size

    def columns(self, which: Ints) -> Floats:
        """Some columns of each of several bases, shape (k, j) to (k, rows, j)."""
        n, (k, j) = self.pricing.size, which.shape
        found = np.zeros((k, len(self.real), j))
        bases, places = np.nonzero(which < n)
        found[bases, :, places] = self.real.T[which[bases, places]]
        bases, places = np.nonzero(which >= n)
        found[bases, which[bases, places] - n, places] = 1.0
        return found

    def points(self, bases: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """The vertices of bases, shape (k, n), solved afresh; and which of them are allowed to rounding."""
        values = self.values(bases)
        full, n = np.zeros((len(bases), self.size)), self.pricing.size
        np.put_along_axis(full, bases, values, axis=1)
        sums = full[:, :n] @ self.real.T
        sums[:, :-1] += full[:, n:]
        sums[:, -1] -= 1.0
        good = np.asarray((values >= -ROUNDING).all(axis=1) & (np.abs(sums) <= MISSED).all(axis=1))
        points = np.where(full[:, :n] > ROUNDING, full[:, :n], 0.0)
        return np.asarray(points / np.maximum(points.sum(axis=1, keepdims=True), 1e-300)), good

    def inside(self, points: Floats, p: Floats, most: float = MIXED) -> Floats:
        """The points mixed with the distribution of the observations just enough to be allowed; those that need more of it are left out."""
        rows = self.pricing.rows
        over, room = np.maximum(points @ rows.T, 0.0), np.maximum(-(rows @ p), 1e-300)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        level = room <= LEVEL * largest  # an equation: what misses it by rounding meets it
        over = np.where(level & (over <= NEARLY * largest), 0.0, over)
        share = (over / (over + room)).max(axis=1, initial=0.0)
        mixed = np.maximum(points + share[:, None] * (p - points), 0.0)[share < most]
        return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))

    def values(self, bases: Ints) -> Floats:
        """The values of the basic variables, shape (k, rows); -1 for bases that are singular, which are not allowed."""
        right = np.zeros((len(bases), len(self.real), 1))
        right[:, -1] = 1.0
        with suppress(np.linalg.LinAlgError):
            return np.asarray(self._solve(bases, right)[:, :, 0])
        values = np.full(bases.shape, -1.0)
        for i in range(len(bases)):
            with suppress(np.linalg.LinAlgError):
                values[i] = self._solve(bases[i : i + 1], right[:1])[0, :, 0]
        return values

    def outside(self, bases: Ints) -> Ints:
        """The columns that are not in the bases, shape (k, columns - rows)."""
        free = np.ones((len(bases), self.size), dtype=bool)
        np.put_along_axis(free, bases, False, axis=1)
        return np.asarray(np.nonzero(free)[1].reshape(len(bases), -1))

    def tableaus(self, bases: Ints, outside: Ints) -> tuple[Floats, Floats]:
        """The simplex tableaus of the columns outside the bases, shape (k, rows, columns - rows), and the basic values."""
        right = np.zeros((len(bases), len(self.real), outside.shape[1] + 1))
        right[:, :, :-1], right[:, -1, -1] = self.columns(outside), 1.0
        both = self._solve(bases, right)
        return both[:, :, :-1].copy(), both[:, :, -1].copy()

    def _solve(self, bases: Ints, right: Floats) -> Floats:
        """The combinations of the basic columns that make ``right`` (k, rows, j): slacks are eliminated first."""
        n, m = self.pricing.size, len(self.real)
        values, real = np.empty_like(right), bases < n
        counts = real.sum(axis=1)
        for count in np.unique(counts).tolist():  # systems of one size are solved together
            alike = np.flatnonzero(counts == count)
            basis, inside, sides = bases[alike], real[alike], right[alike]
            loose = basis[~inside].reshape(len(alike), m - count) - n
            bound = np.ones((len(alike), m), dtype=bool)
            np.put_along_axis(bound, loose, False, axis=1)
            tight = np.nonzero(bound)[1].reshape(len(alike), count)
            columns = self.real[:, basis[inside].reshape(len(alike), count)].transpose(1, 0, 2)
            square = np.take_along_axis(columns, tight[:, :, None], axis=1)
            solved = np.linalg.solve(square, np.take_along_axis(sides, tight[:, :, None], axis=1))
            rest = np.take_along_axis(columns, loose[:, :, None], axis=1) @ solved
            found, j = np.empty_like(sides), sides.shape[2]
            found[inside] = solved.reshape(len(alike) * count, j)
            found[~inside] = (np.take_along_axis(sides, loose[:, :, None], axis=1) - rest).reshape(
                len(alike) * (m - count), j
            )
            values[alike] = found
        return values


PIVOT = 1e-7
"""Entries of a tableau below this are no pivots."""

CELLS = 100_000
"""Most entries of the tableaus that are walked together."""

STEPS = 60
"""Most pivots of one walk."""


def together(edges: Edges) -> int:
    """Number of walks to make at a time."""
    m = len(edges.real)
    return int(np.clip(CELLS // (m * max(1, edges.size - m)), 2, 64))


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
        return cls(edges, bases.copy(), outside, *edges.tableaus(bases, outside))

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
        better_bases: list[tuple[float, Ints]] = []
        extended = np.concatenate([prices, np.zeros(self.edges.size - len(prices))])
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
            better_bases += [
                (float(c), b.copy()) for c, b in zip(present, self.bases, strict=True) if c < -stop
            ]
        return better_bases

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

"""The polytope of posteriors in the standard form of the simplex method."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.problems.local_information_privacy.tree import Pricing

ROUNDING = 1e-13
"""Values of a vertex below this are 0."""

MIXED = 1e-6
"""A point that needs more of the law of the observations than this is no rounding of an allowed one."""

MISSED = 1e-12
"""Equations of a vertex may be missed by so much."""


@dataclass(frozen=True)
class Edges:
    """The rows [G 1; 1 0] (v, slack) = (0, 1) of the polytope, with prices and entropy for walks on it."""

    pricing: Pricing
    rows: Floats
    seen: Floats | None

    @classmethod
    def of(cls, pricing: Pricing) -> Edges:
        """Rows of G are divided by their largest entry."""
        r, n = pricing.rows.shape
        scale = np.maximum(np.abs(pricing.rows).max(axis=1, initial=0.0), 1e-300)[:, None]
        rows = np.block([[pricing.rows / scale, np.eye(r)], [np.ones((1, n)), np.zeros((1, r))]])
        seen = None
        if pricing.matrix is not None:
            seen = np.concatenate([pricing.matrix, np.zeros((pricing.coordinates, r))], axis=1)
        return cls(pricing, rows, seen)

    def points(self, bases: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """The vertices of bases, shape (k, n), solved afresh; and which of them are allowed to rounding."""
        values = self.values(bases)
        sums = (self.rows[:, bases] * values).sum(axis=2).T - np.eye(len(self.rows))[-1]
        good = np.asarray((values >= -ROUNDING).all(axis=1) & (np.abs(sums) <= MISSED).all(axis=1))
        found = np.zeros((len(bases), self.rows.shape[1]))
        np.put_along_axis(found, bases, np.where(values > ROUNDING, values, 0.0), axis=1)
        points = found[:, : self.pricing.size]
        return np.asarray(points / np.maximum(points.sum(axis=1, keepdims=True), 1e-300)), good

    def inside(self, points: Floats, law: Floats) -> Floats:
        """The points mixed with the law of the observations just enough to be allowed; those that need much are left out."""
        given = self.pricing.rows
        over, room = np.maximum(points @ given.T, 0.0), np.maximum(-(given @ law), 1e-300)
        share = (over / (over + room)).max(axis=1, initial=0.0)
        mixed = np.maximum(points + share[:, None] * (law - points), 0.0)[share < MIXED]
        return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))

    def values(self, bases: Ints) -> Floats:
        """The values of the basic variables, shape (k, rows); -1 for bases that are singular, which are not allowed."""
        right = np.zeros((len(self.rows), 1))
        right[-1] = 1.0
        found = np.full(bases.shape, -1.0)
        for i, basis in enumerate(bases):
            with suppress(np.linalg.LinAlgError):
                found[i] = self._solve(basis, right)[:, 0]
        return found

    def outside(self, bases: Ints) -> Ints:
        """The columns that are not in the bases, shape (k, columns - rows)."""
        free = np.ones((len(bases), self.rows.shape[1]), dtype=bool)
        np.put_along_axis(free, bases, False, axis=1)
        return np.asarray(np.nonzero(free)[1].reshape(len(bases), -1))

    def tableaus(self, bases: Ints, outside: Ints) -> Floats:
        """The simplex tableaus of the columns outside the bases, shape (k, rows, columns - rows)."""
        return np.array(
            [self._solve(*pair) for pair in zip(bases, self.rows.T[outside].transpose(0, 2, 1), strict=True)]
        )

    def _solve(self, basis: Ints, right: Floats) -> Floats:
        """The combination of the basic columns that makes ``right``: slacks are eliminated first."""
        real = basis < self.pricing.size
        loose = basis[~real] - self.pricing.size
        tight = np.ones(len(self.rows), dtype=bool)
        tight[loose] = False
        columns = self.rows[:, basis[real]]
        found = np.empty_like(right)
        found[real] = np.linalg.solve(columns[tight], right[tight])
        found[~real] = right[loose] - columns[loose] @ found[real]
        return found

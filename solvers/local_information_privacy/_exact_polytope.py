"""Vertices known in floats, solved again in exact fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from privopt.arrays import Floats
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy._rational import Point, Row, integer_rows, reduced_rows

POSITIVE = 1e-11
"""Entries of a vertex above this belong to its support."""

NEARLY = 1e-9
"""Rows further from tight than this are not tried beyond the number that a vertex needs."""


@dataclass(frozen=True, eq=False)
class ExactPolytope:
    """{v >= 0, sum v = 1, a . z <= 0, b . z = 0} with z_w = v_w / c_w, for integer rows a and b.

    Parameters
    ----------
    unequal, equal : lists of rows of int
    c : row of int
        Positive.
    """

    unequal: list[Row]
    equal: list[Row]
    c: Row

    @cached_property
    def floats(self) -> Floats:
        """The unequal rows as coefficients of v, each divided by its largest."""
        table = [[Fraction(a, q) for a, q in zip(row, self.c, strict=True)] for row in self.unequal]
        scaled = [[float(a / max(map(abs, row))) for a in row] for row in table]
        return np.array(scaled).reshape(len(table), len(self.c))

    def allowed(self, point: Point) -> bool:
        """Whether a point with sum 1 lies in the polytope, exactly."""
        z = [v / q for v, q in zip(point, self.c, strict=True)]

        def along(row: Row) -> Fraction:
            return sum((a * v for a, v in zip(row, z, strict=True)), Fraction(0))

        inside = min(point) >= 0 and all(along(row) <= 0 for row in self.unequal)
        return inside and all(along(row) == 0 for row in self.equal)

    def snapped(self, vertex: Floats) -> Point | None:
        """The exact vertex with the same support, as few and as nearly tight rows as determine it; None if not allowed.

        Parameters
        ----------
        vertex : array (k,)
        """
        used = np.flatnonzero(vertex > POSITIVE).tolist()
        away = np.abs(self.floats @ vertex)
        nearest = np.argsort(away, kind="stable").tolist()
        fewest = 0 if self.equal else len(used) - 1
        for count in range(fewest, len(nearest) + 1):
            if count > fewest and away[nearest[count - 1]] > NEARLY:
                return None
            point = self._solved(used, [*self.equal, *(self.unequal[i] for i in nearest[:count])])
            if point is not None and self.allowed(point):
                return point
        return None

    def _solved(self, used: list[int], tight: list[Row]) -> Point | None:
        """The only point on these positions where these rows are 0, or None."""
        system = [[Fraction(row[w], self.c[w]) for w in used] + [Fraction(0)] for row in tight]
        reduced, rank = reduced_rows([*system, [Fraction(1)] * (len(used) + 1)])
        if rank != len(used) or any(reduced[i][i] != 1 for i in range(rank)):
            return None
        point = [Fraction(0)] * len(self.c)
        for i, w in enumerate(used):
            point[w] = reduced[i][-1]
        return point


def exact_polytope(problem: LocalInformationPrivacy) -> ExactPolytope:
    """The posteriors that keep the bounds of a question, on the observations of positive probability."""
    return ExactPolytope(*integer_rows(problem))

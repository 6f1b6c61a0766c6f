"""Factors of many symmetric matrices of one sparse pattern, one for each output, and the sum of their inverses.

The pattern is that of the promised pairs. One order of elimination and one structure of the factor serve all outputs. The
factors L D L' are computed by compiled loops, and the inverses from them by the recursion of Takahashi, Fagan, Chin,
"Formation of a sparse bus impedance matrix and its application to short circuit study".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.compiling import compiled

PIVOT = 1e-15
"""The least pivot, relative to the entries below it."""


class Pattern:
    """An order of elimination and the structure of the factor.

    Parameters
    ----------
    first, second : int array (q,)
        Positions of entries off the diagonal, each pair of points once.
    points : int
    """

    def __init__(self, first: Ints, second: Ints, points: int) -> None:
        self.points = points
        self.first, self.second = first, second
        self.position = _order(first, second, points)
        columns = _filled(self.position[first], self.position[second], points)
        lengths = np.array([len(column) for column in columns], dtype=np.int64)
        self.start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.below = np.concatenate([*columns, np.zeros(0, dtype=np.int64)])
        column = np.repeat(np.arange(points), lengths)
        low = np.minimum(self.position[first], self.position[second])
        high = np.maximum(self.position[first], self.position[second])
        self.entry = np.searchsorted(column * points + self.below, low * points + high)
        by_row = np.lexsort((column, self.below))
        self.row_start = np.searchsorted(self.below[by_row], np.arange(points + 1))
        self.row_column, self.row_entry = column[by_row], by_row

    @property
    def size(self) -> int:
        """Entries of the factor below the diagonal."""
        return len(self.below)


def _order(first: Ints, second: Ints, points: int) -> Ints:
    """The place of each point in an order of elimination of little fill, by minimum degree."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

    every = np.arange(points)
    rows, columns = np.concatenate([first, second, every]), np.concatenate([second, first, every])
    weights = np.concatenate([np.full(2 * len(first), -1.0), np.full(points, float(points))])
    table: Any = coo_array((weights, (rows, columns)), shape=(points, points)).tocsc()
    options = {"SymmetricMode": True}
    factor: Any = splu(table, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    return np.asarray(factor.perm_c, dtype=np.int64)


def _filled(first: Ints, second: Ints, points: int) -> list[Ints]:
    """Rows of each column of the factor below the diagonal, ascending.

    Examples
    --------
    >>> [column.tolist() for column in _filled(np.array([0, 0]), np.array([1, 2]), 3)]
    [[1, 2], [2], []]
    """
    rows: list[set[int]] = [set() for _ in range(points)]
    for a, b in zip(np.minimum(first, second).tolist(), np.maximum(first, second).tolist(), strict=True):
        rows[a].add(b)
    columns = []
    for own in rows:
        column = np.array(sorted(own), dtype=np.int64)
        columns.append(column)
        if len(column) > 1:
            rows[column[0]].update(column[1:].tolist())
    return columns


class Factors:
    """Factors L D L' of matrices whose entries off the diagonal are at most 0, without cancellation.

    A matrix H is given by what it makes of a positive column x: then the diagonal is what the other entries of its row leave
    of H x, and elimination adds positive numbers to these entries, and shares of what is left to what is left.

    Source: Grassmann, Taksar, Heyman, "Regenerative analysis and steady state distributions for Markov chains", for sums of
    rows that are 0.

    Parameters
    ----------
    pattern : Pattern
    off : float array (q, m)
        Minus the entries off the diagonal of the matrix of each output, >= 0.
    x, image : float arrays (n, m)
        Positive columns, and the products of the matrices with them.
    """

    def __init__(self, pattern: Pattern, off: Floats, x: Floats, image: Floats) -> None:
        m = x.shape[1]
        self.pattern = pattern
        self.scale = x
        self.lower = np.zeros((m, pattern.size))
        self.lower[:, pattern.entry] = (off * x[pattern.first] * x[pattern.second]).T
        self.pivots = np.empty((m, pattern.points))
        self.pivots[:, pattern.position] = (x * image).T
        structure = pattern.start, pattern.below, pattern.row_start, pattern.row_column, pattern.row_entry
        compiled(_factorise)(*structure, self.lower, self.pivots, PIVOT)

    def solve(self, right: Floats) -> Floats:
        """The matrices divided into right sides, shape (n, m)."""
        p = self.pattern
        values = np.empty((right.shape[1], p.points))
        values[:, p.position] = (right * self.scale).T
        compiled(_substitute)(p.start, p.below, self.lower, self.pivots, values)
        return np.asarray(values[:, p.position].T * self.scale)

    def summed(self) -> Floats:
        """The sum of the inverses, shape (n, n)."""
        p = self.pattern
        scale = np.empty((self.scale.shape[1], p.points))
        scale[:, p.position] = self.scale.T
        total = np.zeros((p.points, p.points))
        compiled(_add_inverses)(p.start, p.below, self.lower, self.pivots, scale, total)
        return np.asarray(total[np.ix_(p.position, p.position)])


def _factorise(
    start: Any,
    below: Any,
    row_start: Any,
    row_column: Any,
    row_entry: Any,
    lower: Any,
    pivots: Any,
    least: Any,
) -> None:
    """L D L' of each matrix in place: its entries below the diagonal, and what is left of its rows, become L and D."""
    outputs, n = pivots.shape
    work = np.zeros(n)
    for y in range(outputs):
        values, pivot = lower[y], pivots[y]
        left = pivot.copy()
        for j in range(n):
            for q in range(start[j], start[j + 1]):
                work[below[q]] = values[q]
            for t in range(row_start[j], row_start[j + 1]):
                k, p = row_column[t], row_entry[t]
                left[j] += values[p] * left[k]
                factor = values[p] * pivot[k]
                for q in range(p + 1, start[k + 1]):
                    work[below[q]] += values[q] * factor
            total = 0.0
            for q in range(start[j], start[j + 1]):
                total += work[below[q]]
            d = max(total + left[j], least * total + 1e-300)
            pivot[j] = d
            for q in range(start[j], start[j + 1]):
                values[q] = work[below[q]] / d


def _substitute(start: Any, below: Any, lower: Any, pivots: Any, right: Any) -> None:
    """L D L' divided into a right side for each output, in place."""
    outputs, n = pivots.shape
    for y in range(outputs):
        values, x = lower[y], right[y]
        for j in range(n):
            top = x[j]
            for q in range(start[j], start[j + 1]):
                x[below[q]] += values[q] * top
        for j in range(n - 1, -1, -1):
            top = x[j] / pivots[y, j]
            for q in range(start[j], start[j + 1]):
                top += values[q] * x[below[q]]
            x[j] = top


def _add_inverses(start: Any, below: Any, lower: Any, pivots: Any, scale: Any, total: Any) -> None:
    """Add the inverse of each matrix, a row at a time from the last one: Z = D^-1 L^-1 + (I - L') Z."""
    outputs, n = pivots.shape
    inverse = np.zeros((n, n))
    for y in range(outputs):
        for j in range(n - 1, -1, -1):
            row = inverse[j]
            row[j + 1 :] = 0.0
            for q in range(start[j], start[j + 1]):
                factor, other = lower[y, q], inverse[below[q]]
                for k in range(j + 1, n):
                    row[k] += factor * other[k]
            own = 1.0 / pivots[y, j]
            for q in range(start[j], start[j + 1]):
                own += lower[y, q] * row[below[q]]
            row[j] = own
            for k in range(j + 1, n):
                inverse[k, j] = row[k]
        for j in range(n):
            for k in range(n):
                total[j, k] += scale[y, j] * scale[y, k] * inverse[j, k]

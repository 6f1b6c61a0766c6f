"""Largest ratios of one side of a private record over sets of rows of a chain of a few states: an upper bound.

Walking inward, let R[u, w] be at least h(u) / h(w), where h(x) is the probability of what is farther out given that the present
record is x. A step gives the largest of (q . F) / (q' . F) over the extreme rays F of {F_u <= R[u, w] F_w} and the vertices q, q' of
the sets of two rows, as rows vary independently; the redaction of a record multiplies by r[u] / r[w]. What is lost is that q and F may
not go together. Next to a released value h varies in a box, whose corners are tried instead. Every output is walked by itself. Each
step is enlarged by more than its roundings, so that the result is proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.measures.bayesian.rays import MOST_STATES, rays
from privopt.models.ambiguity.row_set import RowSet

__all__ = ["MOST_STATES", "Bounds", "largest_ratios", "vertices"]

_MARGIN = 1e-12
"""Relative; a step has fewer than 100 roundings of 2^-53."""
_LARGEST = 1e200
"""Ratios above this count as unbounded."""
_MOST_OUTPUTS = 256
"""Outputs that are walked by themselves; of more, the farthest are bounded together."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """At least the largest ratio of every ordered pair [x, x'], and the output (distance, value) that shows it."""

    ratios: Floats
    distance: NDArray[np.int64]
    value: NDArray[np.int64]


@lru_cache(maxsize=64)
def vertices(row: RowSet) -> tuple[tuple[float, ...], ...]:
    """The vertices of a set of distributions of a few values, each number rounded once; of a box around it, for "chi2".

    Examples
    --------
    >>> sorted(vertices(RowSet.interval([0.25, 0.25], [0.5, 0.75])))
    [(0.25, 0.75), (0.5, 0.5)]
    """
    polytope = _box(row) if row.kind == "chi2" else row
    listed = {polytope.farthest(order) for order in permutations(range(row.size))}
    return tuple(tuple(w / polytope.denominator for w in each) for each in listed)


def _box(row: RowSet) -> RowSet:
    """Each probability of a chi-squared ball lies within radius sqrt(c (1 - c)) of its center c."""
    scale = 1 << 60
    spread = [isqrt(int(row.radius**2 * c * (1 - c) * scale**2) + 1) + 1 for c in row.center]
    low = [max(0, int(c * scale) - s) for c, s in zip(row.center, spread, strict=True)]
    high = [min(scale, int(c * scale) + 1 + s) if c else 0 for c, s in zip(row.center, spread, strict=True)]
    return RowSet.interval([_share(v, scale) for v in low], [_share(v, scale) for v in high])


def _share(value: int, scale: int) -> float:
    return value / scale  # a power of 2: rounding is covered by the margin


def largest_ratios(rows: Sequence[RowSet], redaction: Floats, closed: bool) -> Bounds:
    """At least the largest ratio of the outputs of a side, for every ordered pair of private values.

    Parameters
    ----------
    rows : sequence of RowSet, length k
        At most 6 states.
    redaction : array (m, k)
        Redaction probabilities by distance, exact.
    closed : bool
        Whether something is always released, at the last distance at the latest.

    Examples
    --------
    >>> rows = [RowSet.total_variation(row, 0.125) for row in ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5])]
    >>> largest_ratios(rows, np.array([[1.0, 0.0, 1.0]]), False).ratios.round(9)[0]
    array([1.        , 2.33333333, 3.        ])
    """
    return _Walk(rows).side(np.asarray(redaction, dtype=np.float64), closed)


class _Walk:
    """The outputs met so far, farthest first: their ratios, distances and values."""

    def __init__(self, rows: Sequence[RowSet]) -> None:
        self.k = len(rows)
        self.vertices = [np.array(vertices(row)) for row in rows]
        self.most = np.array([v.max(axis=0) for v in self.vertices])
        self.least = np.array([v.min(axis=0) for v in self.vertices])
        self.ratios = np.empty((0, self.k, self.k))
        self.events: list[tuple[int, int]] = []
        self.fresh: list[int] = []
        """Values released at the record before: the last outputs."""

    def side(self, redaction: Floats, closed: bool) -> Bounds:
        m = len(redaction)
        if not closed:
            self._add(np.ones((self.k, self.k)), (m, -1))
        for d in range(m, 0, -1):
            row = redaction[d - 1]
            self._step(row)
            self.fresh = np.flatnonzero(row < 1).tolist()
            for v in self.fresh:
                self._add(self._unit(v), (d, v))
            self._merge()
        return self._result(m)

    def _add(self, ratios: Floats, event: tuple[int, int]) -> None:
        self.ratios = np.concatenate((self.ratios, ratios[None]))
        self.events.append(event)

    def _unit(self, v: int) -> Floats:
        """Ratios of the probability that the next record has value v."""
        return _quotients(self.most[:, v], self.least[:, v])

    def _step(self, row: Floats) -> None:
        """Redact a record and go one record inward."""
        open_ = np.flatnonzero(row > 0)
        if not len(open_) or not self.events:
            self.ratios, self.events, self.fresh = np.empty((0, self.k, self.k)), [], []
            return
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = self.ratios[:, open_][:, :, open_] * (row[open_][:, None] / row[open_][None])
        anything = np.max([self._unit(int(u)) for u in open_], axis=0)
        self.ratios = np.broadcast_to(anything, self.ratios.shape).copy()
        fine = (np.isfinite(inside) & (inside > 1 / _LARGEST) & (inside < _LARGEST)).all(axis=(1, 2))
        if fine.any():
            self.ratios[fine] = np.minimum(self.ratios[fine], self._largest(self._rays(inside[fine], open_)))
        for i, v in enumerate(self.fresh, start=len(self.events) - len(self.fresh)):
            corners = product(*zip(self.least[:, v] * row, self.most[:, v] * row, strict=True))
            self.ratios[i] = np.minimum(self.ratios[i], self._largest(np.array(list(corners))[None])[0])

    def _rays(self, change: Floats, open_: NDArray[np.intp]) -> Floats:
        """Extreme rays of functions that are zero where a value is always released, shape (outputs, rays, k)."""
        functions = np.zeros((len(change), 1, self.k))
        if len(open_) == 1:
            functions[:, :, open_[0]] = 1.0
            return functions
        inner = rays(_metric(change))
        functions = np.zeros((len(change), inner.shape[1], self.k))
        functions[:, :, open_] = inner
        return functions

    def _largest(self, functions: Floats) -> Floats:
        """The largest ratio of two expectations over some functions, for every ordered pair."""
        means = [functions @ v.T for v in self.vertices]
        high = np.stack([mean.max(axis=2) for mean in means], axis=2)
        low = np.stack([mean.min(axis=2) for mean in means], axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = high[:, :, :, None] / low[:, :, None, :]
        ratios[np.isnan(ratios)] = 0.0
        largest: Floats = ratios.max(axis=1) * (1 + _MARGIN)
        return largest

    def _merge(self) -> None:
        """Bound the farthest outputs together where there are many."""
        if len(self.events) > _MOST_OUTPUTS:
            first = _MOST_OUTPUTS // 2
            together = self.ratios[:first].max(axis=0)[None]
            self.ratios = np.concatenate((together, self.ratios[first:]))
            self.events = [self.events[0], *self.events[first:]]

    def _result(self, m: int) -> Bounds:
        shape = (self.k, self.k)
        if not self.events:
            return Bounds(np.ones(shape), np.zeros(shape, np.int64), np.full(shape, -1))
        which = self.ratios.argmax(axis=0)
        names = np.array(self.events)
        largest = np.maximum(self.ratios.max(axis=0), 1.0)
        np.fill_diagonal(largest, 1.0)
        return Bounds(largest, names[which, 0], names[which, 1])


def _quotients(most: Floats, least: Floats) -> Floats:
    """most[x] / least[x'] made larger by its roundings; 0 where the first is 0, inf where only the other is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = most[:, None] / least[None] * (1 + _MARGIN)
    ratios[most == 0] = 0.0
    return np.asarray(ratios)


def _metric(change: Floats) -> Floats:
    """The tightest factors that follow from these, enlarged so that no state lies between two others."""
    tight = change.copy()
    k = tight.shape[1]
    diagonal = np.arange(k)
    tight[:, diagonal, diagonal] = 1.0
    for w in range(k):
        tight = np.minimum(tight, tight[:, :, w, None] * tight[:, w, None, :])
    tight *= 1 + _MARGIN
    tight[:, diagonal, diagonal] = 1.0
    return tight

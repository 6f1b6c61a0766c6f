"""Repair of a channel: every column made feasible over chains of promised pairs, and what that takes off every row given back."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.compiling import compiled, compiling_pays
from privopt.mechanisms import Channel
from privopt.problems.metric_privacy.data import MetricData

ALTERNATIONS = 24
"""How often columns are raised and rows divided by their sums."""

SETTLED = 1e-13
"""Row sums this near to 1 are not divided again."""

ROUNDING = 2.0**-50
"""Nats for each output that are kept free of every promise: what rounding rows to a sum of 1 can take."""

LIFT = 2.0**-20
"""Part of the smallest feasible column above a column that is given to entries below it, which else pull the column to 0."""

FLOOR = 1e-290
"""The least positive probability of a repaired channel: chains of pairs ask for less than floats hold."""

CELLS = 2**24
"""Entries that are compared at a time by arrays."""

SWEEPS = 4096
"""Passes over the pairs before a channel is given up: each passes the bound on one link of a chain."""


def repair(data: MetricData, channel: Channel, margin: float) -> Channel | None:
    """The channel with every promise kept at epsilon (1 - margin), or None where only a constant does.

    Three candidates are made, and the most useful one is taken for each component. The largest feasible column below each column takes every
    entry down to what a chain of promised pairs allows; the smallest feasible one above takes entries up; and the latter is
    made again and again of the channel with its rows divided by their sums, which soon are 1. All are scaled to leave every
    row at most 1. What the rows of a component then miss goes to its best single release, after its columns are scaled by
    the largest factor at which that column keeps the promise, too.
    """
    growth, proposed = _Growth(data, margin, channel.matrix.shape[1]), _floored(data, channel.matrix)
    above = growth.raised(proposed)
    candidates = []
    if above is not None:
        candidates.append(growth.completed(growth.scaled(above)))
        below = growth.lowered(np.maximum(proposed, LIFT * above))
        if below is not None:
            candidates.append(growth.completed(growth.scaled(below)))
        again = growth.alternated(above)
        if again is not None:
            candidates.append(growth.completed(growth.scaled(again)))
    matrices = [matrix for matrix in candidates if matrix is not None]
    if not matrices:
        return None
    best = _best_of_each_component(data, matrices)
    return Channel(best, channel.inputs, channel.outputs, simulation_only=channel.simulation_only)


def _floored(data: MetricData, matrix: Floats) -> Floats:
    """Entries that floats cannot hold, of columns that a component uses: the larger of two feasible columns is feasible."""
    tops = np.zeros((int(data.components.max()) + 1, matrix.shape[1]))
    np.maximum.at(tops, data.components, matrix)
    floors = np.where(tops > FLOOR, FLOOR, 0.0)[data.components]
    return np.where(floors > 0, np.maximum(matrix, floors), 0.0)


def _best_of_each_component(data: MetricData, matrices: list[Floats]) -> Floats:
    """The rows of each component from the matrix in which they cost least: components are promised nothing of each other."""
    spent = [data.p * (matrix * data.losses).sum(axis=1) for matrix in matrices]
    costs = [np.bincount(data.components, weights=rows) for rows in spent]
    chosen = np.argmin(costs, axis=0)[data.components]
    return np.asarray(np.stack(matrices)[chosen, np.arange(len(chosen))])


class _Growth:
    """How much larger a probability may be at one end of each promised pair, both ways."""

    def __init__(self, data: MetricData, margin: float, outputs: int) -> None:
        self.data = data
        pairs = data.pairs
        with np.errstate(over="ignore", invalid="ignore"):
            nats = np.where(pairs.distance == 0, 0.0, data.epsilon * pairs.distance) * (1.0 - margin)
            self.factor = np.exp(np.clip(nats - ROUNDING * outputs, 0.0, 700.0))
        into = np.concatenate([pairs.first, pairs.second])
        order = np.argsort(into, kind="stable")
        self.into = into[order]
        self.out_of = np.concatenate([pairs.second, pairs.first])[order]
        self.each = np.concatenate([self.factor, self.factor])[order]
        self.points, self.starts = np.unique(self.into, return_index=True)

    def lowered(self, matrix: Floats) -> Floats | None:
        """The largest feasible columns below the given ones."""
        return self._swept(matrix, self.each, np.minimum)

    def raised(self, matrix: Floats) -> Floats | None:
        """The smallest feasible columns above the given ones."""
        return self._swept(matrix, 1.0 / self.each, np.maximum)

    def alternated(self, above: Floats) -> Floats | None:
        """Feasible columns whose rows nearly sum to 1, from feasible columns above; None where a column does not end."""
        best: Floats | None = above
        for _ in range(ALTERNATIONS):
            assert best is not None
            sums = best.sum(axis=1, keepdims=True)
            if float(np.abs(sums - 1.0).max()) <= SETTLED:
                break
            best = self.raised(best / sums)
            if best is None:
                break
        return best

    def _swept(self, matrix: Floats, each: Floats, take: np.ufunc) -> Floats | None:
        """Every entry moved to what its neighbours allow, until nothing moves; None if that does not end."""
        best = matrix.copy()
        if not len(self.into):
            return best
        links, active = len(self.into), np.arange(matrix.shape[1])
        fast = compiling_pays(
            links * len(active)
        )  # a dozen passes of arrays are sooner than a compiler's start
        for _ in range(SWEEPS):
            part = np.ascontiguousarray(best[:, active])
            moved = part.copy()
            if fast:
                compiled(_pass)(self.into, self.out_of, each, part, moved, take is np.maximum)
            else:
                self._pass_of_arrays(part, moved, each, take)
            changed = (moved != part).any(axis=0)
            if not changed.any():
                return best
            best[:, active] = moved
            active = active[changed]
        return None

    def _pass_of_arrays(self, part: Floats, moved: Floats, each: Floats, take: np.ufunc) -> None:
        """What every entry's neighbours allow, a block of columns at a time."""
        width = max(1, CELLS // max(1, len(self.into)))
        for begin in range(0, part.shape[1], width):
            some = slice(begin, begin + width)
            bounds = take.reduceat(each[:, None] * part[self.out_of, some], self.starts, axis=0)
            moved[self.points, some] = take(part[self.points, some], bounds)

    def scaled(self, matrix: Floats) -> Floats:
        """The same columns, scaled in each component so that no row is more than 1."""
        largest = self._by_component(matrix.sum(axis=1))
        return np.asarray(matrix / np.where(largest > 1.0, largest * (1 + 2.0**-40), 1.0)[:, None])

    def completed(self, matrix: Floats) -> Floats | None:
        """Feasible columns scaled, and what rows miss of 1 given to one release of each component; None where that takes all."""
        data = self.data
        missing = np.maximum(0.0, 1.0 - matrix.sum(axis=1))
        first, second = data.pairs.first, data.pairs.second
        room = self.factor - 1.0
        excess = np.maximum(
            missing[first] - self.factor * missing[second], missing[second] - self.factor * missing[first]
        )
        doubt = 4 * ROUNDING * (1.0 + self.factor)
        bound = room > 0
        need = np.where(bound & (excess + doubt > 0), excess + doubt, 0.0) / np.where(bound, room, 1.0)
        weight = self._by_component(self._at_points(np.minimum(need, 1.0)))
        if bool((missing <= 2.0**-50).all()):
            return matrix
        if bool((weight >= 0.5).all()):
            return None
        kept = (1.0 - weight)[:, None] * matrix
        given = weight + (1.0 - weight) * missing
        kept[np.arange(len(kept)), self._cheapest(data.p * given)] += given
        return np.asarray(kept)

    def _cheapest(self, weights: Floats) -> Ints:
        """For each point the one release that costs its component least."""
        costs = np.zeros((self.data.component_count, self.data.losses.shape[1]))
        np.add.at(costs, self.data.components, weights[:, None] * self.data.losses)
        return np.asarray(costs.argmin(axis=1)[self.data.components])

    def _at_points(self, values: Floats) -> Floats:
        """The largest value of the pairs of each point."""
        most = np.zeros(len(self.data.metric))
        np.maximum.at(most, self.data.pairs.first, values)
        return most

    def _by_component(self, values: Floats) -> Floats:
        """The largest value in the component of each point."""
        most = np.zeros(self.data.component_count)
        np.maximum.at(most, self.data.components, values)
        return most[self.data.components]


def _pass(into: Any, out_of: Any, each: Any, part: Any, moved: Any, upward: Any) -> None:
    """For each link and column: the entry at its end moved to what the one at its beginning allows, if that is further."""
    for k in range(len(into)):
        end, begin, factor = into[k], out_of[k], each[k]
        for y in range(part.shape[1]):
            bound = factor * part[begin, y]
            if (bound > moved[end, y]) if upward else (bound < moved[end, y]):
                moved[end, y] = bound

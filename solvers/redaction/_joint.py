"""Leakages of all private records at once, as smooth constraints on the probabilities of a given support.

A support says of each cell (record, value) whether it is always hidden, sometimes released, or belongs to a
record that is released whole. With the support fixed, the outputs that count are the first releases on
each side of each private record, and the log-ratios of their probabilities are smooth.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.measures.redaction.leakage import left_steps, right_steps
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._reach import possible_values

HIDDEN, PARTIAL, WHOLE = 0, 1, 2
Support = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Events:
    """First releases of one side: log-ratios [event, pair] and their derivatives [event, variable, pair]."""

    logs: Floats
    slopes: Floats

    @property
    def largest(self) -> Floats:
        """The largest log-ratio of each pair."""
        found: Floats = self.logs.max(axis=0, initial=0.0)
        return found


@dataclass
class Sights:
    """What each private record can see of the others, walked as far as asked."""

    problem: Redaction
    private: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        chain, length = self.problem.chain, self.problem.length
        self.values = {p: possible_values(self.problem, p) for p in self.problem.private}
        self.private = [p for p, values in self.values.items() if len(values) > 1]
        self._sources = {p: (left_steps(chain, p), right_steps(chain, p, length)) for p in self.private}
        self._steps: dict[int, tuple[list[Floats], list[Floats]]] = {p: ([], []) for p in self.private}

    def step(self, p: int, side: int, distance: int) -> Floats:
        """The step that leads to a distance from a private record, left (0) or right (1)."""
        known = self._steps[p][side]
        missing = distance - len(known)
        if missing > 0:
            known.extend(itertools.islice(self._sources[p][side], missing))
        return known[distance - 1]

    def records(self, p: int, side: int) -> range:
        """Positions on one side, nearest first."""
        return range(p + 1, self.problem.length) if side else range(p - 1, -1, -1)

    def visible(self, support: Support) -> NDArray[np.bool_]:
        """Records that some private record sees before the first one released whole, that one included."""
        whole = (support == WHOLE).all(axis=1)
        seen = np.zeros(len(support), dtype=bool)
        for p in self.private:
            seen[p] = True
            before, after = np.flatnonzero(whole[:p]), np.flatnonzero(whole[p + 1 :])
            first = int(before[-1]) if len(before) else 0
            last = p + 1 + int(after[0]) if len(after) else len(whole) - 1
            seen[first : last + 1] = True
        return seen

    def tidy(self, support: Support) -> Support:
        """The same with everything released that no private record sees."""
        support = support.copy()
        support[~self.visible(support)] = WHOLE
        return support

    def events(
        self, support: Support, redaction: Floats, cells: dict[tuple[int, int], int], p: int, side: int
    ) -> Events:
        """First releases on one side; ``cells`` numbers the cells that vary."""
        values, k = self.values[p], support.shape[1]
        table, slopes = np.eye(k)[values], np.zeros((len(cells), len(values), k))
        columns, tangents = list[Floats](), list[Floats]()
        for distance, t in enumerate(self.records(p, side), start=1):
            step = self.step(p, side, distance)
            table, slopes = table @ step, slopes @ step
            for v in np.flatnonzero(support[t] != HIDDEN):
                columns.append(table[:, v])
                tangents.append(slopes[:, :, v])
            if (support[t] == WHOLE).all():
                return _events(columns, tangents, len(cells))
            if (support[t] == HIDDEN).all():
                continue
            nearer, table, slopes = table, table * redaction[t], slopes * redaction[t]
            for v in np.flatnonzero(support[t] == PARTIAL):
                slopes[cells[t, int(v)], :, v] = nearer[:, v]
            scale = table.max()
            table, slopes = table / scale, slopes / scale
        columns.append(table.sum(axis=1))
        tangents.append(slopes.sum(axis=2))
        return _events(columns, tangents, len(cells))


def _events(columns: list[Floats], tangents: list[Floats], variables: int) -> Events:
    """Log-ratios of all ordered pairs; outputs that no value allows are left out."""
    table, slopes = np.array(columns), np.array(tangents)
    kept = table.max(axis=1) > 0
    table, slopes = table[kept], slopes[kept]
    off = ~np.eye(table.shape[1], dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, rates = np.log(table), slopes / table[:, None, :]
        ratios = (logs[:, :, None] - logs[:, None, :])[:, off]
        changes = (rates[:, :, :, None] - rates[:, :, None, :])[:, :, off]
    return Events(np.nan_to_num(ratios, nan=-np.inf, posinf=np.inf, neginf=-np.inf), changes)

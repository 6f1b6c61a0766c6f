"""What a boundary prescribes: vertices, their values, and how far a mechanism is from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidModel, InvalidProblem
from privopt.measures.colouring.steps import Pair, Step
from privopt.problems.boundary_colouring.validation import Boundary, Ends, hitting

if TYPE_CHECKING:
    from privopt.mechanisms import Colouring
    from privopt.models import DatasetGraph

DIGITS = 2.0**-51
"""The last digits of a probability near 1, whose complement has its own."""
SMALLEST = 1e-290
"""Smaller numbers lose digits when they are multiplied."""
MET = 1e-9
"""A prescribed value counts as met up to this share of what it and delta leave open, so that a 0 or 1 is met exactly."""


@dataclass(frozen=True, eq=False)
class Prescribed:
    """Sites (positions) and the law prescribed on each, a row a site."""

    sites: Ints
    rows: Floats

    @property
    def pair(self) -> Pair:
        """Two colours: probabilities of the first colour, and their complements."""
        rest = self.rows[:, 1] if self.rows.shape[1] > 1 else 1.0 - self.rows[:, 0]
        return self.rows[:, 0], rest

    def room(self, one: Step) -> Floats:
        """How far each probability may be from its value and still meets it, a row a site."""
        return room_of(self.rows, one)

    def miss(self, mechanism: Colouring, one: Step) -> float:
        """By how much the worst value is missed; 0 where all are met."""
        missed = np.abs(mechanism.levels[mechanism.level[self.sites]] - self.rows)
        return float(np.where(missed <= self.room(one), 0.0, missed).max(initial=0.0))


def room_of(rows: Floats, one: Step) -> Floats:
    """How far probabilities may be from the values in rows and still meet them.

    A step takes p to e^epsilon (p + e^-epsilon delta), so what is a share of p + e^-epsilon delta stays as small a share of
    the value on the way. Rows that do not add to 1 exactly are met by what they are proportional to.
    """
    off = np.abs(1.0 - rows.sum(axis=1, keepdims=True))
    least = np.minimum(rows, np.maximum(1.0 - rows, 0.0))
    room = MET * (least + one.decay * one.delta) + 2 * (off + DIGITS) * rows
    return np.where((rows == 0) & (room < SMALLEST), 0.0, room)


def prescribed(boundary: Boundary, graph: DatasetGraph, one: Step) -> Prescribed | None:
    """What is prescribed exactly; None for "balanced", which only caps the boundary, and for a free one."""
    if isinstance(boundary, Mapping):
        return _by_vertex(boundary, graph)
    if isinstance(boundary, tuple):
        return _by_colour(boundary, graph, one)
    return None


def _by_vertex(values: Mapping[Any, Any], graph: DatasetGraph) -> Prescribed:
    try:
        sites = np.array([graph.position(v) for v in values], dtype=np.int64)
    except InvalidModel as cause:
        raise InvalidProblem(f"a value is prescribed on an unknown vertex: {cause}") from cause
    hitting(graph, sites)
    table = np.array(list(values.values()), dtype=np.float64)
    k = max(len(graph.palette), 1)
    if not len(sites):
        table = np.zeros((0, k))
    elif table.ndim < 2:
        table = np.stack([table, 1.0 - table], axis=1)[:, :k] if k > 1 else table.reshape(-1, 1)
    order = np.argsort(sites)
    return Prescribed(sites[order], table[order])


def _by_colour(ends: Ends, graph: DatasetGraph, one: Step) -> Prescribed:
    """(Pr[first] on the first colour's boundary, Pr[second] on the second's, the largest allowed if None)."""
    first, second = end_pairs(ends, one)
    sites = np.flatnonzero(graph.boundary())
    own = graph.codes[sites] == 0
    p, r = np.where(own, first[0], second[1]), np.where(own, first[1], second[0])
    return Prescribed(sites, np.stack([p, r], axis=1))


def end_pairs(ends: Ends, one: Step) -> tuple[tuple[float, float], tuple[float, float]]:
    """Accuracy and error on the boundary of each colour."""
    first = ends[0], 1.0 - ends[0]
    if ends[1] is not None:
        return first, (ends[1], 1.0 - ends[1])
    up = one.up(np.array([first[1]]), np.array([first[0]]))
    return first, (float(up[0][0]), float(up[1][0]))

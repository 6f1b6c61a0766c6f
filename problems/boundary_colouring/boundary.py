"""What is prescribed on a boundary: read, checked, kept as vertices with their values, and how far a mechanism is from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidModel, InvalidProblem
from privopt.files.labels import Label, decode_labels, encode_labels, plain_label
from privopt.measures.colouring.boundary_values import missed_edges
from privopt.measures.colouring.steps import Pair, Step
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph

Ends: TypeAlias = tuple[float, float | None]
Values: TypeAlias = Mapping[Any, Any]
Boundary: TypeAlias = str | Ends | Values | None

BALANCED = "balanced"
DIGITS = 2.0**-51
"""The last digits of a probability near 1, whose complement has its own."""
SMALLEST = 1e-290
"""Smaller numbers lose digits when they are multiplied."""
MET = 1e-9
"""A prescribed value counts as met up to this share of what it and delta leave open, so that a 0 or 1 is met exactly."""


@dataclass(frozen=True, eq=False)
class Prescribed:
    """Sites (positions) and the distribution prescribed on each, a row a site."""

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


def _by_vertex(values: Values, graph: DatasetGraph) -> Prescribed:
    try:
        sites = np.array([graph.position(v) for v in values], dtype=np.int64)
    except InvalidModel as cause:
        raise InvalidProblem(f"a value is prescribed on an unknown vertex: {cause}") from cause
    if missed := missed_edges(graph, sites):
        raise InvalidProblem(
            f"the prescribed vertices miss {missed}; no mechanism dominates then: prescribe one end of each, or "
            "boundary=None"
        )
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


# Argument validation, and the form in a file


def number(value: object, name: str) -> float:
    """A plain float; booleans and texts are refused."""
    plain = value.item() if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0 else value
    if isinstance(plain, bool) or not isinstance(plain, (int, float)):
        raise InvalidProblem(f"{name} must be a number, got {value!r}")
    try:
        return float(plain) + 0.0
    except OverflowError as cause:
        raise InvalidProblem(f"{name} is an integer beyond the range of floats") from cause


def probability(value: object, name: str) -> float:
    """A number in [0, 1]."""
    plain = number(value, name)
    if not 0 <= plain <= 1:
        raise InvalidProblem(f"{name} must be in [0, 1], got {plain}")
    return plain


def boundary(value: object, k: int) -> Boundary:
    """The boundary of k colours as it is kept: None, "balanced", two numbers, or numbers by vertex."""
    if value is None or (isinstance(value, str) and value == BALANCED):
        # With three or more colours no closed form is best on the boundary, so it is chosen there.
        return BALANCED if value is not None and k <= 2 else None
    if isinstance(value, Mapping):
        return {plain_label(v): _value(x, v, k) for v, x in value.items()}
    if isinstance(value, (tuple, list)) and len(value) == 2:
        if k > 2:
            raise InvalidProblem(
                f"boundary=(q_first, q_second) is for two colours, the graph has {k}: give "
                "{vertex: [a probability a colour]}, or None"
            )
        second = None if value[1] is None else probability(value[1], "q_second")
        return probability(value[0], "q_first"), second
    raise InvalidProblem(
        'boundary must be "balanced", (q_first, q_second or None), {vertex: probability of the first colour} '
        f"or None, got {value!r}"
    )


def _value(value: object, vertex: Label, k: int) -> float | tuple[float, ...]:
    """Pr[first colour], or a whole distribution where there are more than two colours."""
    what = f"the value prescribed on vertex {vertex!r}"
    if k <= 2:
        p = probability(value, what)
        if k < 2 and p != 1:
            raise InvalidProblem(f"{what} must be 1: there is only one colour, got {p}")
        return p
    if isinstance(value, (str, bytes)) or np.ndim(value) != 1 or len(value) != k:  # type: ignore[arg-type]
        raise InvalidProblem(f"{what} must be {k} probabilities, one a colour, got {value!r}")
    row = tuple(probability(x, what) for x in value)  # type: ignore[attr-defined]
    if abs(math.fsum(row) - 1) > 1e-9:
        raise InvalidProblem(f"{what} is no distribution: it sums to {math.fsum(row)}, not to 1 within 1e-9")
    return row


def write_boundary(kept: Boundary) -> object:
    """The boundary as JSON holds it."""
    if isinstance(kept, Mapping):
        values = [list(x) if isinstance(x, tuple) else x for x in kept.values()]
        return {"vertices": encode_labels(kept), "values": values}
    return list(kept) if isinstance(kept, tuple) else kept


def read_boundary(written: Any) -> Boundary:
    """What :func:`write_boundary` wrote, not yet checked."""
    if isinstance(written, dict):
        names = decode_labels(written["vertices"], "boundary vertices")
        if len(names) != len(written["values"]) or len(set(names)) != len(names):
            raise InvalidProblem("boundary needs distinct vertices and one value for each")
        return dict(zip(names, written["values"], strict=True))
    kept: Boundary = tuple(written) if isinstance(written, list) else written
    return kept

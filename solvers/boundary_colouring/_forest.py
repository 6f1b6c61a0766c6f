"""Exact programmes on forests: concave values over levels from the leaves up, answers and multipliers down.

Below a vertex v the best value as a function of p_v is concave and piecewise linear with its bends at levels. It is
kept as differences between neighbouring levels. Seen from the parent, max over L(p) <= q <= U(p), the rising part of a
child's function moves down by a step and the falling part moves up, so nothing is ever subtracted and the tails keep
their relative accuracy. The slopes at the levels that are chosen give the multipliers of the linear programme.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.measures.colouring.steps import Step
from privopt.solvers.boundary_colouring._levels import Levels

WHOLE = 1e-6
"""What counts as rounding in the place of a value among levels."""
BEND = 1e-12
"""And at a bend, relatively."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Vertices in layers from the roots down.

    Parameters
    ----------
    parent : int array, shape (n,)
        -1 at roots.
    layers : list of int arrays
        Vertices by depth.
    """

    parent: Ints
    layers: list[Ints]


@dataclass(frozen=True, eq=False)
class Answer:
    """The level of each vertex, and the multipliers of each edge (v, parent of v), shape (n, 4), zero at roots.

    The four belong to Pr[M(v)=c] <= e^eps Pr[M(parent)=c] + delta for both colours, then with the two exchanged.
    """

    level: Ints
    multipliers: Floats


def forest(indptr: NDArray[Any], indices: NDArray[Any]) -> Forest:
    """Layers of a graph without cycles; each component is rooted at its first vertex."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    from privopt.measures.colouring.hops import hops

    n = len(indptr) - 1
    table = csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(n, n))
    component = connected_components(table, directed=False)[1]
    roots = np.unique(component, return_index=True)[1]
    depth = hops(indptr, indices, roots)
    parent = np.full(n, -1, dtype=np.int64)
    ends = np.repeat(np.arange(n), np.diff(indptr))
    above = depth[indices] < depth[ends]
    parent[ends[above]] = indices[above]
    order = np.argsort(depth, kind="stable")
    cuts = np.cumsum(np.bincount(depth)) if n else np.zeros(0, dtype=np.int64)
    return Forest(parent, np.split(order, cuts[:-1]) if n else [])


def best_on_forest(given: Forest, gains: Floats, table: Levels, one: Step) -> Answer:
    """The best level of every vertex for gains . p, with multipliers that prove it."""
    differences = _values(given, gains, table, one)
    peak = (differences > 0).sum(axis=1)
    return _descend(given, gains, table, one, (differences, peak))


def _values(given: Forest, gains: Floats, table: Levels, one: Step) -> Floats:
    """Differences of every vertex's function, (n, l - 1)."""
    found = gains[:, None] * table.gaps[None, :]
    rise, fall = _moves(table, one)
    for layer in reversed(given.layers[1:]):
        below = found[layer]
        seen = (rise @ np.maximum(below, 0.0).T + fall @ np.minimum(below, 0.0).T).T
        np.add.at(found, given.parent[layer], seen)
    return found


def _moves(table: Levels, one: Step) -> tuple[Any, Any]:
    """What part of a child's difference j goes to its parent's difference i.

    Between levels i - 1 and i of the parent U runs over what is listed in row i of the first table, and L in the second.
    """
    rise = _positions(table.p, table.r, *one.up(table.p, table.r))
    fall = len(rise) - 1 - rise[::-1]
    return _overlaps(rise), _overlaps(fall)


def _positions(p: Floats, r: Floats, value: Floats, rest: Floats) -> Floats:
    """Where values lie among levels, in units of levels; whole numbers where they are levels but for rounding."""
    low = value <= 0.5
    by_value = np.interp(value, p, np.arange(len(p)))
    by_rest = len(p) - 1 - np.interp(rest, r[::-1], np.arange(len(p)))
    found = np.where(low, by_value, by_rest)
    whole = np.rint(found)
    return np.where(np.abs(found - whole) < WHOLE, whole, found)


def _overlaps(images: Floats) -> Any:
    """Rows of how much of each unit interval lies between neighbouring images."""
    from scipy.sparse import csr_array

    size = len(images) - 1
    rows, columns, parts = [], [], []
    for i, (begin, end) in enumerate(zip(images[:-1].tolist(), images[1:].tolist(), strict=True)):
        for j in range(math.floor(begin), math.ceil(end)):
            rows.append(i)
            columns.append(j)
            parts.append(min(end, j + 1) - max(begin, j))
    return csr_array((parts, (rows, columns)), shape=(size, size))


def _descend(given: Forest, gains: Floats, table: Levels, one: Step, values: tuple[Floats, Ints]) -> Answer:
    differences, peak = values
    n = len(gains)
    level, need = peak.copy(), np.zeros(n)
    multipliers = np.zeros((n, 4))
    rise, fall = _moves(table, one)
    for layer in given.layers[1:]:
        parents = given.parent[layer]
        at = level[parents]
        level[layer] = np.clip(peak[layer], table.down[at], table.up[at])
        below = differences[layer]
        seen = (rise @ np.maximum(below, 0.0).T + fall @ np.minimum(below, 0.0).T).T
        share = _share(parents, (need - gains)[parents], _slopes(seen, at, table), n)
        share = np.where(at == 0, 0.0, np.where(at == len(table.p) - 1, 1.0, share))
        rows, need[layer] = _edge(share, _slopes(below, level[layer], table), (level[layer], at), table, one)
        multipliers[layer] = rows
    return Answer(level, multipliers)


def _slopes(differences: Floats, at: Ints, table: Levels) -> tuple[Floats, Floats]:
    """Slopes left and right of a level of each row; beyond the ends the last one stands for any."""
    slopes = differences / table.gaps
    rows = np.arange(len(at))
    return slopes[rows, np.maximum(at - 1, 0)], slopes[rows, np.minimum(at, slopes.shape[1] - 1)]


def _share(parents: Ints, target: Floats, slopes: tuple[Floats, Floats], n: int) -> Floats:
    """How far from right to left slope each child's part lies, one number for all children of a parent."""
    left, right = slopes
    low = np.bincount(parents, weights=right, minlength=n)[parents]
    width = np.bincount(parents, weights=left - right, minlength=n)[parents]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(width > 0, (target - low) / width, 0.5)
    return np.clip(share, 0.0, 1.0)


def _edge(
    share: Floats, slopes: tuple[Floats, Floats], ends: tuple[Ints, Ints], table: Levels, one: Step
) -> tuple[Floats, Floats]:
    """Multipliers of the edges, and the slope that each child must answer for.

    ``ends`` are the levels of child and parent. A part ``share`` belongs to the piece of U or L left of the parent's
    value, the rest to the right one; away from the bends both are the same piece.
    """
    child, at = ends
    p, r = table.p[at], table.r[at]
    rows, need = np.zeros((len(at), 4)), np.zeros(len(at))
    for slope, part, side in ((slopes[0], share, -1), (slopes[1], 1.0 - share, 1)):
        held = (child == table.up[at]) & _beyond(r, one.delta, -side)
        freed = (child == table.down[at]) & _beyond(p, one.delta, side)
        gain, loss = held * part * np.maximum(slope, 0.0), freed * part * np.maximum(-slope, 0.0)
        steep, late = ~_beyond(p, one.kink, side), ~_beyond(r, one.kink, -side)
        rows[:, 0] += steep * gain
        rows[:, 3] += ~steep * gain * one.decay
        rows[:, 1] += late * loss
        rows[:, 2] += ~late * loss * one.decay
        need += gain - loss
    return rows, need


def _beyond(x: Floats, bend: float, side: int) -> NDArray[np.bool_]:
    """Whether x, moved a little to a side, lies beyond a bend."""
    return (x > bend * (1 + BEND)) | ((x >= bend * (1 - BEND)) & (side > 0))

"""Cost to go of one branch as a table over states, for every distance at once.

Value functions are lower envelopes of the curves of :mod:`privopt.solvers.redaction.optimal.plans`. Where steps repeat, a curve
depends on its length only, so one sweep serves every distance; a second one covers stops at the end of the chain.
Tables rank candidates; the winner is solved again exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.solvers.redaction.optimal.plans import (
    Curve,
    extend,
    inner_threshold,
    longer,
    scale,
    seed,
    stop_threshold,
)
from privopt.solvers.redaction.optimal.side import Walk

# States pile up near 0 (about to release) and near 1 (nothing gained yet), hence logistic spacing.
NODES: Floats = 1 / (
    1
    + np.exp(
        -np.concatenate((np.linspace(-30, -9, 60), np.linspace(-9, 9, 420)[1:-1], np.linspace(9, 30, 60)))
    )
)
_COARSE: Floats = np.concatenate(
    (np.linspace(-14, -1, 60, endpoint=False), np.linspace(-1, 0, 240), np.linspace(0, 1, 121)[1:])
)
_ROWS = 4000


_JUMPS = 200
_JUST = 1e-12


@dataclass(frozen=True, eq=False)
class Table:
    """Cost to go at nodes.

    Parameters
    ----------
    nodes, rows
        By number of records left (a repeating walk) or by distance, then one row by place in the period that
        serves every longer rest.
    jumps
        States up to which some curve goes: the value may jump up there.
    by_rest
        Whether rows go by number of records left.
    period
        Number of rows at the end that serve longer rests.
    complete
        Whether time sufficed.
    """

    nodes: list[Floats]
    rows: list[Floats]
    jumps: list[Floats]
    by_rest: bool
    period: int
    complete: bool

    def place(self, walk: Walk, distance: int) -> int:
        """The row that holds the values at a distance."""
        if not self.by_rest:
            return min(distance, len(self.rows)) - 1
        rest, known = walk.length - distance, len(self.rows) - self.period
        return rest if rest < known else known + (distance - 1) % self.period

    def value(self, place: int, states: Floats) -> Floats:
        """Cost to go from each state in a row; 0 where everything may be released."""
        return np.where(states <= 0, 0.0, np.interp(states, self.nodes[place], self.rows[place]))


def tabulate(walk: Walk, limit: float, deadline: Callable[[], float]) -> Table:
    """Table of a branch, right wherever the cost to go is below ``limit``."""
    if walk.period < walk.length or walk.length == 1:
        return _repeating(walk, limit, deadline)
    return _changing(walk, limit, deadline)


def _with(jumps: Floats) -> Floats:
    """Nodes on both sides of every jump."""
    return np.sort(np.concatenate((NODES, jumps * (1 - _JUST), jumps * (1 + _JUST))))


def _envelope(nodes: Floats, row: Floats, curve: Curve, cap: float) -> Floats:
    """The lower of a row and a curve; the curve may turn back (stops at the end of the chain)."""
    turns = np.flatnonzero(np.diff(np.sign(np.diff(curve.state)) < 0)) + 1
    for piece in np.split(np.arange(len(curve.state)), turns) if len(turns) else [slice(None)]:
        state, cost = curve.state[piece], curve.cost[piece]
        if state[0] > state[-1]:
            state, cost = state[::-1], cost[::-1]
        row = np.minimum(row, np.interp(nodes, state, cost, right=cap))
    return row


def _repeating_jumps(walk: Walk) -> Floats:
    jumps = np.empty(0)
    for _ in range(_JUMPS):
        for i in range(walk.period):
            a, b = float(walk.cross[i]), float(walk.back[i])
            kappa = inner_threshold(walk, walk.period + i)
            jumps = np.unique(np.append(((1 - a) * jumps + a) / (b * jumps + (1 - b)), kappa))
        jumps = jumps[(jumps > 1e-9) & (jumps < 1 - 1e-6)][: 2 * _JUMPS]
        if len(jumps) == 0 or (len(jumps) > 1 and jumps[-1] > 1 - 1e-5):
            break
    return jumps


def _repeating(walk: Walk, limit: float, deadline: Callable[[], float]) -> Table:
    cap, tolerance = 2 * limit + scale(walk), 1e-12 * scale(walk)
    jumps = _repeating_jumps(walk)
    nodes = _with(jumps)
    inner = [np.full(len(nodes), cap)] * walk.period
    rows, sweeps, quiet = [], list[Curve | None](), 0
    end = seed(walk, walk.length, 1.0, _COARSE)
    for rest in range(1, min(walk.length, _ROWS) + 1):
        distance = walk.length - rest + 1
        end = extend(walk, end, distance) if rest > 1 else end
        before = inner[walk.index(distance)]
        rows.append(_envelope(nodes, before, end, cap))
        sweeps = longer(walk, sweeps, rest, _COARSE)
        lower = _lowered(nodes, inner, sweeps, rest, cap)
        pairs = zip((rows[-1], *lower), (before, *inner), strict=True)
        # What the last record adds nothing to, a longer rest adds nothing to: the value is a fixed point
        # wherever it is below the limit, and dearer states are never on the way.
        quiet = 0 if any(_improves(new, old, limit, tolerance) for new, old in pairs) else quiet + 1
        inner = lower
        if quiet > walk.period or deadline() <= 0:
            break
    complete = quiet > walk.period or len(rows) == walk.length
    count = len(rows) + walk.period
    return Table([nodes] * count, rows + inner, [jumps] * count, True, walk.period, complete)


def _lowered(
    nodes: Floats, inner: list[Floats], sweeps: list[Curve | None], count: int, cap: float
) -> list[Floats]:
    """Values by place in the period, with the curves of ``count`` records added."""
    lower = list(inner)
    for stop, curve in enumerate(sweeps):
        if curve is not None:
            start = (stop - count + 1) % len(inner)
            lower[start] = _envelope(nodes, lower[start], curve, cap)
    return lower


def _improves(new: Floats, old: Floats, limit: float, tolerance: float) -> bool:
    return bool(np.any((new < old - tolerance) & (new <= limit)))


def _changing(walk: Walk, limit: float, deadline: Callable[[], float]) -> Table:
    """Backwards over distances, keeping only the curves that are cheapest somewhere.

    A curve that is nowhere the cheapest at one distance is nowhere the cheapest at a nearer one.
    """
    cap, tolerance = 2 * limit + scale(walk), 1e-12 * scale(walk)
    farthest = int(np.searchsorted(np.cumsum(walk.weights[:, 1]), limit)) + 1
    table = Table([], [], [], False, 0, True)
    active: list[Curve] = []
    for distance in range(min(farthest, walk.length), 0, -1):
        active = [extend(walk, curve, distance) for curve in active]
        threshold = stop_threshold(walk, distance)
        if threshold > 0:
            active.append(seed(walk, distance, threshold, _COARSE))
        jumps = np.unique([float(curve.state[-1]) for curve in active])
        nodes = _with(jumps[jumps < 1 - 1e-6])
        top = np.full(len(nodes), cap)
        values = np.array([_envelope(nodes, top, curve, cap) for curve in active]).reshape(-1, len(nodes))
        row = values.min(axis=0, initial=cap)
        useful = np.any((values <= row + tolerance) & (values <= limit), axis=1)
        active = [curve for curve, keep in zip(active, useful, strict=True) if keep]
        for kept, new in ((table.nodes, nodes), (table.rows, row), (table.jumps, jumps[jumps < 1 - 1e-6])):
            kept.append(new)
        if deadline() <= 0:
            return _cut(table, distance - 1, cap)
    return _cut(table, 0, cap)


def _cut(table: Table, missing: int, cap: float) -> Table:
    """By distance, with dear rows for the nearest distances that time did not suffice for."""
    nodes = [*table.nodes, *[NODES] * missing][::-1]
    rows = [*table.rows, *[np.full(len(NODES), cap)] * missing][::-1]
    return Table(nodes, rows, [*table.jumps, *[np.empty(0)] * missing][::-1], False, 0, missing == 0)

"""Cost to go of one branch as a table over states, for every distance at once.

Value functions are lower envelopes of the curves of :mod:`privopt.solvers.redaction._sweep`. Where steps repeat, a curve
depends on its length only, so one sweep serves every distance; a second one covers stops at the end of the chain.
Tables rank candidates; the winner is solved again exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.problems._redaction_side import Floats, Walk
from privopt.solvers.redaction._sweep import Curve, extend, longer, scale, seed, stop_threshold

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


@dataclass(frozen=True, eq=False)
class Table:
    """Cost to go at the nodes.

    Parameters
    ----------
    rows
        By number of records left (a repeating walk) or by distance, then one row by place in the period that
        serves every longer rest.
    by_rest
        Which of the two.
    period
        Number of rows at the end that serve longer rests.
    complete
        Whether time sufficed.
    """

    rows: Floats
    by_rest: bool
    period: int
    complete: bool

    def place(self, walk: Walk, distances: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rows that hold the values at some distances."""
        if not self.by_rest:
            return np.minimum(distances, len(self.rows)) - 1
        rest = walk.length - distances
        known = len(self.rows) - self.period
        return np.where(rest < known, rest, known + (distances - 1) % self.period)

    def value(self, places: NDArray[np.intp], states: Floats) -> Floats:
        """Cost to go from each state in each row; 0 where everything may be released."""
        right = np.clip(np.searchsorted(NODES, states), 1, len(NODES) - 1)
        part = np.clip((states - NODES[right - 1]) / (NODES[right] - NODES[right - 1]), 0, 1)
        cost = (1 - part) * self.rows[places, right - 1] + part * self.rows[places, right]
        return np.where(states <= 0, 0.0, cost)


def tabulate(walk: Walk, limit: float, deadline: Callable[[], float]) -> Table:
    """Table of a branch, right wherever the cost to go is below ``limit``."""
    if walk.period < walk.length or walk.length == 1:
        return _repeating(walk, limit, deadline)
    return _changing(walk, limit, deadline)


def _envelope(row: Floats, curve: Curve, cap: float) -> Floats:
    """The lower of a row and a curve; the curve may turn back (stops at the end of the chain)."""
    turns = np.flatnonzero(np.diff(np.sign(np.diff(curve.state)) < 0)) + 1
    for piece in np.split(np.arange(len(curve.state)), turns) if len(turns) else [slice(None)]:
        state, cost = curve.state[piece], curve.cost[piece]
        if state[0] > state[-1]:
            state, cost = state[::-1], cost[::-1]
        row = np.minimum(row, np.interp(NODES, state, cost, right=cap))
    return row


def _repeating(walk: Walk, limit: float, deadline: Callable[[], float]) -> Table:
    cap, tolerance = 2 * limit + scale(walk), 1e-12 * scale(walk)
    inner = [np.full(len(NODES), cap)] * walk.period
    rows, sweeps, quiet = [], list[Curve | None](), 0
    end = seed(walk, walk.length, 1.0, _COARSE)
    for rest in range(1, min(walk.length, _ROWS) + 1):
        distance = walk.length - rest + 1
        end = extend(walk, end, distance) if rest > 1 else end
        row = _envelope(inner[walk.index(distance)], end, cap)
        changed = _improves(row, inner[walk.index(distance)], limit, tolerance)
        rows.append(row)
        sweeps = longer(walk, sweeps, rest, _COARSE)
        for stop, curve in enumerate(sweeps):
            if curve is not None:
                start = (stop - rest + 1) % walk.period
                lower = _envelope(inner[start], curve, cap)
                changed |= _improves(lower, inner[start], limit, tolerance)
                inner[start] = lower
        # What the last record adds nothing to, a longer rest adds nothing to: the value is a fixed point
        # wherever it is below the limit, and dearer states are never on the way.
        quiet = 0 if changed else quiet + 1
        if quiet > walk.period or deadline() <= 0:
            break
    complete = quiet > walk.period or len(rows) == walk.length
    return Table(np.array(rows + inner), True, walk.period, complete)


def _improves(new: Floats, old: Floats, limit: float, tolerance: float) -> bool:
    return bool(np.any((new < old - tolerance) & (new <= limit)))


def _changing(walk: Walk, limit: float, deadline: Callable[[], float]) -> Table:
    """Backwards over distances, keeping only the curves that are cheapest somewhere.

    A curve that is nowhere the cheapest at one distance is nowhere the cheapest at a nearer one.
    """
    cap, tolerance = 2 * limit + scale(walk), 1e-12 * scale(walk)
    farthest = int(np.searchsorted(np.cumsum(walk.weights[:, 1]), limit)) + 1
    rows: list[Floats] = []
    active: list[Curve] = []
    for distance in range(min(farthest, walk.length), 0, -1):
        active = [extend(walk, curve, distance) for curve in active]
        threshold = stop_threshold(walk, distance)
        if threshold > 0:
            active.append(seed(walk, distance, threshold, _COARSE))
        top = np.full(len(NODES), cap)
        values = np.array([_envelope(top, curve, cap) for curve in active]).reshape(-1, len(NODES))
        row = values.min(axis=0, initial=cap)
        useful = np.any((values <= row + tolerance) & (values <= limit), axis=1)
        active = [curve for curve, keep in zip(active, useful, strict=True) if keep]
        rows.append(row)
        if deadline() <= 0:
            rows.extend([top] * (distance - 1))
            return Table(np.array(rows[::-1]), False, 0, False)
    return Table(np.array(rows[::-1]), False, 0, True)

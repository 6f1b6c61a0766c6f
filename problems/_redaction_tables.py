"""Proven lower bounds on the cost to go of one branch on one side of a private record.

The state rho of a branch (see :meth:`privopt.problems._redaction_side.Reach.start`) obeys, at a record whose labels
weigh w0 and w1, with next step (a, b) and ``T(s) = ((1-b) s - a) / ((1-a) - b s)``,

    V(rho) = w1 + min over s in [rho, 1] of  w0 rho / s + V'(T(s)),      V'(rho <= 0) = 0,

V' being the next record's value and 0 past the end of the chain. Both are non-decreasing. Let L' <= V' be piecewise
linear. Three facts turn it into a piecewise linear L <= V on a grid that has kappa = T^-1(0) among its nodes:

1. On a cell of s take a line ``alpha + gamma s <= L'(T(s))``, gamma >= 0. T is convex and increasing, so L'(T) is
   convex between kinks and the largest alpha for a given gamma is in closed form.
2. For s in a cell, ``w0 rho / s + alpha + gamma s`` is least at ``sqrt(w0 rho / gamma)`` clipped to the cell.
   For s in cells beyond that of rho the least value is an infimum of linear functions of rho: concave.
3. For s in the cell [u, v] of rho itself, s >= rho, the least value has slope w0 / v in rho, then
   ``sqrt(w0 gamma / rho)``, then gamma, meeting without jumps: concave too.

A concave function lies above its chords, so the line through the least end values of 2 and 3 is below V on the
cell. The error is of second order in the cell width. The minimiser of 2 does not decrease in rho (the cross
derivative of rho / s is negative), which is used to search cells by halving.

Rounding: every alpha is lowered by 1e-15 (gamma + 1) times the unit of cost, and every value by 1e-14 of its size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.problems._redaction_side import Floats, Walk


@dataclass(frozen=True, eq=False)
class Row:
    """A piecewise linear lower bound, which may jump up at nodes.

    Parameters
    ----------
    nodes
        From 0 to 1.
    starts, ends
        The bound's limits at the left and the right end of every cell.
    jumps
        The nodes at which the value itself may jump: kappa, and the states that lead to a later kappa.
    """

    nodes: Floats
    starts: Floats
    ends: Floats
    jumps: Floats

    def at(self, states: Floats) -> Floats:
        """The bound at some states, each lowered a little against rounding; 0 where release may be allowed."""
        lowered = states * (1 - 1e-12)
        cell = np.clip(np.searchsorted(self.nodes, lowered) - 1, 0, len(self.starts) - 1)
        part = (lowered - self.nodes[cell]) / (self.nodes[cell + 1] - self.nodes[cell])
        part = np.clip(part, 0, 1)
        return np.where(states <= 1e-12, 0.0, (1 - part) * self.starts[cell] + part * self.ends[cell])


@dataclass(frozen=True, eq=False)
class LowerTable:
    """Rows by number of records from a distance to the end (repeating walks) or by distance."""

    rows: list[Row]
    by_rest: bool

    def row(self, walk: Walk, distance: int) -> Row:
        """A valid row: a longer rest costs more, so a shorter one's row serves."""
        if not self.by_rest:
            return self.rows[min(distance, len(self.rows)) - 1]
        excess = max(0, walk.length - distance + 1 - len(self.rows))
        rounds = -(-excess // walk.period)
        return self.rows[walk.length - distance - rounds * walk.period]


def lower_table(
    walk: Walk, size: int, cap: float, most: int, deadline: Callable[[], float] = lambda: np.inf
) -> LowerTable:
    """Rows for at most ``most`` distances, values cut at ``cap``; TimeoutError when no seconds are left."""
    by_rest = walk.period < walk.length or walk.length == 1
    farthest = walk.length if by_rest else min(walk.length, most)
    rows: list[Row] = []
    quiet = 0
    for distance in range(farthest, 0, -1):
        rows.append(_row(walk, distance, rows[-1] if rows else None, size, cap))
        if deadline() <= 0:
            raise TimeoutError
        before = rows[-1 - walk.period] if len(rows) > walk.period else None
        quiet = quiet + 1 if before is not None and _alike(before, rows[-1], 1e-11 * cap) else 0
        if by_rest and (quiet > walk.period or len(rows) >= most):
            break
    return LowerTable(rows if by_rest else rows[::-1], by_rest)


def _alike(one: Row, other: Row, tolerance: float) -> bool:
    if len(one.nodes) != len(other.nodes):
        return False
    return bool(np.all(np.abs(one.starts - other.starts) <= tolerance))


_APART = 1e-9
_JUMPS = 256


def _nodes(size: int, jumps: Floats) -> Floats:
    """Logistic spacing, giving way to jumps."""
    base = np.concatenate(([0.0], 1 / (1 + np.exp(-np.linspace(-9, 9, size))), [1.0]))
    walls = np.concatenate(([-1.0], jumps, [2.0]))
    after = np.searchsorted(walls, base)
    free = np.minimum(base - walls[after - 1], walls[np.minimum(after, len(walls) - 1)] - base) > _APART
    return np.sort(np.concatenate((base[free], jumps)))


def _row(walk: Walk, distance: int, following: Row | None, size: int, cap: float) -> Row:
    i, j = walk.index(distance), walk.index(distance + 1)
    w0, w1 = (float(weight) for weight in walk.weights[i])
    if following is None:
        jumps = np.empty(0)
        nodes = _nodes(size, jumps)
        alpha, gamma = np.zeros(len(nodes) - 1), np.zeros(len(nodes) - 1)
    else:
        step = _Step(float(walk.cross[j]), float(walk.back[j]), float(walk.determinants[j]))
        jumps = _pulled_jumps(step, following.jumps)
        nodes = _nodes(size, jumps)
        alpha, gamma = _lines(nodes, following, step)
    alpha = alpha - 1e-15 * (gamma + cap)
    starts = np.minimum((w1 + _least(nodes, alpha, gamma, w0)) * (1 - 1e-14), cap)
    ends = np.minimum((w1 + w0 + alpha + gamma * nodes[1:]) * (1 - 1e-14), cap)
    # The value does not decrease, so what holds at one state holds from there on.
    both = np.maximum.accumulate(np.column_stack((starts[:-1], np.minimum(ends, starts[1:]))).ravel())
    both = np.maximum(both, 0.0)
    return Row(nodes, both[::2], both[1::2], jumps)


@dataclass(frozen=True)
class _Step:
    """The map T of one step and its inverse."""

    a: float
    b: float
    det: float

    @property
    def kappa(self) -> float:
        """Where T is 0."""
        return min(self.a / (1 - self.b), 1.0) if self.b < 1 else 1.0

    def forward(self, s: Floats) -> Floats:
        return ((1 - self.b) * s - self.a) / ((1 - self.a) - self.b * s)

    def inverse(self, state: Floats) -> Floats:
        return np.maximum(((1 - self.a) * state + self.a) / (self.b * state + 1 - self.b), self.kappa)

    def turning(self, ratio: Floats) -> Floats:
        """Where the derivative of T is ``1 / ratio``."""
        return (
            ((1 - self.a) - np.sqrt(self.det * ratio)) / self.b if self.b > 0 else np.full_like(ratio, np.inf)
        )


def _pulled_jumps(step: _Step, jumps: Floats) -> Floats:
    found = np.sort(np.concatenate(([step.kappa], step.inverse(jumps))))
    found = found[(found > 1e-8) & (found < 1 - 1e-5)]  # 0 and 1 stay nodes
    return found[np.diff(found, prepend=-1.0) > _APART][:_JUMPS]


def _lines(nodes: Floats, following: Row, step: _Step) -> tuple[Floats, Floats]:
    """On every cell a line below ``s -> following(T(s))``: zero up to kappa, tight to second order beyond.

    The chord's slope is taken, or 0 where a jump inside the cell would push such a line far down.
    """
    alpha, gamma = np.zeros(len(nodes) - 1), np.zeros(len(nodes) - 1)
    kappa = step.kappa
    # A cell with kappa inside it (kappa too near an end to be a node) keeps the line 0.
    first = int(np.searchsorted(nodes, kappa))
    if first >= len(nodes) - 1:
        return alpha, gamma
    pulled = step.inverse(following.nodes)
    pulled[0], pulled[-1] = kappa, 1.0
    kinks = np.unique(np.concatenate((nodes[first:], pulled[pulled >= nodes[first]])))
    left, right = kinks[:-1], kinks[1:]
    middle = (left + right) / 2
    piece = np.clip(np.searchsorted(pulled, middle) - 1, 0, len(pulled) - 2)
    cell = np.clip(np.searchsorted(nodes[first:], middle) - 1, 0, len(nodes) - first - 2)
    pieces = _Pieces(following, step, piece)
    low, high = pieces.at(left), pieces.at(right)
    begins = np.searchsorted(kinks, nodes[first:])
    bottom, top = low[begins[:-1]], high[begins[1:] - 1]
    slope = np.maximum((top - bottom) / np.diff(nodes[first:]), 0.0)
    chord = np.minimum.reduceat(pieces.least(left, right, slope[cell]), begins[:-1])
    flat = np.minimum.reduceat(low, begins[:-1])
    sunk = flat - (chord + slope * nodes[first:-1]) > (top - bottom) / 2
    alpha[first:], gamma[first:] = np.where(sunk, flat, chord), np.where(sunk, 0.0, slope)
    return alpha, gamma


@dataclass(frozen=True, eq=False)
class _Pieces:
    """``s -> following(T(s))`` on intervals within a piece each: convex there."""

    following: Row
    step: _Step
    piece: NDArray[np.intp]

    @property
    def _beta(self) -> Floats:
        rise = self.following.ends - self.following.starts
        return (rise / np.diff(self.following.nodes))[self.piece]

    def at(self, s: Floats) -> Floats:
        """Values at one point of each interval."""
        base, node = self.following.starts[self.piece], self.following.nodes[self.piece]
        return np.asarray(base + self._beta * (self.step.forward(s) - node), dtype=np.float64)

    def least(self, left: Floats, right: Floats, slope: Floats) -> Floats:
        """Least value of each piece minus ``slope * s``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            turning = self.step.turning(self._beta / slope)
        turning = np.clip(np.where(np.isfinite(turning), turning, right), left, right)
        tried = [self.at(s) - slope * s for s in (left, turning, right)]
        return np.minimum(np.minimum(tried[0], tried[1]), tried[2])


def _least(nodes: Floats, alpha: Floats, gamma: Floats, w0: float) -> Floats:
    """At each node the least of ``w0 rho / s + alpha + gamma s`` over s in the cells from there on."""
    cells = len(alpha)
    with np.errstate(divide="ignore", over="ignore"):
        ratio = np.minimum(np.sqrt(w0 / gamma) if w0 > 0 else np.zeros(cells), 1e300)
    roots = np.sqrt(nodes)

    def cost(i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        s = np.clip(roots[i] * ratio[j], nodes[j], nodes[j + 1])
        return np.asarray(w0 * nodes[i] / np.maximum(s, 1e-300) + alpha[j] + gamma[j] * s, dtype=np.float64)

    return _monotone_minima(cells, cost)


_Cost = Callable[[NDArray[np.intp], NDArray[np.intp]], Floats]


def _monotone_minima(cells: int, cost: _Cost) -> Floats:
    """Row minima of ``cost(i, j)`` over j >= i, whose places do not decrease with i; the last row has none."""
    least, place = np.full(cells + 1, np.inf), np.full(cells + 1, cells - 1)
    start = np.zeros(1, dtype=np.intp)
    least[start], place[start] = _search(start, start, start + cells - 1, cost)
    stride = 1 << cells.bit_length()
    while stride >= 1:
        rows = np.arange(stride, cells, 2 * stride)
        if len(rows):
            low = np.maximum(place[rows - stride], rows)
            high = np.maximum(place[np.minimum(rows + stride, cells)], low)
            least[rows], place[rows] = _search(rows, low, high, cost)
        stride //= 2
    return least


def _search(
    rows: NDArray[np.intp], low: NDArray[np.intp], high: NDArray[np.intp], cost: _Cost
) -> tuple[Floats, NDArray[np.intp]]:
    """Least value of each row between two columns, and where."""
    counts = high - low + 1
    starts = np.cumsum(counts) - counts
    columns = np.arange(int(counts.sum())) - np.repeat(starts - low, counts)
    values = cost(np.repeat(rows, counts), columns)
    least = np.minimum.reduceat(values, starts)
    hits = np.where(values == np.repeat(least, counts), columns, columns[-1] + 1)
    return least, np.minimum.reduceat(hits, starts)

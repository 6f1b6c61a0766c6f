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
    """A piecewise linear lower bound: ``values`` at ``nodes`` (from 0, where it is the limit from the right)."""

    nodes: Floats
    values: Floats

    def at(self, states: Floats) -> Floats:
        """The bound at some states, each lowered a little against rounding; 0 where release may be allowed."""
        return np.where(states <= 1e-12, 0.0, np.interp(states * (1 - 1e-12), self.nodes, self.values))


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


def lower_table(walk: Walk, size: int, cap: float, most: int) -> LowerTable:
    """Rows for at most ``most`` distances, values cut at ``cap``."""
    by_rest = walk.period < walk.length or walk.length == 1
    farthest = walk.length if by_rest else min(walk.length, most)
    rows: list[Row] = []
    quiet = 0
    for distance in range(farthest, 0, -1):
        rows.append(_row(walk, distance, rows[-1] if rows else None, size, cap))
        before = len(rows) - 1 - walk.period
        same = (
            by_rest
            and before >= 0
            and bool(np.all(np.abs(rows[before].values - rows[-1].values) <= 1e-11 * cap))
        )
        quiet = quiet + 1 if same else 0
        if by_rest and (quiet > walk.period or len(rows) >= most):
            break
    return LowerTable(rows if by_rest else rows[::-1], by_rest)


def _alike(one: Row, other: Row, tolerance: float) -> bool:
    if len(one.nodes) != len(other.nodes):
        return False
    return bool(np.all(np.abs(one.values - other.values) <= tolerance))


def _nodes(size: int, kappa: float) -> Floats:
    inner = 1 / (1 + np.exp(-np.linspace(-9, 9, size)))
    return np.unique(np.concatenate(([0.0], inner, [min(kappa, 1.0), 1.0])))


def _row(walk: Walk, distance: int, following: Row | None, size: int, cap: float) -> Row:
    i, j = walk.index(distance), walk.index(distance + 1)
    w0, w1 = (float(weight) for weight in walk.weights[i])
    if following is None:
        nodes = _nodes(size, 1.0)
        alpha, gamma = np.zeros(len(nodes) - 1), np.zeros(len(nodes) - 1)
    else:
        a, b, det = float(walk.cross[j]), float(walk.back[j]), float(walk.determinants[j])
        nodes = _nodes(size, a / (1 - b) if b < 1 else 1.0)
        alpha, gamma = _lines(nodes, following, a, b, det)
    alpha = alpha - 1e-15 * (gamma + cap)
    beyond = _least(nodes, alpha, gamma, w0)
    beside = np.concatenate((w0 + alpha + gamma * nodes[1:], [np.inf]))
    values = w1 + np.minimum(beyond, np.concatenate(([np.inf], beside[:-1])))
    values = np.minimum(values * (1 - 1e-14), cap)
    return Row(nodes, np.maximum.accumulate(np.maximum(values, 0.0)))


def _lines(nodes: Floats, following: Row, a: float, b: float, det: float) -> tuple[Floats, Floats]:
    """On every cell a line below ``s -> following(T(s))``: zero up to kappa, tight to second order beyond."""
    kappa = min(a / (1 - b), 1.0) if b < 1 else 1.0
    pulled = ((1 - a) * following.nodes + a) / (b * following.nodes + 1 - b)
    pulled[0], pulled[-1] = kappa, 1.0
    kinks = np.unique(np.concatenate((nodes, pulled)))
    kinks = kinks[kinks >= kappa]
    first = int(np.searchsorted(nodes, kappa))
    alpha, gamma = np.zeros(len(nodes) - 1), np.zeros(len(nodes) - 1)
    if first >= len(nodes) - 1:
        return alpha, gamma
    # The piece of ``following`` over each interval between kinks, and the cell it is in.
    middle = (kinks[1:] + kinks[:-1]) / 2
    piece = np.clip(np.searchsorted(pulled, middle) - 1, 0, len(pulled) - 2)
    cell = np.searchsorted(nodes, middle) - 1
    beta = np.diff(following.values)[piece] / np.diff(following.nodes)[piece]

    def value(s: Floats) -> Floats:
        mapped = ((1 - b) * s - a) / ((1 - a) - b * s)
        return following.values[piece] + beta * (mapped - following.nodes[piece])

    ends = np.searchsorted(kinks, nodes[first:])
    heights = np.append(value(kinks[:-1])[ends[:-1]], value(kinks[1:])[-1])
    gamma[first:] = np.maximum(np.diff(heights) / np.diff(nodes[first:]), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        turning = ((1 - a) - np.sqrt(det * beta / gamma[cell])) / b if b > 0 else kinks[:-1]
    turning = np.where(np.isfinite(turning), turning, kinks[1:])
    gap = np.full(len(middle), np.inf)
    for s in (kinks[:-1], np.clip(turning, kinks[:-1], kinks[1:]), kinks[1:]):
        gap = np.minimum(gap, value(s) - gamma[cell] * s)
    alpha[first:] = np.minimum.reduceat(gap, ends[:-1])
    return alpha, gamma


def _least(nodes: Floats, alpha: Floats, gamma: Floats, w0: float) -> Floats:
    """At each node the least of ``w0 rho / s + alpha + gamma s`` over s in the cells from there on."""
    cells = len(alpha)
    with np.errstate(divide="ignore", over="ignore"):
        ratio = np.minimum(np.sqrt(w0 / gamma) if w0 > 0 else np.zeros(cells), 1e300)
    roots = np.sqrt(nodes)

    def cost(i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        s = np.clip(roots[i] * ratio[j], nodes[j], nodes[j + 1])
        return w0 * nodes[i] / np.maximum(s, 1e-300) + alpha[j] + gamma[j] * s

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

"""Proven lower bounds on the cost to go of one branch on one side of a private record.

The state rho of a branch (see :func:`privopt.problems.redaction.bound.start`) obeys, at a record whose labels weigh w0
and w1, with next step (a, b) of determinant det = 1 - a - b and ``T(s) = (det s - a (1-s)) / (det + b (1-s))``,

    V(rho) = w1 + min over s in [rho, 1] of  w0 rho / s + V'(T(s)),      V'(rho <= 0) = 0,

V' being the next record's value and 0 past the end of the chain. Both are non-decreasing. Let L' <= V' be piecewise
linear. Three facts turn it into a piecewise linear L <= V on a grid that has kappa = T^-1(0) among its nodes:

1. On a cell [u, v] of s take a line ``base + gamma (s - u) <= L'(T(s))``, gamma >= 0. T is convex and increasing, so
   L'(T) is convex between kinks and lies above its tangents there.
2. For s in a cell, ``w0 rho / s + base + gamma (s - u)`` is least at ``sqrt(w0 rho / gamma)`` clipped to the cell.
   For s in cells beyond that of rho the least value is an infimum of linear functions of rho: concave.
3. For s in the cell [u, v] of rho itself, s >= rho, the least value has slope w0 / v in rho, then
   ``sqrt(w0 gamma / rho)``, then gamma, meeting without jumps: concave too.

A concave function lies above its chords, so the line through the least end values of 2 and 3 is below V on the
cell. The error is of second order in the cell width. The minimiser of 2 does not decrease in rho (the cross
derivative of rho / s is negative), which is used to search cells by halving.

Rounding. u = 2^-53 bounds the relative error of every operation and 2u that of a, b and det; the weights are rounded down.
No term below is negative but where a difference is taken, so relative errors add up:

- T is off by at most 16u for kappa <= s <= 1: there a (1-s) <= det s, which bounds the numerator's error by 8u det s, and
  det s / (det + b (1-s)) <= 1. Its inverse and kappa have sums of positive terms only; they are rounded up, so
  that a piece of L' begins where T has certainly reached it, and what T overshoots its end by is charged.
- The least value of a convex piece is at least its tangent's at any point tried: its distance to both ends is charged with
  the slope there.
- The float minimum over cells may name a wrong cell where two nearly tie. With f the exact cost of a cell, g the float,
  ``(1 - 16u) g - 16u gamma (v - u) <= f <= (1 + 16u) g``; the cell named at one node is off by some d, and because
  costs of later cells rise more slowly in rho, restricting another node to its far side is off by no more than that d
  (monotone minima); halving nests at most ``1 + log2(cells)`` deep.
- Values are lowered from the far end on until they do not decrease.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.problems.redaction.track import Clock, Track, U

_APART = 1e-9
_JUMPS = 256


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
        """At most the bound at some states; 0 where release may be allowed."""
        cell = np.clip(np.searchsorted(self.nodes, states) - 1, 0, len(self.starts) - 1)
        part = (states - self.nodes[cell]) / (self.nodes[cell + 1] - self.nodes[cell])
        part = np.clip(part * (1 - 4 * U), 0, 1)
        value = self.starts[cell] + part * (self.ends[cell] - self.starts[cell])
        return np.where(states > 0, value * (1 - 8 * U), 0.0)


@dataclass(frozen=True, eq=False)
class LowerTable:
    """Rows by number of records from a distance to the end (repeating tracks) or by distance."""

    rows: list[Row]
    by_rest: bool

    def at(self, track: Track, distance: int, states: Floats) -> Floats:
        """At most the cost to go from some states at a distance."""
        return self.row(track, distance).at(states)

    def row(self, track: Track, distance: int) -> Row:
        """A valid row: a longer rest costs more, so a shorter one's row serves."""
        if not self.by_rest:
            return self.rows[min(distance, len(self.rows)) - 1]
        excess = max(0, track.length - distance + 1 - len(self.rows))
        rounds = -(-excess // track.period)
        return self.rows[track.length - distance - rounds * track.period]


def lower_table(
    track: Track, size: int, cap: float, most: int, clock: Clock = lambda: math.inf
) -> LowerTable:
    """Rows for at most ``most`` distances, values cut at ``cap``; TimeoutError when no seconds are left."""
    by_rest = track.period < track.length or track.length == 1
    farthest = track.length if by_rest else min(track.length, most)
    rows: list[Row] = []
    quiet = 0
    for distance in range(farthest, 0, -1):
        rows.append(_row(track, distance, rows[-1] if rows else None, size, cap))
        if clock() <= 0:
            raise TimeoutError
        before = rows[-1 - track.period] if len(rows) > track.period else None
        quiet = quiet + 1 if before is not None and _alike(before, rows[-1], 1e-11 * cap) else 0
        if by_rest and (quiet > track.period or len(rows) >= most):
            break
    return LowerTable(rows if by_rest else rows[::-1], by_rest)


def _alike(one: Row, other: Row, tolerance: float) -> bool:
    if len(one.nodes) != len(other.nodes):
        return False
    return bool(np.all(np.abs(one.starts - other.starts) <= tolerance))


@lru_cache(maxsize=32)
def _spaced(size: int) -> Floats:
    """0, logistic spacing from -9 to 9, 1: by products and quotients only, which all processors round alike."""
    from flint import arb

    ratio = math.ldexp(round(math.ldexp(float((arb(-18) / (size - 1)).exp().mid()), 48)), -48)
    odds = np.multiply.accumulate(np.concatenate(([8103.0], np.full(size - 1, ratio))))
    nodes: Floats = np.concatenate(([0.0], 1 / (1 + odds), [1.0]))
    nodes.setflags(write=False)
    return nodes


def grid(size: int, jumps: Floats) -> Floats:
    """Nodes in logistic spacing, giving way to jumps."""
    base = _spaced(size)
    walls = np.concatenate(([-1.0], jumps, [2.0]))
    after = np.searchsorted(walls, base)
    free = np.minimum(base - walls[after - 1], walls[np.minimum(after, len(walls) - 1)] - base) > _APART
    return np.sort(np.concatenate((base[free], jumps)))


@dataclass(frozen=True, eq=False)
class Lines:
    """A line on every cell: its value at the cell's left end, and its slope."""

    base: Floats
    gamma: Floats


def _row(track: Track, distance: int, following: Row | None, size: int, cap: float) -> Row:
    i, j = track.index(distance), track.index(distance + 1)
    w0, w1 = (float(weight) for weight in track.weights[i])
    if following is None:
        jumps = np.empty(0)
        nodes = grid(size, jumps)
        lines = Lines(np.zeros(len(nodes) - 1), np.zeros(len(nodes) - 1))
    else:
        step = StepMap(float(track.cross[j]), float(track.back[j]), float(track.determinants[j]))
        jumps = pulled_jumps(step, following.jumps)
        nodes = grid(size, jumps)
        lines = lines_below(nodes, following, step)
    rise = lines.gamma * np.diff(nodes)
    least, depth = _least(nodes, lines, w0)
    inner = least[:-1]
    error = (depth + 1) * U * (32 * float(inner.max()) + 16 * float(rise.max(initial=0.0))) * (1 + 64 * U)
    starts = np.minimum((w1 + np.maximum(inner - error, 0.0)) * (1 - 4 * U), cap)
    ends = np.minimum((w1 + w0 + lines.base + rise) * (1 - 8 * U), cap)
    both = np.column_stack((starts, np.minimum(ends, np.append(starts[1:], cap)))).ravel()
    both = np.minimum.accumulate(both[::-1])[::-1]
    return Row(nodes, both[::2], both[1::2], jumps)


@dataclass(frozen=True)
class StepMap:
    """The map T of one step and its inverse."""

    a: float
    b: float
    det: float

    def forward(self, s: Floats) -> Floats:
        """T, to within 16u."""
        left = 1 - s
        return (self.det * s - self.a * left) / (self.det + self.b * left)

    def slope(self, s: Floats) -> Floats:
        """Derivative of T, to within a share of 16u."""
        return self.det / (self.det + self.b * (1 - s)) ** 2

    def inverse(self, state: Floats) -> Floats:
        """At least the inverse of T; for state 0 this is kappa, which is 0 only if a is."""
        s = ((self.det + self.b) * state + self.a) / (self.b * state + (self.det + self.a))
        return np.where(s == 0, 0.0, np.minimum(s * (1 + 16 * U) + 2.0**-800, 1.0))

    def turning(self, ratio: Floats) -> Floats:
        """About where the derivative of T is ``1 / ratio``."""
        return (
            1 - (np.sqrt(self.det * ratio) - self.det) / self.b
            if self.b > 0
            else np.full_like(ratio, math.inf)
        )


def pulled_jumps(step: StepMap, jumps: Floats) -> Floats:
    """The states that the step takes to 0 and to jumps, well apart."""
    pulled = np.sort(step.inverse(np.concatenate(([0.0], jumps))))
    pulled = pulled[(pulled > 1e-8) & (pulled < 1 - 1e-5)]  # 0 and 1 stay nodes
    return pulled[np.diff(pulled, prepend=-1.0) > _APART][:_JUMPS]


def lines_below(nodes: Floats, following: Row, step: StepMap) -> Lines:
    """On every cell a line below ``s -> following(T(s))``: zero up to kappa, tight to second order beyond.

    The chord's slope is taken, or 0 where a jump inside the cell would push such a line far down.
    """
    base, gamma = np.zeros(len(nodes) - 1), np.zeros(len(nodes) - 1)
    pulled = np.maximum.accumulate(step.inverse(following.nodes))
    pulled[-1] = 1.0
    # A cell with kappa inside it (kappa too near an end to be a node) keeps the line 0.
    first = int(np.searchsorted(nodes, pulled[0]))
    if first >= len(nodes) - 1:
        return Lines(base, gamma)
    kinks = np.unique(np.concatenate((nodes[first:], pulled[pulled >= nodes[first]])))
    left, right = kinks[:-1], kinks[1:]
    middle = (left + right) / 2
    piece = np.clip(np.searchsorted(pulled, middle) - 1, 0, len(pulled) - 2)
    cell = np.clip(np.searchsorted(nodes[first:], middle) - 1, 0, len(nodes) - first - 2)
    pieces = _Pieces.of(following, step, piece, left, right)
    begins = np.searchsorted(kinks, nodes[first:])
    low, high = pieces.at(left), pieces.at(right)
    bottom, top = low[begins[:-1]], high[begins[1:] - 1]
    width = np.diff(nodes[first:])
    slope = np.maximum((top - bottom) / width, 0.0)
    corner = nodes[first:-1]
    chord = np.minimum.reduceat(pieces.least(slope[cell], corner[cell]), begins[:-1])
    flat = np.minimum.reduceat(low - pieces.error(left), begins[:-1])
    sunk = (flat - chord > (top - bottom) / 2) | (chord < 0)
    base[first:], gamma[first:] = np.maximum(np.where(sunk, flat, chord), 0.0), np.where(sunk, 0.0, slope)
    return Lines(base, gamma)


@dataclass(frozen=True, eq=False)
class _Pieces:
    """``s -> following(T(s))`` on intervals within a piece each: convex there.

    ``begin`` and ``node`` are the piece's value and state where it begins, ``beta`` its slope, and ``overshoot`` what its
    line may exceed the bound by where T passes its end.
    """

    step: StepMap
    left: Floats
    right: Floats
    begin: Floats
    node: Floats
    beta: Floats
    overshoot: Floats

    @classmethod
    def of(
        cls, following: Row, step: StepMap, piece: NDArray[np.intp], left: Floats, right: Floats
    ) -> _Pieces:
        rise = (following.ends - following.starts) / np.diff(following.nodes)
        beta = rise[piece]
        past = np.maximum(step.forward(right) + 16 * U - following.nodes[piece + 1], 0.0) * (1 + 4 * U)
        return cls(
            step,
            left,
            right,
            following.starts[piece],
            following.nodes[piece],
            beta,
            beta * past * (1 + 8 * U),
        )

    def at(self, s: Floats) -> Floats:
        """Values at one point of each interval, as floats have them."""
        return self.begin + self.beta * (self.step.forward(s) - self.node)

    def error(self, s: Floats) -> Floats:
        """By how much the float values at some points may exceed the bound."""
        return 32 * U * self.beta + 16 * U * (self.begin + np.abs(self.at(s))) + self.overshoot

    def least(self, slope: Floats, corner: Floats) -> Floats:
        """At most the least value of each piece minus ``slope * (s - corner)``: the best of three tangents."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            turning = self.step.turning(self.beta / slope)
        turning = np.clip(np.where(np.isfinite(turning), turning, self.right), self.left, self.right)
        own = self.beta * self.step.slope(turning)
        lean, blur = own - slope, 32 * U * (own + slope)
        off = np.maximum(lean, 0.0) * (turning - self.left) + np.maximum(-lean, 0.0) * (self.right - turning)
        line = slope * (turning - corner)
        lost = off * (1 + 8 * U) + blur * (self.right - self.left) + 8 * U * line + self.error(turning)
        return (self.at(turning) - line) - lost * (1 + 32 * U)


def _least(nodes: Floats, lines: Lines, w0: float) -> tuple[Floats, int]:
    """At each node the least of ``w0 rho / s + base + gamma (s - u)`` over s in the cells from there on, in floats.

    Also how deep the search by halving was.
    """
    cells = len(lines.base)
    with np.errstate(divide="ignore", over="ignore"):
        ratio = np.minimum(np.sqrt(w0 / lines.gamma) if w0 > 0 else np.zeros(cells), 1e300)
    roots = np.sqrt(nodes)
    left, right = nodes[:-1], nodes[1:]

    def cost(i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        s = np.clip(roots[i] * ratio[j], left[j], right[j])
        turned = w0 * nodes[i] / np.maximum(s, 1e-300)
        return np.asarray(turned + (lines.base[j] + lines.gamma[j] * (s - left[j])), dtype=np.float64)

    return _monotone_minima(cells, cost)


_Cost = Callable[[NDArray[np.intp], NDArray[np.intp]], Floats]


def _monotone_minima(cells: int, cost: _Cost) -> tuple[Floats, int]:
    """Row minima of ``cost(i, j)`` over j >= i, whose places do not decrease with i; the last row has none."""
    least, place = np.full(cells + 1, np.inf), np.full(cells + 1, cells - 1)
    start = np.zeros(1, dtype=np.intp)
    least[start], place[start] = _search(start, start, start + cells - 1, cost)
    stride, depth = 1 << cells.bit_length(), 1
    while stride >= 1:
        rows = np.arange(stride, cells, 2 * stride)
        if len(rows):
            before, after = place[rows - stride], place[np.minimum(rows + stride, cells)]
            low = np.maximum(np.minimum(before, after), rows)
            high = np.maximum(np.maximum(before, after), low)
            least[rows], place[rows] = _search(rows, low, high, cost)
            depth += 1
        stride //= 2
    return least, depth


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

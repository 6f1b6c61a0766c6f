"""Proven lower bounds on the cost to go of one branch on one side, for the sequential form.

There a record is hidden while nothing nearer is released, so the cost depends on the state rho of a branch (see
:mod:`privopt.problems.redaction.tables`) and on u, the chances that nothing is released yet and the record has label 0 or 1:

    V(rho, u) = min over s in [rho, 1] of  w (q u0 + u1) + V'(T(s), (q u0, u1) M),   q = rho / s,   V'(rho <= 0, .) = 0,

w being the record's weight and M the step to the next one. For any controls the cost is linear in u, so V is concave and
homogeneous in u: it lies above what it is at two mixtures ``y M[0] + (1 - y) M[1]``, the *rays*, around u. It does not decrease in rho
or u. A table holds for each of some rays a piecewise linear bound in rho. It rests on the facts of that module:

1. On a cell of s take a line below every ray's bound. With the same two rays around ``(q u0, u1)`` for all s of a cell, what is to be
   minimised there is ``rho P / s + Q s`` and a constant: convex, and above its tangents, or least at an end.
2. For a fixed s the true cost is concave in rho. So is its least value over s beyond the cell of rho.
3. In the cell [u, v] of rho itself, with one pair of rays, ``min over s in [rho, v] of rho P / s + Q s`` is concave in rho: its slope
   is P / v, then ``sqrt(P Q / rho)``, then Q, falling, and for P or Q below 0 it is linear or the smaller of two lines.

A concave function lies above its chords, so the line through the least end values is below V on the cell.

Rounding: terms are not negative but in P, Q and the slope of a tangent. All are off by a few dozen roundings of the sizes that
are added up, which is charged with ``_ERROR`` times them, thousands of roundings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.problems.redaction.tables import Lines, Row, StepMap, grid, lines_below, pulled_jumps
from privopt.problems.redaction.track import Clock, Track, U

_ERROR = 2.0**-40
_QUIET = 1e-11

Chances: TypeAlias = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Rays:
    """Bounds at one distance, by the share of label 0 one record nearer; all rows have the same nodes."""

    shares: Floats
    rows: tuple[Row, ...]

    def at(self, states: Floats, chances: Chances) -> Floats:
        """At most the value at some states, where nothing is released with these chances of both labels one record nearer."""
        one, two = chances
        if one + two <= 0:
            return np.zeros(len(states))
        place = int(np.clip(np.searchsorted(self.shares, one / (one + two)), 1, len(self.shares) - 1))
        low, high = float(self.shares[place - 1]), float(self.shares[place])
        first = max(high * two - (1 - high) * one, 0.0) / (high - low)
        second = max((1 - low) * one - low * two, 0.0) / (high - low)
        values = [row.at(states) for row in self.rows[place - 1 : place + 1]]
        blur = _ERROR * (values[0] + values[1]) / (high - low)
        return np.maximum(first * values[0] + second * values[1] - blur, 0.0)


@dataclass(frozen=True, eq=False)
class SequentialTable:
    """Rays by number of records from a distance to the end (repeating tracks) or by distance."""

    rows: list[Rays]
    by_rest: bool
    start: Chances

    def at(self, track: Track, distance: int, states: Floats) -> Floats:
        """At most the cost to go at a distance up to which all is hidden; a longer rest costs more."""
        return self._rays(track, distance).at(states, walked(track, self.start, distance - 1))

    def _rays(self, track: Track, distance: int) -> Rays:
        if not self.by_rest:
            return self.rows[min(distance, len(self.rows)) - 1]
        excess = max(0, track.length - distance + 1 - len(self.rows))
        rounds = -(-excess // track.period)
        return self.rows[track.length - distance - rounds * track.period]


def walked(track: Track, start: Chances, distance: int) -> Chances:
    """At most the chances of both labels at a distance, from those of the private record."""
    one, two = start
    for d in range(1, distance + 1):
        one, two = _stepped(track, d, one, two)
    return one, two


def _stepped(track: Track, distance: int, one: float, two: float) -> Chances:
    """At most the chances after the step into a distance; every term is within 8 roundings."""
    i = track.index(distance)
    cross, back, det = float(track.cross[i]), float(track.back[i]), float(track.determinants[i])
    less = 1 - 16 * U
    return (one * (det + back) + two * back) * less, (one * cross + two * (det + cross)) * less


def sequential_table(
    track: Track,
    start: Chances,
    sizes: tuple[int, int, int],
    cap: float,
    clock: Clock = lambda: math.inf,
) -> SequentialTable:
    """Tables with ``sizes`` nodes, rays and at most so many distances, values cut at ``cap``; TimeoutError when no seconds are left.

    What is cut stays concave and homogeneous in the chances: the cap is of those that add to 1.
    """
    size, rays, most = sizes
    by_rest = track.period < track.length or track.length == 1
    farthest = track.length if by_rest else min(track.length, most)
    shares = np.arange(rays) / (rays - 1)
    found: list[Rays] = []
    quiet = 0
    for distance in range(farthest, 0, -1):
        found.append(_rays(track, distance, found[-1] if found else None, shares, (size, cap), clock))
        before = found[-1 - track.period] if len(found) > track.period else None
        quiet = quiet + 1 if before is not None and _alike(before, found[-1]) else 0
        if by_rest and (quiet > track.period or len(found) >= most):
            break
    return SequentialTable(found if by_rest else found[::-1], by_rest, start)


def _alike(one: Rays, other: Rays) -> bool:
    pairs = list(zip(one.rows, other.rows, strict=True))
    if any(len(a.starts) != len(b.starts) for a, b in pairs):
        return False
    return all(bool(np.all(np.abs(a.starts - b.starts) <= _QUIET)) for a, b in pairs)


def _rays(
    track: Track,
    distance: int,
    following: Rays | None,
    shares: Floats,
    limits: tuple[int, float],
    clock: Clock,
) -> Rays:
    size, cap = limits
    i, j = track.index(distance), track.index(distance + 1)
    weight = float(track.weights[i].sum()) * (1 - 2 * U)
    if following is None:
        jumps = np.empty(0)
        nodes = grid(size, jumps)
        flat = Lines(np.zeros(len(nodes) - 1), np.zeros(len(nodes) - 1))
        lines = [flat] * len(shares)
    else:
        step = StepMap(float(track.cross[j]), float(track.back[j]), float(track.determinants[j]))
        jumps = pulled_jumps(step, following.rows[0].jumps)
        nodes = grid(size, jumps)
        lines = [lines_below(nodes, row, step) for row in following.rows]
    cells = _Cells(
        nodes, np.array([one.base for one in lines]), np.array([one.gamma for one in lines]), shares
    )
    rows = list[Row]()
    for share in shares.tolist():
        if clock() <= 0:
            raise TimeoutError
        rows.append(cells.row(_stepped(track, distance, share, 1 - share), weight, jumps, cap))
    return Rays(shares, tuple(rows))


@dataclass(frozen=True, eq=False)
class _Cells:
    """Lines on cells of s below the next record's bounds, (rays, cells), and the shares of label 0 of the rays."""

    nodes: Floats
    base: Floats
    gamma: Floats
    shares: Floats

    def row(self, chances: Chances, weight: float, jumps: Floats, cap: float) -> Row:
        """The bound at some chances of both labels, cut at a number."""
        count = len(self.nodes) - 1
        least = np.empty(count)
        for begin in range(0, count, _BLOCK):
            block = np.arange(begin, min(begin + _BLOCK, count))
            rows, columns = np.nonzero(np.arange(count) >= block[:, None])
            values = _Pairs.of(self, chances, weight, block[rows], columns).least()
            least[block] = np.minimum.reduceat(values, np.searchsorted(rows, np.arange(len(block))))
        own = _Pairs.of(self, chances, weight, np.arange(count), np.arange(count)).right_end()
        starts = np.clip(least, 0.0, cap)
        ends = np.minimum(np.maximum(own, 0.0), np.append(starts[1:], cap))
        both = np.column_stack((starts, ends)).ravel()
        both = np.minimum.accumulate(both[::-1])[::-1]
        return Row(self.nodes, both[::2], both[1::2], jumps)


_BLOCK = 64
"""Rows treated together, to bound the memory."""


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Cells of rho (its left end) and of s, one pair an entry, and what the next record costs there by two rays.

    ``one - one_less q`` and ``two_more q - two`` are how much of both rays makes ``(q u0, u1)``.
    """

    rho: Floats
    left: Floats
    right: Floats
    own: Floats
    one: Floats
    one_less: Floats
    two: Floats
    two_more: Floats
    bases: tuple[Floats, Floats]
    gammas: tuple[Floats, Floats]
    hidden: Chances

    @classmethod
    def of(cls, cells: _Cells, chances: Chances, weight: float, i: Ints, j: Ints) -> _Pairs:
        u0, u1 = chances
        shares, nodes = cells.shares, cells.nodes
        rho, left, right = nodes[i], nodes[j], nodes[j + 1]
        low = rho / right
        high = np.where(i == j, 1.0, np.minimum(rho / np.where(left > 0, left, 1.0), 1.0))
        least, most = (q * u0 / np.maximum(q * u0 + u1, 1e-300) for q in (low, high))
        below = np.searchsorted(shares, least * (1 - 64 * U), side="right") - 1
        above = np.searchsorted(shares, most * (1 + 64 * U))
        above = np.clip(above, 1, len(shares) - 1)
        below = np.clip(below, 0, above - 1)
        small, large = shares[below], shares[above]
        wide = large - small
        return cls(
            rho,
            left,
            right,
            high,
            large * u1 / wide,
            (1 - large) * u0 / wide,
            small * u1 / wide,
            (1 - small) * u0 / wide,
            (cells.base[below, j], cells.base[above, j]),
            (cells.gamma[below, j], cells.gamma[above, j]),
            (weight * u0, weight * u1),
        )

    def cost(self, s: Floats, q: Floats) -> Floats:
        """At a state, hiding label 0 with probability q."""
        past = s - self.left
        one = np.maximum(self.one - self.one_less * q, 0.0) * (self.bases[0] + self.gammas[0] * past)
        two = np.maximum(self.two_more * q - self.two, 0.0) * (self.bases[1] + self.gammas[1] * past)
        return np.asarray(self.hidden[0] * q + self.hidden[1] + one + two)

    @property
    def error(self) -> Floats:
        """What roundings may amount to."""
        width = self.right - self.left
        stretch = 1 + width / np.maximum(self.left, np.where(self.rho > 0, self.rho, 1.0))
        size = self.one + self.one_less + self.two + self.two_more
        most = np.maximum(self.bases[0] + self.gammas[0] * width, self.bases[1] + self.gammas[1] * width)
        return _ERROR * (self.hidden[0] + self.hidden[1] + size * most) * stretch * stretch

    def least(self) -> Floats:
        """At most the least cost over the cell of s."""
        (b0, b1), (g0, g1) = self.bases, self.gammas
        falling = (
            self.hidden[0] - self.one_less * (b0 - g0 * self.left) + self.two_more * (b1 - g1 * self.left)
        )
        rising = self.one * g0 - self.two * g1
        divided = np.where(self.left > 0, self.left, 1.0)
        at_left = self.cost(self.left, np.where(self.left > 0, np.minimum(self.rho / divided, 1.0), 0.0))
        at_right = self.cost(self.right, self.rho / self.right)
        inside = (falling > 0) & (rising > 0) & (self.left > 0)
        with np.errstate(over="ignore"):  # beyond all numbers it is clipped to the cell
            turn = np.sqrt(np.where(inside, self.rho * falling / np.where(inside, rising, 1.0), 0.0))
        turn = np.clip(turn, self.left, self.right)
        safe = np.where(inside, turn, 1.0)
        slope = rising - self.rho * falling / (safe * safe)
        below = np.maximum(slope, 0.0) * (turn - self.left) + np.maximum(-slope, 0.0) * (self.right - turn)
        middle = self.cost(safe, self.rho / safe) - below
        return np.minimum(np.minimum(at_left, at_right), np.where(inside, middle, math.inf)) - self.error

    def right_end(self) -> Floats:
        """Where rho is at the end of its own cell: label 0 is hidden always there."""
        return self.cost(self.right, np.ones(len(self.rho))) - self.error

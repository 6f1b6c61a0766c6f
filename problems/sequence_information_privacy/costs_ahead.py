"""What all releases of letters of a chain with two letters cost after a posterior, at least: steps of dynamic programming.

The state is the posterior r of the second letter given all releases so far, b = (1 - r) P(0, 1) + r P(1, 1) the belief about the next
one. A release y has probability Q(y) and leaves the posterior p(y), with b the mean of the p(y) and p(y) within e^+-epsilon of b for both
letters, so in [lo(b), hi(b)], lo(b) = max(L b, 1 - U (1 - b)) and hi(b) = min(U b, 1 - L (1 - b)). With D the distortion and V(r) what
later releases cost at least, the release y costs f_y(p) = (1 - p) D(0, y) + p D(1, y) + V(p), all in all sum Q(y) f_y(p(y)).
For given posteriors that is a linear program in Q with two constraints, so two releases are enough: one with posterior p0 <=
b, another one with p1 >= b. The best pair of a left and of a right release is the lower convex hull at b of the graph of
f_left over [lo(b), b] and that of f_right over [b, hi(b)]. So for any slope s

    cost >= min(min over p in [lo(b), b] of f_left(p) + s (b - p), min over p in [b, hi(b)] of f_right(p) + s (b - p)),

and for one of them equality holds: each posterior counts once, and no pairs are searched.

**Between posteriors.** V is below a function W that is linear between the points of a grid z, and so is f. Cut the posteriors r at the
grid, and where lo(b), hi(b) or b passes a point of it. Between two cuts each of these ends is replaced by a line farther out, which
ends where it would pass a point of the grid. So the least p is a point of the grid between the lines, the same ones in the whole interval, or
on a line. With a slope that goes linearly from s to s' the charge of such a candidate is quadratic in r with leading coefficient (s' - s) ((b'
- b) - (p' - p)). So it is at least what is linear between its ends, less a quarter of the largest of these coefficients that is positive.
W at a point of the grid is the lesser of the intervals beside it, less what the line to the next point is above the intervals in between. The
error is of second order in the distance of points, where that of one value for each interval is of first order.

**Rounding.** Cuts, slopes at the cuts and ends of lines are whatever floats are computed. Everything that follows from them is in balls, or
rounded downward at every operation, with the chain as the exact rational value of its floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import ETA, Balls, U, above, below
from privopt.mechanisms.policy.ahead import Ahead, Pair, Places
from privopt.problems.sequence_information_privacy.lines import (
    FAR,
    ends_of,
    factors_of,
    held,
    line_below,
)

ENOUGH = 2.0**-44
"""Relative to distortions, how far from the best a slope may be that is not sought any longer."""


@dataclass(frozen=True, eq=False)
class CostsAhead:
    """Lower bounds on what releases cost, for a chain of two letters.

    Parameters
    ----------
    ahead : Ahead
        The chain, the distortion, the budget and the grid; its estimates say where slopes are best, no more.

    Examples
    --------
    >>> chain = np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> costs = CostsAhead(Ahead(chain, 1 - np.eye(2), 1.0, np.linspace(0, 1, 33)))
    >>> last = costs.step(np.zeros(33))  # of the last release, by the posterior before it
    >>> round(costs.least(np.zeros(33), Balls.exact(0.5)), 6), costs.least(last, Balls.exact(0.5)) > 0.33
    (0.18394, True)
    """

    ahead: Ahead

    @property
    def grid(self) -> Floats:
        """Posteriors, increasing from 0 to 1."""
        return self.ahead.posteriors

    @cached_property
    def factors(self) -> tuple[float, float]:
        """Floats not above e^-epsilon and not below e^epsilon."""
        return factors_of(self.ahead.epsilon)

    def beliefs(self, posteriors: Floats) -> Balls:
        """What posteriors (C,) say of the next letter."""
        moves = Balls(self.ahead.moves, self.ahead.moves * U + ETA)[:, 1]
        beliefs: Balls = moves[0] + (moves[1] - moves[0]) * posteriors
        return beliefs

    @cached_property
    def cuts(self) -> Floats:
        """Posteriors at which an interval begins or ends: a little before or after an end passes a point of the grid."""
        (low, up), z, (begin, end) = self.factors, self.grid, self.ahead.moves[:, 1].tolist()
        pad, half = up * 2.0**-49, 1.0 / (1.0 + up)
        under, over = z + pad, z - pad
        beliefs = np.concatenate([
            np.minimum(under / low, 1.0 - (1.0 - under) / up),
            np.maximum(over / up, 1.0 - (1.0 - over) / low),
            under,
            over,
            [half, 1.0 - half],
        ])  # fmt: skip
        inner = (beliefs - begin) / (end - begin)
        return np.unique(np.concatenate([z, inner[(inner > 0.0) & (inner < 1.0)]]))

    @cached_property
    def intervals(self) -> Intervals:
        """Those between cuts."""
        r, z = self.cuts, self.grid
        b = self.beliefs(r)
        under, over = ends_of(self.factors, b)
        upward, downward = -z[::-1], b.lower[None]
        lines = np.stack([
            line_below(under, z),
            -line_below(-b.upper[None], upward),
            line_below(downward, z),
            -line_below(-over, upward),
        ])  # fmt: skip
        return Intervals.of(z, b, lines)

    @cached_property
    def _places(self) -> Places:
        """The cuts as the search for slopes has them."""
        return self.ahead.places(self.beliefs(self.cuts).mid)

    @cached_property
    def _unit(self) -> float:
        return float(np.abs(self.ahead.cost).max())

    @cached_property
    def _slopes(self) -> dict[tuple[int, int], Floats]:
        """The best slopes of the last step, where the next one begins."""
        return {}

    @cached_property
    def _direct(self) -> Floats:
        """Not above the distortion of each release at points of the grid, (m, K)."""
        first, last = (Balls.exact(row[:, None]) for row in self.ahead.cost)
        z = Balls.exact(self.grid)
        return ((1.0 - z) * first + z * last).lower

    def step(self, later: Floats) -> Floats:
        """W at the grid before a release, from W after it."""
        f, r = below(self._direct + later), self.cuts
        begins, ends = np.full((2, len(r) - 1), np.inf)
        values = [self.intervals.at_lines(row) for row in f]
        for left, right in permutations(range(len(f)), 2):
            pair = Pair(self.ahead, f[left], f[right], self._places)
            slopes = pair.slopes(self._slopes.get((left, right), np.zeros(len(r))), ENOUGH * self._unit)
            self._slopes[left, right] = slopes
            rows = f[left], f[right]
            lines = self.intervals.least(rows, np.concatenate([values[left][:2], values[right][2:]]), slopes)
            begins, ends = np.minimum(begins, lines[0]), np.minimum(ends, lines[1])
        return self._below(begins, ends)

    def _below(self, begins: Floats, ends: Floats) -> Floats:
        """Values at the grid whose lines stay below intervals with values at their begins and ends."""
        at, r = np.searchsorted(self.cuts, self.grid), self.cuts
        values = np.minimum(np.append(begins, np.inf)[at], np.insert(ends, 0, np.inf)[at])
        line = held(self.grid, values, r).upper
        over = above(np.maximum(line[:-1] - begins, line[1:] - ends)).clip(0.0)
        excess = np.maximum.reduceat(over, at[:-1])
        return below(values - np.maximum(np.append(excess, 0.0), np.insert(excess, 0, 0.0)))

    def least(self, later: Floats, belief: Balls) -> float:
        """A lower bound on the cost of a release at one belief and of all after it, at any posterior at the grid."""
        f, z = below(self._direct + later), self.grid
        b = belief.reshape(1)
        under, over = ends_of(self.factors, b)
        places = self.ahead.places(b.mid)
        sides = (float(under.max()), float(b.upper[0])), (float(b.lower[0]), float(over.min()))
        least = np.inf
        for pair in permutations(range(len(f)), 2):
            slope = Pair(self.ahead, f[pair[0]], f[pair[1]], places).slopes(np.zeros(1))
            for y, ends in zip(pair, sides, strict=True):
                inside = z[1:-1][(z[1:-1] > ends[0]) & (z[1:-1] < ends[1])]
                p = np.concatenate([inside, ends])
                charge = held(z, f[y], p) + (b - p) * slope
                least = min(least, float(charge.lower.min()))
        return least


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals between posteriors (C,), with beliefs, and four lines (4, 2, C - 1): of lo and b on the left, of b and hi on the right."""

    grid: Floats
    lines: Floats
    inner: tuple[Bools, Bools]
    """Which inner points of the grid are posteriors on the left and on the right, (C - 1, K - 2)."""
    beliefs: Balls
    """At begins and ends, (2, C - 1)."""
    gaps: Balls
    """Beliefs less lines, (4, 2, C - 1)."""
    rises: Balls
    """By how much more beliefs change than a point of the grid and than lines, (5, C - 1)."""
    after: Ints
    """The point of the grid after each end of a line, (4, 2, C - 1)."""
    shares: Balls
    """Where the end is between the point before and this one."""

    @classmethod
    def of(cls, grid: Floats, beliefs: Balls, lines: Floats) -> Intervals:
        """Intervals with these lines."""
        z = grid[1:-1]
        left, right = (
            (z > low.min(axis=0)[:, None]) & (z < high.max(axis=0)[:, None])
            for low, high in (lines[:2], lines[2:])
        )
        at_ends = Balls(*(np.stack([part[:-1], part[1:]]) for part in (beliefs.mid, beliefs.rad)))
        gaps = at_ends - lines
        changes = np.concatenate([np.zeros((1, *lines.shape[1:])), lines])
        rises = (at_ends[1] - at_ends[0]) - (Balls.exact(changes[:, 1]) - changes[:, 0])
        after = np.searchsorted(grid, lines, side="right").clip(1, len(grid) - 1)
        first = grid[after - 1]
        shares = (Balls.exact(lines) - first) / (Balls.exact(grid[after]) - first)
        return cls(grid, lines, (left, right), at_ends, gaps, rises, after, shares)

    def at_lines(self, values: Floats) -> Floats:
        """Not above a function with values at the grid, at the ends of lines."""
        begin = Balls.exact(values[self.after - 1])
        between: Balls = begin + self.shares * (Balls.exact(values[self.after]) - begin)
        lower: Floats = between.lower
        return lower

    def least(self, rows: tuple[Floats, Floats], at_lines: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        """Begins and ends of lines below what a left and a right release cost at least: the best of three ways to choose slopes.

        The slope goes from that of one end to that of the other, or is that of one end throughout.
        """
        first, last = slopes[:-1], slopes[1:]
        points = [np.full(len(first), FAR), np.full(len(first), FAR)]
        for row, inner in zip(rows, self.inner, strict=True):
            table = below(row[1:-1] - above(slopes[:, None] * self.grid[1:-1]))
            for k, part in enumerate((table[:-1], table[1:])):
                points[k] = np.minimum(points[k], np.where(inner, part, FAR).min(axis=1, initial=FAR))

        def charged(end: int, slope: Floats, at_points: Floats) -> Floats:
            at_ends = below(at_lines[:, end] + product_below(self.gaps[:, end], slope)).min(axis=0)
            least: Floats = np.minimum(below(at_points + product_below(self.beliefs[end], slope)), at_ends)
            return least

        own = charged(0, first, points[0]), charged(1, last, points[1])
        bend = ((Balls.exact(last) - first) * self.rises).upper.max(axis=0).clip(0.0) / 4
        ways = (
            (below(own[0] - bend), below(own[1] - bend)),
            (own[0], charged(1, first, points[0])),
            (charged(0, last, points[1]), own[1]),
        )
        begins, ends = ways[0]
        for begin, end in ways[1:]:
            better = begin + end > begins + ends
            begins, ends = np.where(better, begin, begins), np.where(better, end, ends)
        return begins, ends


def product_below(balls: Balls, factors: Floats) -> Floats:
    """Not above products.

    Examples
    --------
    >>> product_below(Balls.between([1.0, 1.0], [2.0, 2.0]), np.array([1.0, -1.0])).round(9).tolist()
    [1.0, -2.0]
    """
    return below(np.minimum(balls.lower * factors, balls.upper * factors))

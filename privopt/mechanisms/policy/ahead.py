"""What all releases of letters of a chain with two states cost from a belief on: steps of dynamic programming, estimated.

The state is the belief b, the probability of the second letter given all releases so far. A release y has probability
Q(y) and leaves the posterior p(y), with b the mean of the p(y) and p(y) within e^+-epsilon of b for both letters, so in
[lo(b), hi(b)], lo(b) = max(L b, 1 - U (1 - b)) and hi(b) = min(U b, 1 - L (1 - b)). With D the distortion and V(b) what
later releases cost, the release y costs f_y(p) = (1 - p) D(0, y) + p D(1, y) + V(p P), all in all sum Q(y) f_y(p(y)).
For given posteriors that is a linear program in Q with two constraints, so two releases are enough: one with posterior p0 <=
b, another one with p1 >= b. The best pair of a left and of a right release is the lower convex hull at b of the graph of
f_left over [lo(b), b] and that of f_right over [b, hi(b)]. So for the best slope s the cost is

    min(min over p in [lo(b), b] of f_left(p) + s (b - p), min over p in [b, hi(b)] of f_right(p) + s (b - p)),

and each posterior counts once: no pairs are searched. Posteriors are a grid z, V is linear between the images of the grid under P, so
f is linear between points of the grid, and the minima are at points of the grid, at b, lo(b) or hi(b).

Policies are found by these estimates, in arithmetic of a fixed order, so that a policy that looks ahead has the same kernels on every
machine; what they cost at least is proved elsewhere, with the same slopes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import Balls
from privopt.mechanisms.policy.fixed import total

ROUNDS = 16
"""Slopes that are tried for a pair of releases."""
STEEPEST = 1024.0
"""The largest slope, which keeps rounding small."""
SAME = 1e-12
SWEEPS = 1000
"""Of the evaluation of releases in the long run."""
STEP = 0.95
"""Of a sweep: less than 1, so that chains that alternate settle too."""
EVALUATED = 1e-7
"""How little the costs of one more release differ from belief to belief, relative to their size, when releases are evaluated."""


@dataclass(frozen=True, eq=False)
class Places:
    """Beliefs (M,) with the ends of their intervals of posteriors."""

    beliefs: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Ahead:
    """What releases cost, for a chain of two states.

    Parameters
    ----------
    moves : array (2, 2)
        Transition probabilities.
    cost : array (2, m)
        Distortions.
    epsilon : float
        Nats, positive, at most 8.
    posteriors : array
        The grid, increasing from 0 to 1.

    Examples
    --------
    >>> ahead = Ahead(np.array([[0.8, 0.2], [0.3, 0.7]]), 1 - np.eye(2), 1.0, np.linspace(0, 1, 33))
    >>> costs = ahead.estimate(np.zeros(33))  # of the last release, by the belief that follows each posterior
    >>> round(float(costs.max()), 4), round(float(costs[0]), 4)
    (0.1839, 0.1765)
    """

    moves: Floats
    cost: Floats
    epsilon: float
    posteriors: Floats

    @cached_property
    def _factors(self) -> tuple[float, float]:
        """Floats not above e^-epsilon and not below e^epsilon."""
        return float((-Balls.exact(self.epsilon)).exp().lower), float(Balls.exact(self.epsilon).exp().upper)

    @property
    def pad(self) -> float:
        """How far ends are moved outward."""
        return 2.0**-48 * self._factors[1]

    @cached_property
    def images(self) -> Floats:
        """The belief that follows each posterior of the grid."""
        begin, end = float(self.moves[0, 1]), float(self.moves[1, 1])
        return begin + self.posteriors * (end - begin)

    def cuts(self, begin: float, end: float) -> Places:
        """All beliefs from one to another at which a cell begins or ends."""
        (low, up), z, pad = self._factors, self.posteriors, 2 * self.pad
        under, over = z + pad, z - pad
        half = 1.0 / (1.0 + up)
        cuts = np.concatenate([
            self.images,
            z,
            np.minimum(under * up, 1.0 - low * (1.0 - under)),
            np.maximum(over / up, 1.0 - up * (1.0 - over)),
            [half, 1.0 - half],
        ])  # fmt: skip
        return self.places(np.unique(cuts[(cuts >= begin) & (cuts <= end)]))

    def places(self, beliefs: Floats) -> Places:
        """Beliefs with the ends of their intervals, moved outward."""
        low, up = self._factors
        return Places(
            beliefs,
            self._snapped(np.maximum(low * beliefs, 1.0 - up * (1.0 - beliefs)) - self.pad, -1),
            self._snapped(np.minimum(up * beliefs, 1.0 - low * (1.0 - beliefs)) + self.pad, 1),
        )

    def _snapped(self, ends: Floats, outward: int) -> Floats:
        """Ends within [0, 1], and on a point of the grid that is next to them on the outer side."""
        z, ends = self.posteriors, ends.clip(0.0, 1.0)
        if outward < 0:
            near = z[np.searchsorted(z, ends, side="right") - 1]
        else:
            near = z[np.searchsorted(z, ends, side="left")]
        return np.where(np.abs(near - ends) < 4 * self.pad, near, ends)

    def costs(self, later: Floats) -> Floats:
        """f_y at points of the grid, shape (m, points), from W at their images."""
        z = self.posteriors
        charged: Floats = (1.0 - z) * self.cost[0][:, None] + z * self.cost[1][:, None] + later
        return charged

    def estimate(self, later: Floats) -> Floats:
        """The least cost at the images if what follows costs ``later`` there and is linear in between: no bound."""
        charged = [pair.charges(slopes) for pair, slopes, _ in self._pairs(later)]
        return np.asarray(np.min(charged, axis=0))

    def _pairs(self, later: Floats) -> Iterator[tuple[Pair, Floats, tuple[int, int]]]:
        """Every release for posteriors below with every one for those above, and their best slopes at the images."""
        f, images = self.costs(later), self.places(self.images)
        for names in permutations(range(len(f)), 2):
            pair = Pair(self, f[names[0]], f[names[1]], images)
            self._guesses[names] = slopes = pair.slopes(self._guesses.get(names, np.zeros(len(later))))
            yield pair, slopes, names

    def settled(self, rounds: int, close: float) -> Floats:
        """What many later releases cost at the images, but for a constant, by rounds of policy iteration.

        Each round finds the releases that are best for the costs so far, and follows these through the long run. Costs have
        settled where one more release costs nearly the same from every belief.

        R. A. Howard, "Dynamic Programming and Markov Processes".
        """
        later = np.zeros(len(self.posteriors))
        for _ in range(rounds):
            after, told, onward = self._best(later)
            gain = after - later
            if gain.max() - gain.min() <= close * np.abs(gain).max():
                return np.asarray(after - after.min())
            later = _in_the_long_run(told, onward, after)
        return later

    def _best(self, later: Floats) -> tuple[Floats, Floats, tuple[Ints, Floats]]:
        """The least cost at the images, how much of it the release itself costs, and points of the grid it leads to, with their shares."""
        z, images, count = self.posteriors, self.images, len(later)
        least, told = np.full(count, np.inf), np.zeros(count)
        points, shares = np.zeros((count, 4), dtype=np.int64), np.zeros((count, 4))
        for pair, slopes, (left, right) in self._pairs(later):
            charges, (low, high) = pair.charges(slopes), pair.ends(slopes)
            better = charges < least
            least[better] = charges[better]
            apart = high - low
            split = apart > SAME
            above = np.where(split, (images - low) / np.where(split, apart, 1.0), 0.0)
            ends = [(left, 1.0 - above, low), (right, above, high)]
            told[better] = np.sum([w * self._own(y, p) for y, w, p in ends], axis=0)[better]
            around = [(w, _around(z, p)) for _, w, p in ends]
            points[better] = np.concatenate([at for _, (at, _) in around], axis=1)[better]
            shares[better] = np.concatenate([w[:, None] * each for w, (_, each) in around], axis=1)[better]
        return least, told, (points, shares)

    def _own(self, release: int, posteriors: Floats) -> Floats:
        """The distortion of a release at posteriors."""
        first, second = self.cost[:, release]
        charged: Floats = first + posteriors * (second - first)
        return charged

    @cached_property
    def _guesses(self) -> dict[tuple[int, int], Floats]:
        """The best slopes at the images of the last estimate."""
        return {}


@dataclass(frozen=True, eq=False)
class Pair:
    """A release for posteriors below a belief and another one for those above, with their costs at points of the grid."""

    ahead: Ahead
    left: Floats
    right: Floats
    places: Places

    @cached_property
    def _sides(self) -> tuple[Side, Side]:
        z, here = self.ahead.posteriors, self.places
        beliefs, low, high = (each[:, None] for each in (here.beliefs, here.low, here.high))
        below, above = (low <= z) & (z <= beliefs), (beliefs <= z) & (z <= high)
        return (
            Side(z, self.left, np.where(below, 0.0, np.inf), np.stack([here.low, here.beliefs])),
            Side(z, self.right, np.where(above, 0.0, np.inf), np.stack([here.beliefs, here.high])),
        )

    def charges(self, slopes: Floats) -> Floats:
        """The lower bound at each belief that slopes (M,) prove."""
        left, right = self._sides
        least = np.minimum(left.best(slopes)[0], right.best(slopes)[0])
        charged: Floats = least + slopes * self.places.beliefs
        return charged

    def slopes(self, begin: Floats, enough: float = -1.0) -> Floats:
        """Slopes that prove the most, or nearly: where left and right are alike, by Newton's method and halving.

        Beliefs where these differ by no more than ``enough`` are left alone.
        """
        left, right = self._sides
        slope, best, rows = begin.copy(), begin.copy(), np.arange(len(begin))
        most = np.full(len(begin), -np.inf)
        under, over = np.full(len(begin), -STEEPEST), np.full(len(begin), STEEPEST)
        for _ in range(ROUNDS):
            here = slope[rows]
            (down, p0, v0), (up, p1, v1) = left.best(here), right.best(here)
            charge = np.minimum(down, up) + here * self.places.beliefs[rows]
            better = charge > most[rows]
            most[rows[better]], best[rows[better]] = charge[better], here[better]
            under[rows] = np.where(down < up, here, under[rows])
            over[rows] = np.where(down > up, here, over[rows])
            far = p1 - p0
            following = np.where(far > SAME, (v1 - v0) / np.where(far > SAME, far, 1.0), here)
            outside = (following <= under[rows]) | (following >= over[rows])
            following = np.where(outside & (down != up), 0.5 * (under[rows] + over[rows]), following)
            if np.abs(following - here).max() <= SAME:
                break
            slope[rows] = following
            apart = np.abs(down - up) > enough
            if not apart.any():
                break
            if not apart.all():
                rows, left, right = rows[apart], left.at(apart), right.at(apart)
        return best

    def ends(self, slopes: Floats) -> tuple[Floats, Floats]:
        """The posterior of the left and of the right release that attain the bound of slopes (M,)."""
        left, right = self._sides
        return left.best(slopes)[1], right.best(slopes)[1]

    def best(self) -> tuple[Floats, Floats, Floats]:
        """The least cost at each belief, nearly, and the posterior of the left and of the right release that attain it."""
        slopes = self.slopes(np.zeros(len(self.places.beliefs)))
        return self.charges(slopes), *self.ends(slopes)


@dataclass(frozen=True, eq=False)
class Side:
    """The posteriors on one side of each belief: points of the grid that ``closed`` (M, points) leaves at 0, and two (2, M) others."""

    grid: Floats
    values: Floats
    closed: Floats
    others: Floats

    @cached_property
    def _at_others(self) -> Floats:
        return interpolated(self.grid, self.values, self.others)

    def at(self, rows: Bools) -> Side:
        """The same for some of the beliefs."""
        return Side(self.grid, self.values, self.closed[rows], self.others[:, rows])

    def best(self, slopes: Floats) -> tuple[Floats, Floats, Floats]:
        """The least f(p) - slope p for each belief, with p and f(p)."""
        charges = self.values - slopes[:, None] * self.grid + self.closed
        at = charges.argmin(axis=1)
        least = charges[np.arange(len(at)), at]
        place, value = self.grid[at], self.values[at]
        for other, worth in zip(self.others, self._at_others, strict=True):
            charge = worth - slopes * other
            less = charge < least
            least = np.where(less, charge, least)
            place, value = np.where(less, other, place), np.where(less, worth, value)
        return least, place, value


def interpolated(grid: Floats, values: Floats, at: Floats) -> Floats:
    """Values between points of a grid, on the lines between them.

    Examples
    --------
    >>> interpolated(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 0.0]), np.array([0.25, 1.0])).tolist()
    [1.5, 0.0]
    """
    k = (np.searchsorted(grid, at, side="right") - 1).clip(0, len(grid) - 2)
    share = (at - grid[k]) / (grid[k + 1] - grid[k])
    between: Floats = values[k] + share * (values[k + 1] - values[k])
    return between


def _around(grid: Floats, at: Floats) -> tuple[Ints, Floats]:
    """The points of a grid on both sides of each place, and their shares in it, shapes (M, 2)."""
    k = (np.searchsorted(grid, at, side="right") - 1).clip(0, len(grid) - 2)
    share = (at - grid[k]) / (grid[k + 1] - grid[k])
    return np.stack([k, k + 1], axis=1), np.stack([1.0 - share, share], axis=1)


def _in_the_long_run(told: Floats, onward: tuple[Ints, Floats], later: Floats) -> Floats:
    """Costs relative to the least, of releases that cost ``told`` and lead to points of the grid with some shares, from a first guess."""
    points, shares = onward
    for _ in range(SWEEPS):
        gain = told + total(shares * later[points]) - later
        later = later + STEP * (gain - gain.min())
        if gain.max() - gain.min() <= EVALUATED * np.abs(gain).max():
            break
    return np.asarray(later - later.min())

"""The values that an optimal two-coloured answer takes: orbits of 0, 1 and the bend of a step.

Every vertex of the polytope of private colourings has its coordinates among {0, 1}, U^k(b), L^k(a) and, for delta > 0,
U^k(0), L^k(1): away from them a tight edge is tight on one affine piece and joins a value to another that is away from
them, so that a whole tight component can slide both ways.

Which levels there are, in which order, and where a step takes them is settled without comparing floats. Let phi(a) = 0
and phi(U(p)) = phi(p) + 1, so that phi(1 - p) = 1 - phi(p). The orbit of the bend lies at whole numbers, that of 0 at
-J + z with z in [0, 1), and that of 1 mirrors it, so that one number, the place of U^J(0) between a and b, decides the
order. Below one half a step stretches by e^epsilon, so that every distance is one between a and b times a power of it,
however close to 0 the levels are: nothing is subtracted, and nothing that differs is joined.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.colouring.steps import Pair, Step

LOST = 38.0
"""Levels are cut where the error is e^-38 of the largest one: at most 3e-17 of the total weight is lost."""
MAX_LEVELS = 20_000
FAR = 2**50
"""Steps beyond which orbits never meet on any path."""
RANKS = 4
"""Places in a cell [i, i + 1) of phi: 0 for the orbit of the bend, 1 to 3 for those of 0 and 1."""
BLUR = 2.0**-51
"""What counts as rounding in U^J(0), relatively."""
SMALLEST = 5e-324


@dataclass(frozen=True, eq=False)
class Levels:
    """Values in ascending order, with complements, and where a step takes them.

    Parameters
    ----------
    p, r : arrays, shape (l,)
        Values and complements, each accurate by itself; the first value is 0, the last 1.
    gaps : array, shape (l - 1,)
        Distance of each level from the one before, positive and accurate by itself.
    up : int array, shape (l,)
        The largest level that each allows next to it.
    beyond : array, shape (l,)
        How far towards the next level U of each is beyond that: 0 but where orbits are cut.
    bend, clip : int
        The level of a, and the smallest one that is at least delta, where L leaves 0. Mirrored, they are those of b and 1 - delta.
    """

    p: Floats
    r: Floats
    gaps: Floats
    up: Ints
    beyond: Floats
    bend: int
    clip: int

    @property
    def top(self) -> int:
        """The level of 1."""
        return len(self.p) - 1

    @property
    def down(self) -> Ints:
        """The smallest level that each allows: L is U on complements, and the levels are their own complements."""
        return np.asarray(self.top - self.up[::-1])

    def nearest(self, p: Floats) -> Ints:
        """The level closest to each value."""
        right = np.clip(np.searchsorted(self.p, p), 1, len(self.p) - 1)
        return np.asarray(right - (p - self.p[right - 1] < self.p[right] - p))


def level_count(one: Step, longest: int) -> int:
    """How many steps of an orbit matter on paths of at most ``longest`` edges."""
    reach = math.inf if one.epsilon == 0 else LOST / one.epsilon + 2
    if one.delta > 0:
        reach = min(reach, 1.0 / one.delta + 2)
    elif one.epsilon == 0:
        reach = 1
    return int(min(reach, longest))


@lru_cache(maxsize=8)
def levels(one: Step, longest: int) -> Levels:
    """The levels that matter on paths of at most ``longest`` edges; they are kept, so nothing may be written to them.

    Examples
    --------
    >>> import math
    >>> from privopt.measures.colouring.steps import step
    >>> levels(step(math.log(2), 0.0), 2).p.round(4).tolist()
    [0.0, 0.0833, 0.1667, 0.3333, 0.6667, 0.8333, 0.9167, 1.0]
    >>> [f"{p:.3g}" for p in levels(step(40.0, 0.5), 2).p]
    ['0', '2.12e-18', '0.5', '1', '1']
    """
    lower = _lower(one, longest)
    p, whole = lower.p, int(lower.middle == 0)
    mirror = slice(len(p) - 1 - whole, None, -1)  # one half is its own mirror image
    pair = np.concatenate([p, 1.0 - p[mirror]]), np.concatenate([1.0 - p, p[mirror]])
    gaps = np.maximum(np.concatenate([lower.gaps, [lower.middle][whole:], lower.gaps[::-1]]), SMALLEST)
    keys = np.concatenate([lower.keys, (RANKS - lower.keys)[mirror]])
    up, beyond = _images(one, keys, pair, gaps)
    clip = 0 if one.delta == 0 else int(up[0]) + int(beyond[0] > 0)
    return Levels(*pair, gaps, up, beyond, int(np.searchsorted(keys, 0)), clip)


def _images(one: Step, keys: Ints, pair: Pair, gaps: Floats) -> tuple[Ints, Floats]:
    """Where U of each level lies: by its key, and by its value where that is no level's."""
    images = np.minimum(keys + RANKS, keys[-1])
    up = np.searchsorted(keys, images, side="right") - 1
    cut = np.flatnonzero(keys[up] != images)
    at, beyond = up[cut], np.zeros(len(keys))
    value, rest = one.up(pair[0][cut], pair[1][cut])
    over = np.where(value <= 0.5, value - pair[0][at], pair[1][at] - rest)
    beyond[cut] = np.clip(over / gaps[at], 0.0, 1.0)
    return up, beyond


@dataclass(frozen=True, eq=False)
class _Lower:
    """Levels up to one half: keys that order them, of which a step adds RANKS, values, distances from the one before.

    ``middle`` is the distance of the last one from its mirror image, 0 if it is one half.
    """

    keys: Ints
    p: Floats
    gaps: Floats
    middle: float


def _lower(one: Step, longest: int) -> _Lower:
    count = level_count(one, longest)
    if one.delta == 0:
        return _of_the_bend(one, count)
    start = _start(one)
    cut = count < longest and start.steps > count
    return _of_the_bend(one, count) if cut else _of_all(one, start, longest)


def _width(one: Step) -> float:
    """The distance b - a."""
    return (2 * one.delta * one.decay - math.expm1(-one.epsilon)) / (1.0 + one.decay)


def _of_the_bend(one: Step, count: int) -> _Lower:
    """Levels of the orbit of the bend, cut where it comes next to nothing, and 0.

    An answer that is cut to [l, 1 - l] stays private and loses at most l; its levels are those of l, 1 - l and the bend.
    """
    steps = np.arange(count, -1, -1, dtype=np.int64)
    p = one.power(np.full(len(steps), 1.0 - one.kink), np.full(len(steps), one.kink), steps)[1]
    gaps = _width(one) * np.exp(-one.epsilon * steps[:-1])
    begin = int((~((p[:-1] > one.floor) & (gaps > 0))).sum())
    p, keys = p[begin:], -RANKS * steps[begin:]
    nothing = -RANKS * FAR
    return _Lower(np.r_[nothing, keys], np.r_[0.0, p], np.r_[p[0], gaps[begin:]], _width(one))


@dataclass(frozen=True, eq=False)
class _Start:
    """Where the orbit of 0 comes among those of the bend.

    Parameters
    ----------
    steps : int
        J, the first number of steps that takes 0 to a or beyond.
    place, width : float
        U^J(0) - a, in [0, width), and b - a.
    rank : int
        0 for a itself, 2 for one half, 1 and 3 below and above it.
    """

    steps: int
    place: float
    width: float
    rank: int


def _start(one: Step) -> _Start:
    width, low, high = _width(one), -1, FAR
    while high - low > 1:
        tried = np.unique(np.linspace(low + 1, high, 65).astype(np.int64))
        passed = tried[_from_nothing(one, tried) > one.kink]
        if not passed.size:
            return _Start(FAR, width / 4, width, 1)
        high = int(passed[0])
        low = int(tried[tried < high].max(initial=low))
    reached = float(_from_nothing(one, np.array([high]))[0])
    place, blur = reached - one.kink, BLUR * reached
    if min(place, width - place) <= blur:
        return _Start(high if place <= blur else high - 1, 0.0, width, 0)
    rank = 2 if abs(reached - 0.5) <= blur else 1 if reached < 0.5 else 3
    return _Start(high, place, width, rank)


def _from_nothing(one: Step, steps: Ints) -> Floats:
    """U^t(0)."""
    return one.power(np.zeros(len(steps)), np.ones(len(steps)), steps)[0]


def _of_all(one: Step, start: _Start, count: int) -> _Lower:
    """All three orbits, each within ``count`` steps of where it begins."""
    first, rank = -start.steps, start.rank
    bend = RANKS * np.arange(max(-count, first + 1), 1)
    # Of the orbits of 0 and 1 what comes in the cell of a is up to one half for one of them only, or for both.
    rising = RANKS * np.arange(first, min(first + count, -1 if rank == 3 else 0) + 1) + rank
    falling = np.zeros(0, dtype=np.int64)
    if rank > 0:
        least = first if rank == 1 else first + (rank == 3)
        falling = RANKS * np.arange(max(-first - count, least), (0 if rank > 1 else -1) + 1) + RANKS - rank
    keys = np.unique(np.concatenate([bend, rising, falling]))
    p = np.maximum.accumulate(_values(one, start, keys))  # neighbours may differ by less than rounding
    gaps = _distances(one, start, keys, p)
    last = float(_places(start, keys[-1:])[0])
    middle = 0.0 if keys[-1] == 2 else start.width - 2 * last
    return _Lower(keys, p, gaps, middle)


def _places(start: _Start, keys: Ints) -> Floats:
    """How far beyond a the levels are when steps have taken them to between a and b."""
    ranks = keys % RANKS
    own = (ranks > 0) & (ranks == start.rank)
    return np.where(ranks == 0, 0.0, np.where(own, start.place, start.width - start.place))


def _values(one: Step, start: _Start, keys: Ints) -> Floats:
    """Every value is that of the orbit of 0 before it plus a distance."""
    cells, ranks, places = keys // RANKS, keys % RANKS, _places(start, keys)
    behind = ranks < start.rank
    steps = cells + start.steps - behind
    left = np.where(behind, (start.width - start.place) * one.decay + places, places - start.place)
    if start.steps < FAR:
        p = _from_nothing(one, steps) + left * np.exp(one.epsilon * cells)
        return np.where(keys == 2, 0.5, p)
    on_bend = ranks == 0
    p = _from_nothing(one, np.where(on_bend, 0, steps))
    n = int(on_bend.sum())
    p[on_bend] = one.power(np.full(n, 1.0 - one.kink), np.full(n, one.kink), -cells[on_bend])[1]
    return p


def _distances(one: Step, start: _Start, keys: Ints, p: Floats) -> Floats:
    """Distances of levels in one cell or in neighbouring ones; further ones are far enough apart to be subtracted."""
    cells, ranks, places = keys // RANKS, keys % RANKS, _places(start, keys)
    scale = np.exp(one.epsilon * cells)
    same = places[1:] - places[:-1]
    across = (start.width - places[:-1]) + places[1:] / one.decay
    gaps = scale[:-1] * np.where(cells[1:] == cells[:-1], same, across)
    if start.steps == FAR:
        step_up = math.expm1(one.epsilon) * p[:-1] + one.delta
        gaps = np.where(ranks[1:] > 0, step_up, gaps)
    return np.where(cells[1:] - cells[:-1] > 1, np.diff(p), gaps)

"""The values that an optimal two-coloured answer takes: orbits of 0, 1 and the bend of a step.

Every vertex of the polytope of private colourings has its coordinates among {0, 1}, U^k(b), L^k(a) and, for delta > 0,
U^k(0), L^k(1): away from them a tight edge is tight on one affine piece and joins a value to another that is away from
them, so that a whole tight component can slide both ways.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.colouring.steps import Step

SAME = 1e-13
"""Levels that differ by less, relatively to the smaller of value and complement, are one."""
LOST = 38.0
"""Levels are cut where the error is e^-38 of the largest one: at most 3e-17 of the total weight is lost."""
MAX_LEVELS = 20_000


@dataclass(frozen=True, eq=False)
class Levels:
    """Values in ascending order, with complements, and where a step takes them.

    Parameters
    ----------
    p, r : arrays, shape (l,)
        Values and complements, each accurate by itself; the first value is 0, the last 1.
    up, down : int arrays, shape (l,)
        The levels of U and L of each; where orbits are cut, a level next to nothing stays where it is.
    """

    p: Floats
    r: Floats
    up: Ints
    down: Ints

    @property
    def gaps(self) -> Floats:
        """Distance of each level from the one before, shape (l - 1,)."""
        low = self.p[1:] <= 0.5
        return np.where(low, np.diff(self.p), -np.diff(self.r))

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


def levels(one: Step, longest: int) -> Levels:
    """The levels that matter on paths of at most ``longest`` edges.

    Examples
    --------
    >>> import math
    >>> from privopt.measures.colouring.steps import step
    >>> levels(step(math.log(2), 0.0), 2).p.round(4).tolist()
    [0.0, 0.0833, 0.1667, 0.3333, 0.6667, 0.8333, 0.9167, 1.0]
    """
    count = level_count(one, longest)
    orbits = [one.orbit(1.0 - one.kink, one.kink, count), (np.array([1.0]), np.array([0.0]))]
    if one.delta > 0:
        orbits.append(one.orbit(0.0, 1.0, count))
    halves = np.concatenate([side[side <= 0.5] for orbit in orbits for side in orbit])
    least = min(SAME, one.delta / 1024)
    low = _distinct(halves, least)
    rest = np.concatenate([1.0 - low, low[::-1][int(low[-1] == 0.5) :]])
    return Levels(rest[::-1].copy(), rest, *_steps(one, rest[::-1].copy(), rest, least))


def _distinct(values: Floats, least: float) -> Floats:
    """Sorted, with 0 in front, and without what equals the one before, or one half, but for rounding."""
    ordered = np.sort(np.append(values, 0.0))
    ordered[ordered >= 0.5 - max(SAME * 0.5, least)] = (
        0.5  # a value this near to one half is near its complement
    )
    return ordered[np.r_[True, np.diff(ordered) > np.maximum(SAME * ordered[1:], least)]]


def _steps(one: Step, p: Floats, r: Floats, least: float) -> tuple[Ints, Ints]:
    """Levels of U and L; a step ends beyond what is private only by rounding, and where its image is missing stays."""
    up = np.maximum(_floor(p, r, *one.up(p, r), least), np.arange(len(p)))
    return up, len(p) - 1 - up[::-1]  # L is U on complements, and the levels are their own complements


def _floor(p: Floats, r: Floats, value: Floats, rest: Floats, least: float) -> Ints:
    """The largest level that is at most a value, but for rounding and for what was joined within ``least``."""
    low = value <= 0.5
    by_value = np.searchsorted(p, value + np.maximum(16 * SAME * value, least), side="right") - 1
    by_rest = len(r) - np.searchsorted(r[::-1], rest - np.maximum(16 * SAME * rest, least), side="left") - 1
    return np.where(low, by_value, by_rest)

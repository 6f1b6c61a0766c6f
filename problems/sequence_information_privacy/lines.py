"""Functions of one number that are linear between points, and lines that enclose them, rounded outward at every operation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import Balls, above, below, floored

FAR = 2.0**100
"""What a posterior costs that is no candidate."""


def factors_of(epsilon: float) -> tuple[float, float]:
    """Floats not above e^-epsilon and not below e^epsilon.

    Examples
    --------
    >>> low, up = factors_of(1.0)
    >>> low < 0.36787944117144236 and 2.718281828459045 < up
    True
    """
    return float((-Balls.exact(epsilon)).exp().lower), float(Balls.exact(epsilon).exp().upper)


def ends_of(factors: tuple[float, float], beliefs: Balls) -> tuple[Floats, Floats]:
    """Two numbers below the least posterior of a letter, and two above the largest one, (2, C) each, by its belief (C,).

    Both are linear in the belief but for rounding.

    Examples
    --------
    >>> under, over = ends_of((0.5, 2.0), Balls.exact([0.25, 0.75]))
    >>> under.max(axis=0).round(9).tolist(), over.min(axis=0).round(9).tolist()
    ([0.125, 0.5], [0.5, 0.875])
    """
    low, up = (Balls.exact(factor) for factor in factors)
    rest = 1.0 - beliefs
    return (
        np.stack([(low * beliefs).lower, (1.0 - up * rest).lower]),
        np.stack([(up * beliefs).upper, (1.0 - low * rest).upper]),
    )


def least_total(terms: Floats) -> float:
    """Not above the least sum of a column.

    Examples
    --------
    >>> least_total(np.array([[1.0, 2.0], [-(2.0**-60), 0.0]])) < 1.0
    True
    """
    return floored(min(sum(map(Fraction, column), Fraction(0)) for column in terms.T.tolist()))


def line_below(values: Floats, grid: Floats) -> Floats:
    """Begins and ends (2, C - 1) of a line in each interval that is below one of two linear functions with values (2, C).

    It passes no inner point of the grid: where it would, it ends there.

    Examples
    --------
    >>> values = np.array([[0.1, 0.4, 0.6], [-1.0, 0.3, 0.9]])
    >>> line_below(values, np.array([0.0, 0.5, 1.0])).tolist()
    [[0.1, 0.3], [0.4, 0.5]]
    """
    begins, ends = values[:, :-1], values[:, 1:]
    nearer = (begins + ends).argmax(axis=0)[None]
    line = np.concatenate([np.take_along_axis(each, nearer, axis=0) for each in (begins, ends)])
    stop = np.append(grid[1:-1], np.inf)[np.searchsorted(grid[1:-1], line.min(axis=0), side="right")]
    lines: Floats = np.minimum(line, stop)
    return lines


def bent(begins: Floats, ends: Floats, bend: Floats) -> Floats:
    """Not above quadratic functions on [0, 1] with values at 0 and 1 and leading coefficients that are at most ``bend``.

    Examples
    --------
    >>> bent(np.array([0.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0]), np.array([1.0, 1.0, -1.0])).round(12).tolist()
    [-0.25, -0.0, -0.0]
    """
    inside = above(bend - below(np.abs(ends - begins))).clip(0.0)
    under = above(above(inside * inside) / (4 * np.where(bend > 0, bend, 1.0)))
    under = np.minimum(under, above(bend / 4))
    return below(np.minimum(begins, ends) - np.where(inside > 0, under, 0.0))


def held(grid: Floats, values: Floats, at: Floats) -> Balls:
    """Balls around values that are linear between points of a grid, and go on outside."""
    after = np.searchsorted(grid, at, side="right").clip(1, len(grid) - 1)
    first, begin = grid[after - 1], Balls.exact(values[after - 1])
    share = (Balls.exact(at) - first) / (Balls.exact(grid[after]) - first)
    between: Balls = begin + share * (Balls.exact(values[after]) - begin)
    return between

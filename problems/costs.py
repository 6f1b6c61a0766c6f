"""The expected distortion of every observation and release, in integers: sums and comparisons are exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.mechanisms import Merging
from privopt.models import JointDistribution
from privopt.models.channel_data import Observation, Release
from privopt.problems.validation import Matrix

MACHINE = 62
"""Binary digits of integers that the processor holds."""
LARGEST = 1023
"""Binary digits of integers up to which they are floats, too."""


@dataclass(frozen=True)
class Costs:
    """Releasing y whenever w is seen costs cells[w][y] / scale, the probability of w included.

    Examples
    --------
    >>> costs = Costs(((0, 2), (1, 0)), 4)
    >>> costs.least, costs.reproduction, costs.constant
    (Fraction(0, 1), (0, 1), 0)
    """

    cells: tuple[tuple[int, ...], ...]
    scale: int

    @cached_property
    def least(self) -> Fraction:
        """The least expected distortion of any release."""
        return Fraction(sum(map(min, self.cells)), self.scale)

    @cached_property
    def reproduction(self) -> tuple[int, ...]:
        """The release of least distortion for each observation, the first of equals."""
        return self.reproduction_among(range(len(self.cells[0])))

    def reproduction_among(self, releases: range | list[int]) -> tuple[int, ...]:
        """The same among some releases."""
        return tuple(min(releases, key=row.__getitem__) for row in self.cells)

    @cached_property
    def constant(self) -> int:
        """The release of least expected distortion if there is one release for all."""
        totals = [sum(column) for column in zip(*self.cells, strict=True)]
        return totals.index(min(totals))

    @property
    def of_constant(self) -> Fraction:
        """The least expected distortion of one release for all."""
        return Fraction(min(sum(column) for column in zip(*self.cells, strict=True)), self.scale)

    @cached_property
    def excess(self) -> Floats:
        """What each release costs above the cheapest of its observation, shape (n_w, n_y)."""
        least = map(min, self.cells)
        return np.array(
            [[(c - low) / self.scale for c in row] for row, low in zip(self.cells, least, strict=True)]
        )

    def of_map(self, chosen: tuple[int, ...]) -> Fraction:
        """The expected distortion of one release for each observation."""
        return Fraction(sum(row[y] for row, y in zip(self.cells, chosen, strict=True)), self.scale)

    def expected(self, release: Release) -> Fraction:
        """The exact expected distortion of a release."""
        if isinstance(release, Merging):
            return self.of_map(tuple(release.assignment.tolist()))
        total = Fraction(0)
        for row, weights in zip(self.cells, release.exact(), strict=True):
            total += Fraction(sum(map(mul, row, weights.weights)), weights.total)
        return total / self.scale


def costs(observed: Observation, matrix: Matrix) -> Costs:
    """The costs of a distortion D[x, y] under a distribution of (X, W)."""
    whole, halves = _integers(np.array(matrix, dtype=np.float64))
    if observed.useful is None:
        return Costs(_times(observed.weights, whole), observed.leaking.exact.total * halves)
    return Costs(_through(observed.useful, whole.tolist()), observed.useful.exact.total * halves)


def _integers(matrix: Floats) -> tuple[NDArray[Any], int]:
    """Floats times a power of 2 that makes integers of them, machine integers where these hold all; and that power."""
    mantissa, exponent = np.frexp(matrix)
    digits = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    ended = np.frexp((digits & -digits).astype(np.float64))[1] - 1  # zeros at the end of the 53 binary digits
    power = int(np.where(matrix == 0, 0, 53 - exponent - ended).max(initial=0))
    largest = power + int(exponent.max(initial=0))
    if largest < MACHINE:
        return np.ldexp(matrix, power).astype(np.int64), 1 << power
    cells = np.empty(matrix.size, dtype=object)
    if largest < LARGEST:  # a power of 2 changes no digit
        cells[:] = list(map(int, np.ldexp(matrix, power).ravel().tolist()))
    else:
        ratios = (d.as_integer_ratio() for d in matrix.ravel().tolist())
        cells[:] = [up * ((1 << power) // down) for up, down in ratios]
    return cells.reshape(matrix.shape), 1 << power


def _times(weights: Sequence[int], whole: NDArray[Any]) -> tuple[tuple[int, ...], ...]:
    """Each row of some integers times a weight, without overflow."""
    largest = max(1, int(np.abs(whole).max(initial=0))) * max(weights, default=0)
    factors = np.array(weights, dtype=np.int64 if largest < 1 << MACHINE else object)
    cells = factors[:, None] * (whole if largest < 1 << MACHINE else whole.astype(object))
    return tuple(map(tuple, cells.tolist()))


def costs_under(weights: Sequence[Fraction], matrix: Matrix) -> Costs:
    """The costs of a distortion D[x, y] where what is observed is X itself, with weights that need not sum to 1.

    Examples
    --------
    >>> costs_under([Fraction(1, 3), Fraction(2, 3)], ((0.0, 1.0), (1.0, 0.0)))
    Costs(cells=((0, 1), (2, 0)), scale=3)
    """
    cells = [[w * Fraction(d) for d in row] for w, row in zip(weights, matrix, strict=True)]
    scale = math.lcm(*(c.denominator for row in cells for c in row))
    return Costs(tuple(tuple(int(c * scale) for c in row) for row in cells), scale)


def _through(joint: JointDistribution, whole: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    """Sum over x of the weight of (x, w) times the distortion, as a product of integer matrices."""
    from flint import fmpz_mat

    n = len(joint.useful)
    table = [list(joint.exact.weights[i : i + n]) for i in range(0, len(joint.exact.weights), n)]
    product = fmpz_mat(table).transpose() * fmpz_mat(whole)
    return tuple(tuple(int(v) for v in row) for row in product.tolist())


def share(part: Fraction, whole: Fraction) -> Fraction:
    """The share part / whole, rounded up to a multiple of 2^-60 and at most 1, for 0 <= part <= whole, whole > 0.

    Examples
    --------
    >>> share(Fraction(1, 4), Fraction(1))
    Fraction(1, 4)
    """
    return min(Fraction(1), Fraction(math.ceil(part / whole * 2**60), 2**60))

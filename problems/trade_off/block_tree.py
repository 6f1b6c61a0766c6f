"""All blocks of small reduced cost, found without visiting the others.

A block's reduced cost is a sum of entropies of its masses, with weights of either sign, less the prices of its symbols. Symbols are
taken or left one after the other, the most probable first. Whatever is still to be decided, each mass lies in an interval; there -t ln t
is at least its secant, and at most its tangent. What is left is linear in the choice: every symbol that lowers it is taken. So a few
additions say how low the reduced cost can still become, and most choices need not be completed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import U
from privopt.problems.entropy_boxes import log_balls, phi_balls

CHUNK = 1 << 13
"""Partial blocks that are bounded together."""

VISITED = 400_000_000
"""Partial blocks that are bounded in one search, at most: some minute, whatever prices a file gives."""

OUTWARD = 4e-12
"""By how much intervals of masses and feet of tangents are widened, relatively: sums of up to 63 masses, and c ln c, are off by less."""

DIGITS = 11
"""Binary digits of the masses at which logarithms are known beforehand: what lies between them costs 1e-8 of the masses."""

SMALLEST = -60
"""Power of two of the smallest such mass."""


@dataclass(frozen=True, eq=False)
class FoundBlocks:
    """Blocks with their masses.

    Parameters
    ----------
    blocks : int array (m,)
        As bits.
    masses : float array (m, k)
        Sums of the rows over their symbols, from the last to the first.
    paid : float array (m,)
        Sums of the prices.
    complete : bool
        Whether all were found that were asked for, perhaps with others.
    """

    blocks: Ints
    masses: Floats
    paid: Floats
    complete: bool

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.blocks)

    def take(self, kept: Ints | slice) -> FoundBlocks:
        """Some of them."""
        return FoundBlocks(self.blocks[kept], self.masses[kept], self.paid[kept], self.complete)

    def grown(self, bit: int, row: Floats, price: float) -> FoundBlocks:
        """Each with another symbol, and each without it."""
        return FoundBlocks(
            np.concatenate([self.blocks | bit, self.blocks]),
            np.concatenate([self.masses + row, self.masses]),
            np.concatenate([self.paid + price, self.paid]),
            self.complete,
        )


@dataclass(frozen=True, eq=False)
class BlockTree:
    """The reduced costs sum_k weights[k] phi(rows[k] over the block) - prices over the block, with phi(t) = -t ln t.

    Parameters
    ----------
    rows : float array (k, n)
        At least 0; symbols by ascending probability.
    weights : float array (k,)
    prices : float array (n,)

    Examples
    --------
    >>> tree = BlockTree(np.array([[0.2, 0.3, 0.5]]), np.array([1.0]), np.array([0.4, 0.3, 0.3]))
    >>> found = tree.below(0.0)
    >>> sorted(found.blocks.tolist()), found.complete
    ([1, 3, 5, 6, 7], True)
    """

    rows: Floats
    weights: Floats
    prices: Floats

    @property
    def size(self) -> int:
        """How many symbols there are."""
        return len(self.prices)

    @cached_property
    def rest(self) -> Floats:
        """Sums of the rows over the first i symbols, shape (k, n + 1)."""
        return np.concatenate([np.zeros((len(self.rows), 1)), np.cumsum(self.rows, axis=1)], axis=1)

    def below(
        self, most: float, *, deadline: float = math.inf, count: float = math.inf, width: int | None = None
    ) -> FoundBlocks:
        """Every block of reduced cost at most ``most``, and perhaps others near.

        Parameters
        ----------
        most : float
        deadline : float
            On the clock of ``time.monotonic``.
        count : float
            Stop after so many.
        width : int, optional
            Go on with so many partial blocks only, the most promising ones.
        """
        none = FoundBlocks(np.zeros(1, dtype=np.int64), np.zeros((1, len(self.rows))), np.zeros(1), True)
        waiting, found, total, complete = [(self.size, none)], [none.take(slice(0, 0))], 0, True
        visited = 0
        while waiting and complete:
            left, partial = waiting.pop()
            visited += 2 * partial.size
            if time.monotonic() > deadline or visited > VISITED:
                complete = False
                break
            grown = partial.grown(1 << (left - 1), self.rows[:, left - 1], float(self.prices[left - 1]))
            least = self.least(grown, left - 1)
            kept = np.flatnonzero(least <= most)
            if width is not None and len(kept) > width:
                kept = kept[np.argpartition(least[kept], width)[:width]]
            grown = grown.take(kept)
            if left > 1:
                step = CHUNK if width is None else max(CHUNK, width)
                waiting += [(left - 1, grown.take(slice(i, i + step))) for i in range(0, grown.size, step)]
                continue
            grown = grown.take(np.flatnonzero(grown.blocks))
            found.append(grown)
            total += grown.size
            complete = total <= count
        return FoundBlocks(
            np.concatenate([f.blocks for f in found]),
            np.concatenate([f.masses for f in found]),
            np.concatenate([f.paid for f in found]),
            complete and width is None,
        )

    def least(self, partial: FoundBlocks, left: int) -> Floats:
        """What reduced costs are at least, whichever of the first ``left`` symbols join.

        What is added of the lines, in whatever order, is off by at most (k + 2 n + 10) u of the sum of the sizes of all terms; n of
        these roundings are those of the masses, and some those of slopes and weights.
        """
        masses = partial.masses
        high = masses + self.rest[:, left]
        foot, slope = self._lines(masses * (1 - OUTWARD), high * (1 + OUTWARD))
        tilt = slope @ self.rows[:, :left] - self.prices[:left]
        linear = foot + slope * masses
        fixed = linear @ np.ones(len(self.rows)) - partial.paid
        size = (np.abs(foot) + np.abs(slope) * high) @ np.ones(len(self.rows)) + np.abs(self.prices).sum()
        off = 2 * (len(self.rows) + 2 * self.size + 10) * U * size
        return np.asarray(fixed + np.minimum(tilt, 0.0) @ np.ones(left) - off)

    def _lines(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Lines a + b t below weights[k] phi(t) on intervals (m, k)."""
        grid, foot, slope = _grid(), np.empty(low.shape), np.empty(low.shape)
        concave = self.weights > 0
        for side, lines in ((concave, grid.secants), (~concave, grid.tangents)):
            if side.any():
                a, b = lines(low[:, side], high[:, side])
                foot[:, side], slope[:, side] = a * self.weights[side], b * self.weights[side]
        return foot, slope


@dataclass(frozen=True, eq=False)
class _Grid:
    """Masses of few binary digits, least first, with what is proved of phi(t) = -t ln t there.

    Parameters
    ----------
    masses, phi : float array (m,)
        phi rounded down.
    slopes, feet : float array (m,)
        Of lines above phi, nearly its tangents.
    rises : float array (m,)
        Slopes of the secants to the next mass; the last is not used.
    """

    masses: Floats
    phi: Floats
    slopes: Floats
    feet: Floats
    rises: Floats

    def places(self, masses: Floats) -> Ints:
        """Where the largest mass of the grid below others is; the first or the last one for those outside."""
        places = (np.ascontiguousarray(masses).view(np.int64) >> (52 - DIGITS)) - (
            (1023 + SMALLEST) << DIGITS
        )
        return np.clip(places, 0, len(self.masses) - 2, out=places)

    def tangents(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Lines above phi, which touch it near the middle of intervals."""
        places = self.places((low + high) / 2)
        return self.feet[places], self.slopes[places]

    def secants(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Lines below phi on intervals: below what phi is at least at both ends, where it lies above the secants of the grid."""
        at_low, at_high = self.below(low), self.below(high)
        width = high - low
        slope = np.where(width > 0, (at_high - at_low) / np.where(width > 0, width, 1.0), 0.0)
        return np.minimum(at_low - slope * low, at_high - slope * high), slope

    def below(self, masses: Floats) -> Floats:
        """What phi is at least, for masses of at most 1 but for roundings: 0 for those before the grid."""
        places = self.places(masses)
        line = self.phi[places] + self.rises[places] * (masses - self.masses[places])
        return np.where(masses < self.masses[0], 0.0, line)


@cache
def _grid() -> _Grid:
    """The masses from 2^SMALLEST to 2.

    The line of slope s = -ln c - 1 touches phi from above at exp(s + 1) and meets the axis at exp(-s - 1), which is c but for
    the error of the logarithm, at most 17 u (|ln c| + 1).
    """
    count = (1 - SMALLEST) << DIGITS
    masses = ((np.arange(count + 1) + ((1023 + SMALLEST) << DIGITS)) << (52 - DIGITS)).view(np.float64)
    phi, slopes = phi_balls(masses).lower, -1.0 - log_balls(masses).mid
    rises = np.append(np.diff(phi) / np.diff(masses), 0.0)
    return _Grid(masses, phi, slopes, masses * (1 + OUTWARD), rises)

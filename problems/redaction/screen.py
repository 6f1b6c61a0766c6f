"""Which pairs of values of a private record can show the largest ratio: enclosures in floats, with their roundings.

On one side, walking away from the private record, row x of a table holds what value x makes of "all nearer records
redacted, and this one has value v". No term is negative, so relative errors add up: k + 8 roundings a record cover the
products (in any order), the rounding of the step and of its scale, and the redaction weights, which are exact floats.
Rows are scaled by powers of two. Where a number could leave the range of floats nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.mechanisms.redaction import TOTAL

U = 2.0**-53
LEAST = 1e-200
"""Numbers below this, relative to the largest of their row, are not followed: products of two might vanish."""
LEAST_STEP = 1e-60
BLOCK = 4096
"""Records that are looked through at a time for the first that is always released."""
EVERY = 16
"""After so many records it is looked whether farther ones can still show more."""


@dataclass(frozen=True, eq=False)
class Side:
    """The records of one side that can tell anything, nearest first.

    Parameters
    ----------
    weights : array (m, k)
        Redaction weights out of ``TOTAL`` by distance.
    reachable : array (m, k)
        Whether the record can have the value.
    length
        Number of all records of the side; those beyond ``m`` tell nothing more.
    open
        Whether nothing may have been released up to there: that is an output too.
    """

    weights: Ints
    reachable: Bools
    length: int
    open: bool

    @classmethod
    def both(cls, sides: Iterable[tuple[Ints, Bools]]) -> tuple[Side, Side]:
        """The left one and the right one, from weights and what is reachable."""
        left, right = (cls.of(*side) for side in sides)
        return left, right

    @classmethod
    def of(cls, weights: Ints, reachable: Bools) -> Side:
        """A side up to its first record that is always released, or else its last that ever is.

        What lies beyond a release is independent of the private record given it, and that all farther records are
        hidden is certain.
        """
        m = 0
        for begin in range(0, len(weights), BLOCK):
            near, able = weights[begin : begin + BLOCK], reachable[begin : begin + BLOCK]
            whole = np.flatnonzero(((near == 0) | ~able).all(axis=1))
            if len(whole):
                m = begin + int(whole[0]) + 1
                return cls(weights[:m], reachable[:m], len(weights), open=False)
            shown = np.flatnonzero(((near < TOTAL) & able).any(axis=1))
            m = begin + int(shown[-1]) + 1 if len(shown) else m
        return cls(weights[:m], reachable[:m], len(weights), open=True)

    def cut(self, count: int) -> Side:
        """The nearest records alone, if farther ones cannot show more."""
        if count >= len(self.weights):
            return self
        return Side(self.weights[:count], self.reachable[:count], self.length, False)


@dataclass(frozen=True, eq=False)
class Screen:
    """Bounds on the largest ratio of every ordered pair [x, x'] of rows, and after how many records it is reached."""

    low: Floats
    high: Floats
    records: int


def screen(side: Side, steps: Iterator[Floats], rows: Ints, scales: Floats) -> Screen | None:
    """Bounds on the largest ratios of one side, or None where floats do not reach.

    Parameters
    ----------
    side : Side
    steps : (k, k) arrays by distance, each entry within 4 roundings
        Rows are the values nearer to the private record.
    rows : values of the private record
    scales : array (len(rows),)
        What each row is multiplied by, within 8 roundings.
    """
    count, k = len(rows), side.weights.shape[1]
    low, high = np.ones((count, count)), np.ones((count, count))
    table, exponents = np.eye(k)[rows], np.zeros(count, dtype=np.int64)
    redaction = side.weights / float(TOTAL)
    shown = (redaction < 1) & side.reachable
    for d, step in zip(range(len(redaction)), steps, strict=False):
        if step[step > 0].min(initial=1.0) < LEAST_STEP:
            return None
        table = (table @ step) * side.reachable[d]
        _, power = np.frexp(table.max(axis=1))
        table, exponents = np.ldexp(table, -power[:, None]), exponents + power
        if table[table > 0].min(initial=1.0) < LEAST:
            return None
        error = ((d + 1) * (k + 8) + 32) * U
        if shown[d].any():
            ratios = _largest(table[:, shown[d]], exponents, scales)
            low, high = np.maximum(low, ratios * (1 - 4 * error)), np.maximum(high, ratios * (1 + 4 * error))
            table = table * redaction[d]
            if d % EVERY == 0:
                farther = _largest(table, exponents, scales) * (1 + 8 * error)
                np.fill_diagonal(farther, 0.0)
                if (farther <= low).all():  # later outputs mix the columns
                    return Screen(low, high, d + 1)
    if side.open and len(redaction):
        error = ((len(redaction) + 1) * (k + 8) + 32) * U
        high = np.maximum(high, _largest(table, exponents, scales) * (1 + 4 * error))
    return Screen(low, high, len(redaction))


def _largest(columns: Floats, exponents: Ints, scales: Floats) -> Floats:
    """The largest ratio of two rows over columns; 0 where the first is always zero, inf where only the other is."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = (columns[:, None] / columns[None]).copy()
        ratios[np.isnan(ratios)] = 0.0
        relative = scales[:, None] / scales[None]
        apart = np.clip(exponents[:, None] - exponents[None], -2000, 2000).astype(np.int32)
        largest = np.asarray(ratios.max(axis=2, initial=0.0) * relative)
        return np.asarray(np.where(largest > 0, np.ldexp(largest, apart), 0.0))

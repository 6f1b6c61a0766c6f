"""The transfer recursion of one side for two states, in plain floats: tens of times faster than small arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats

Numbers = tuple[float, ...]

SMALL = 1e-100
CHECKED = 256
BLOCK = 4096
RESTING = 4e-16


@dataclass(slots=True)
class Peak:
    """The largest excess ratio - 1 >= 0 seen in one direction, and the output that shows it."""

    excess: float = 0.0
    distance: int = 0
    value: int = -1

    def offer(self, difference: float, other: float, distance: int, value: int) -> float:
        """Take (p - q) / q for an output of probabilities p and q, where it is larger; the peak after that."""
        if other > 0.0:
            excess = difference / other
        else:
            excess = math.inf if difference > 0.0 else -1.0
        if excess > self.excess or self.distance == 0:
            self.excess, self.distance, self.value = max(excess, 0.0), distance, value
        return self.excess


def binary_peaks(steps: Iterable[Floats], redaction: Floats, repeated: bool) -> tuple[Peak, Peak]:
    """Peaks of the directions (0, 1) and (1, 0); see ``directional_leakage``.

    a, b are the rows A[0], A[1] up to a common scale, g = a - b with all its digits, t the sum of g.
    """
    up_peak, down_peak, source = Peak(), Peak(), _numbers(steps, repeated)
    up = down = -1.0
    a0, a1, b0, b1, g0, t = 1.0, 0.0, 0.0, 1.0, 1.0, 0.0
    rows: list[list[float]] = []
    base = d = 0
    while d < len(redaction) and (step := next(source, None)) is not None:
        if not base <= d < base + len(rows):
            base, rows = d, redaction[d : d + BLOCK].tolist()  # in blocks: most sides are read in part
        q00, q01, q10, q11, e0, e1 = step
        before = (a0, a1, b0, b1, g0, t)
        a0, a1, b0, b1 = a0 * q00 + a1 * q10, a0 * q01 + a1 * q11, b0 * q00 + b1 * q10, b0 * q01 + b1 * q11
        g0, g1 = t * q10 + g0 * e0, t * q11 + g0 * e1
        r0, r1 = rows[d - base]
        d += 1
        if r0 < 1.0 or r1 < 1.0:
            # Calls only where a peak can rise: this loop runs once a record.
            if r0 < 1.0 and (a0 > 0.0 or b0 > 0.0) and not (b0 * up >= g0 and a0 * down >= -g0):
                up, down = up_peak.offer(g0, b0, d, 0), down_peak.offer(-g0, a0, d, 0)
            if r1 < 1.0 and (a1 > 0.0 or b1 > 0.0) and not (b1 * up >= g1 and a1 * down >= -g1):
                up, down = up_peak.offer(g1, b1, d, 1), down_peak.offer(-g1, a1, d, 1)
            # Later outputs mix the columns, so their ratios are at most the largest column's.
            known = b0 * up >= g0 and a0 * down >= -g0 and b1 * up >= g1 and a1 * down >= -g1
            if known or (r0 == 0.0 and r1 == 0.0):
                return up_peak, down_peak
            a0, a1, b0, b1, g0, g1 = a0 * r0, a1 * r1, b0 * r0, b1 * r1, g0 * r0, g1 * r1
            t = g0 + g1
        if a0 + a1 + b0 + b1 < SMALL:
            scale = a0 + a1 + b0 + b1
            if scale == 0.0:
                return up_peak, down_peak
            a0, a1, b0, b1, g0, t = a0 / scale, a1 / scale, b0 / scale, b1 / scale, g0 / scale, t / scale
        if repeated and d % CHECKED == 0 and _rests(before, (a0, a1, b0, b1, g0, t)):
            other = (redaction[d:] != redaction[d - 1]).any(axis=1)
            d += int(np.argmax(other)) if other.any() else len(other)
    if d:
        up_peak.offer(t, b0 + b1, d, -1)
        down_peak.offer(-t, a0 + a1, d, -1)
    return up_peak, down_peak


def _numbers(steps: Iterable[Floats], repeated: bool) -> Iterator[Numbers]:
    """Entries of each step, row by row, and the difference of its rows."""
    for step in steps:
        (q00, q01), (q10, q11) = step.tolist()
        entries = (q00, q01, q10, q11, q00 - q10, q01 - q11)
        yield entries
        while repeated:
            yield entries


def _rests(before: Numbers, now: Numbers) -> bool:
    """Whether a step changed nothing but the scale, to the last digits."""
    scale = now[0] + now[1] + now[2] + now[3]
    old = before[0] + before[1] + before[2] + before[3]
    return all(abs(x / old - y / scale) <= RESTING * abs(y / scale) for x, y in zip(before, now, strict=True))

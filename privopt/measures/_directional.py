"""Largest log-ratios of the outputs on one side of a private record, by a transfer recursion.

Given the private record the two sides are independent, and on one side only the first released value
matters: what lies beyond it is independent of the private record given it, so it cancels in every
ratio. Walking away from the private record, A[x, v] is the probability that every nearer record is
redacted and the record at this distance has value v, given that the private record has value x.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Directional:
    """For every ordered pair (x, x'), the largest log Pr(output | x) / Pr(output | x') on one side.

    ``distance[x, x']`` and ``value[x, x']`` name the first release that attains it; value -1 stands
    for "everything redacted", distance 0 for an empty side.
    """

    largest: Floats
    distance: NDArray[np.int64]
    value: NDArray[np.int64]


def directional_leakage(steps: Iterable[Floats], redaction: Floats) -> Directional:
    """Directional leakages of one side, O(m k^3).

    Parameters
    ----------
    steps : iterable of (k, k) arrays
        Steps away from the private record, at least one a row of ``redaction`` unless all is released
        before.
    redaction : array (m, k)
        Redaction probabilities by distance (row d-1 for distance d) and value.
    """
    k = redaction.shape[1]
    found = Directional(np.zeros((k, k)), np.zeros((k, k), np.int64), np.full((k, k), -1, np.int64))
    # Rows of the differences A[x] - A[x'], carried beside A so that ratios near 1 keep their digits.
    table, gap = np.eye(k), np.eye(k)[:, None, :] - np.eye(k)[None, :, :]
    total = np.zeros((k, k))  # sums of the rows of gap: exactly 0 until a partial redaction
    distance = 0
    for step, r in zip(steps, redaction, strict=False):
        distance += 1
        table, gap = table @ step, _advance(gap, total, step)
        for v in np.flatnonzero(r < 1):
            _record(found, _log_ratios(table[:, v], gap[:, :, v]), distance, int(v))
        if not r.any():
            return found
        if (r < 1).any():
            table, gap = table * r, gap * r
            total = gap.sum(axis=2)
        scale = table.max()
        if scale == 0:
            return found
        table, gap, total = table / scale, gap / scale, total / scale
    if distance:
        _record(found, _log_ratios(table.sum(axis=1), total), distance, -1)
    return found


def first_release_ratios(steps: Iterable[Floats]) -> Iterator[Floats]:
    """For each distance, log Pr(X_d = v | x) / Pr(X_d = v | x') as an array [v, x, x'].

    This is what a first release of value v at that distance shows when all nearer records are always
    redacted; -inf where x forbids v, inf where x' alone does.
    """
    table: Floats | None = None
    for step in steps:
        if table is None:
            k = len(step)
            table, gap = np.eye(k), np.eye(k)[:, None, :] - np.eye(k)[None, :, :]
        table, gap = table @ step, _advance(gap, np.zeros((k, k)), step)
        yield np.stack([_log_ratios(table[:, v], gap[:, :, v]) for v in range(k)])


def _advance(gap: Floats, total: Floats, step: Floats) -> Floats:
    """Gap @ step, written with differences of the rows of the step to spare their digits."""
    moved: Floats = total[:, :, None] * step[-1] + gap[:, :, :-1] @ (step[:-1] - step[-1])
    return moved


def _log_ratios(column: Floats, difference: Floats) -> Floats:
    """Log column[x] / column[x'], where difference = column[x] - column[x'] with all its digits.

    An output that no x allows gives -inf everywhere; one that x' alone forbids gives inf.
    """
    k = len(column)
    ratios = np.full((k, k), -np.inf)
    for x in range(k):
        for y in range(k):
            if column[x] == 0 or x == y:
                continue
            if column[y] == 0:
                ratios[x, y] = np.inf
                continue
            part = difference[x, y] / column[y]
            ratios[x, y] = np.log1p(part) if abs(part) < 0.5 else np.log(column[x]) - np.log(column[y])
    return ratios


def _record(found: Directional, ratios: Floats, distance: int, value: int) -> None:
    better = (ratios > found.largest) | ((found.distance == 0) & (ratios > -np.inf))
    found.largest[better] = np.maximum(ratios, 0.0)[better]
    found.distance[better] = distance
    found.value[better] = value

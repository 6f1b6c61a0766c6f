"""Partitions of least weight, when the weight of a partition is the sum over its blocks: dynamic programming in 3^n."""

from __future__ import annotations

import time

import numpy as np

from privopt.arrays import Floats

EXPANDED = 1 << 9
"""Length up to which a min-plus product is written out as 3^k sums; longer ones are cut in three."""


class OutOfTime(Exception):
    """The deadline passed."""


def least_weights(weights: Floats, deadline: float) -> Floats:
    """The least weight of a partition of each subset of the first n - 1 symbols, shape (2^(n-1),).

    The block that holds the last symbol of a subset is tried in all ways: V(r + k) = min over s in r of
    weight(s + k) + V(r - s), a product of subsets in the (min, +) semiring.

    Parameters
    ----------
    weights : float array (2^n,)
        Weight of each block; that of the empty one is not read.
    deadline : float
        On the clock of ``time.monotonic``.

    Raises
    ------
    OutOfTime
        If the deadline passes first.

    Examples
    --------
    >>> least_weights(np.array([0.0, 1.0, 2.0, 5.0, 0.0, 0.0, 0.0, 0.0]), np.inf).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    found = np.zeros(1)
    while 2 * len(found) < len(weights):
        k = len(found)
        found = np.concatenate([found, _product(weights[k : 2 * k], found, deadline)])
    return found


def _product(f: Floats, g: Floats, deadline: float) -> Floats:
    """Entry r is the least of f[s] + g[r - s] over the subsets s of r."""
    if len(f) <= EXPANDED:
        return _expanded(f, g)
    if time.monotonic() > deadline:
        raise OutOfTime
    half = len(f) // 2
    low = _product(f[:half], g[:half], deadline)
    high = np.minimum(_product(f[:half], g[half:], deadline), _product(f[half:], g[:half], deadline))
    return np.concatenate([low, high])


def _expanded(f: Floats, g: Floats) -> Floats:
    first, second = f[None, :], g[None, :]
    while first.shape[1] > 1:
        half = first.shape[1] // 2
        a, b = first[:, :half], first[:, half:]
        c, d = second[:, :half], second[:, half:]
        first, second = np.concatenate([a, a, b]), np.concatenate([c, d, c])
    sums = first + second
    while len(sums) > 1:
        third = len(sums) // 3
        high = np.minimum(sums[third : 2 * third], sums[2 * third :])
        sums = np.concatenate([sums[:third], high], axis=1)
    return np.asarray(sums[0])


def submasks(mask: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """All subsets of a set of bits, the empty one first.

    Examples
    --------
    >>> submasks(0b101).tolist()
    [0, 1, 4, 5]
    """
    found = np.zeros(1, dtype=np.int64)
    for bit in range(mask.bit_length()):
        if mask >> bit & 1:
            found = np.concatenate([found, found | (1 << bit)])
    return found


def lightest_partition(weights: Floats, least: Floats) -> list[int]:
    """The blocks of a partition of all symbols of least weight; that of the last symbol comes first."""
    rest, blocks = len(weights) - 1, []
    while rest:
        top = 1 << (rest.bit_length() - 1)
        inner = submasks(rest ^ top)
        best = int(np.argmin(weights[top | inner] + least[(rest ^ top) ^ inner]))
        blocks.append(top | int(inner[best]))
        rest ^= blocks[-1]
    return blocks

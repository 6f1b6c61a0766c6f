"""Partitions of a set of least weight, where the weight of a partition is the sum over its blocks.

A set is a number whose bit i says that it holds element i. Dynamic programming over all sets takes 3^n sums.
"""

from __future__ import annotations

import math
import time
from functools import cache

import numpy as np

from privopt.arrays import Floats, Ints

LEAF = 9
"""Sets of so many elements are convolved on one array of 3^LEAF pairs; products of more are cut in three."""


class OutOfTime(Exception):
    """The deadline passed."""


def least_weights(weights: Floats, deadline: float = math.inf) -> Floats:
    """The least weight of a partition of each set of n elements, shape (2^n,).

    The block that holds the last element of a set is tried in all ways: V(r + k) = min over s in r of
    weight(s + k) + V(r - s), a product of subsets in the (min, +) semiring.

    Parameters
    ----------
    weights : float array (2^n,)
        Weight of each block, inf where it may not be one; that of the empty one is not read.
    deadline : float
        On the clock of ``time.monotonic``.

    Returns
    -------
    float array (2^n,)
        0 for the empty set, inf where there is no partition.

    Raises
    ------
    OutOfTime
        If the deadline passes first.

    Examples
    --------
    >>> least_weights(np.array([0.0, 1.0, 2.0, 5.0])).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    least = np.zeros(1)
    while len(least) < len(weights):
        k = len(least)
        least = np.concatenate([least, _product(weights[k : 2 * k], least, deadline)])
    return least


def lightest_partition(weights: Floats, least: Floats, whole: int | None = None) -> list[int]:
    """The blocks of a partition of one set of least weight, that of its last element first.

    Parameters
    ----------
    weights : float array (2^n,)
        Weight of each block.
    least : float array
        Least weights of the sets without the last element, at least.
    whole : int, optional
        The set; all n elements by default.

    Examples
    --------
    >>> weights = np.array([0.0, 1.0, 2.0, 5.0])
    >>> lightest_partition(weights, least_weights(weights))
    [2, 1]
    """
    rest, blocks = len(weights) - 1 if whole is None else whole, []
    while rest:
        top = 1 << (rest.bit_length() - 1)
        inner = submasks(rest ^ top)
        best = int(np.argmin(weights[top | inner] + least[(rest ^ top) ^ inner]))
        blocks.append(top | int(inner[best]))
        rest ^= blocks[-1]
    return blocks


def submasks(mask: int) -> Ints:
    """All subsets of a set of bits, the empty one first.

    Examples
    --------
    >>> submasks(0b101).tolist()
    [0, 1, 4, 5]
    """
    return _few(mask) if mask < 1 << LEAF else _submasks(mask)


def _submasks(mask: int) -> Ints:
    subsets = np.zeros(1, dtype=np.int64)
    while mask:
        bit = mask & -mask
        subsets = np.concatenate([subsets, subsets | bit])
        mask ^= bit
    return subsets


@cache
def _few(mask: int) -> Ints:
    """Of at most LEAF elements: 3^LEAF numbers in all, which nobody may change."""
    subsets = _submasks(mask)
    subsets.flags.writeable = False
    return subsets


def _product(f: Floats, g: Floats, deadline: float) -> Floats:
    """Entry r is the least of f[s] + g[r - s] over the subsets s of r."""
    if len(f) <= 1 << LEAF:
        chosen, rest, starts = _pairs(len(f).bit_length() - 1)
        return np.asarray(np.minimum.reduceat(f[chosen] + g[rest], starts))
    if time.monotonic() > deadline:
        raise OutOfTime
    half = len(f) // 2
    low = _product(f[:half], g[:half], deadline)
    high = np.minimum(_product(f[:half], g[half:], deadline), _product(f[half:], g[:half], deadline))
    return np.concatenate([low, high])


@cache
def _pairs(n: int) -> tuple[Ints, Ints, Ints]:
    """All (s, r - s) with s in r, in the order of r, and where each r starts."""
    lists = [submasks(r) for r in range(1 << n)]
    chosen = np.concatenate(lists)
    rest = np.concatenate([r ^ inner for r, inner in enumerate(lists)])
    starts = np.cumsum([0] + [len(inner) for inner in lists[:-1]])
    return chosen, rest, starts

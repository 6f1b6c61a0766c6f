"""Partitions of a set of least weight, where the weight of a partition is the sum over its blocks.

A set is a number whose bit i says that it holds element i. Dynamic programming over all sets takes 3^n sums.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache

import numpy as np

from privopt.arrays import Floats, Ints

LEAF = 9
"""Sets of so many elements are convolved on one array of 3^LEAF pairs; products of more are cut in three."""


TOGETHER = 1 << 21
"""Pairs of a partial partition and a block that are looked at together."""


class OutOfTime(Exception):
    """The deadline passed, or more was met than may be."""


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


def light_partitions(
    blocks: Ints,
    weights: Floats,
    size: int,
    most: float,
    *,
    deadline: float = math.inf,
    count: float = math.inf,
) -> Iterator[Ints]:
    """The partitions of a set into some blocks that weigh at most so much, block by block of the first free element.

    Parameters
    ----------
    blocks : int array (m,)
        Sets as bits, none of them empty.
    weights : float array (m,)
        At least 0, each.
    size : int
        How many elements the set has.
    most : float
        The largest weight of a partition.
    deadline : float
        On the clock of ``time.monotonic``.
    count : float
        Partial partitions that are made at most.

    Yields
    ------
    int array (k, d)
        Places in ``blocks`` of partitions into d blocks, a row each.

    Raises
    ------
    OutOfTime
        If the deadline passes, or partial partitions are more than ``count``.

    Examples
    --------
    >>> blocks, weights = np.array([0b01, 0b10, 0b11]), np.array([0.0, 1.0, 0.5])
    >>> [rows.tolist() for rows in light_partitions(blocks, weights, 2, 0.7)]
    [[[2]]]
    """
    order = np.argsort(weights, kind="stable")
    blocks, weights = blocks[order], weights[order]
    first = blocks & -blocks
    of_element = [np.flatnonzero(first == 1 << i) for i in range(size)]
    made = 0.0
    waiting = [(np.array([(1 << size) - 1]), np.zeros(1), np.zeros((1, 0), dtype=np.int32))]
    while waiting:
        free, weight, chosen = waiting.pop()
        tried = of_element[int(free[0] & -free[0]).bit_length() - 1]
        step = max(1, TOGETHER // max(1, len(tried)))
        if len(free) > step:
            waiting.append((free[step:], weight[step:], chosen[step:]))
            free, weight, chosen = free[:step], weight[:step], chosen[:step]
        fits = (blocks[tried] & ~free[:, None]) == 0
        fits &= weight[:, None] + weights[tried] <= most
        parent, which = np.nonzero(fits)
        which = tried[which]
        made += len(parent)
        if made > count or time.monotonic() > deadline:
            raise OutOfTime
        left = free[parent] ^ blocks[which]
        grown = np.column_stack([chosen[parent], which.astype(np.int32)])
        if len(whole := grown[left == 0]):
            yield order[whole]
        heavier = weight[parent] + weights[which]
        next_one = left & -left
        for bit in np.unique(next_one[left != 0]).tolist():
            part = next_one == bit
            waiting.append((left[part], heavier[part], grown[part]))


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

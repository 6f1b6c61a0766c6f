"""The best partition of a set whose blocks have values: dynamic programming over all its subsets.

best(A) = max over blocks B in A that hold the highest element of A, of value(B) + best(A without B). For the
sets whose highest element is i this is a convolution of subsets of {0, ..., i-1} in (max, +), which takes
3^i additions; it is split at the high bits and the rest is done on arrays.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from privopt.arrays import Bools, Floats, Ints

LEAF = 9
"""Subsets of so many elements are convolved on one array of 3^LEAF pairs."""


def members(n: int) -> Bools:
    """All subsets of n elements, number i a row with its bits, shape (2^n, n).

    Examples
    --------
    >>> members(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return np.asarray((np.arange(1 << n)[:, None] >> np.arange(n)[None, :]) & 1 == 1)


def best_values(value: Floats) -> Floats:
    """The value of the best partition of every subset.

    Parameters
    ----------
    value : array (2^n,)
        Of every subset as a block, -inf where it may not be one; entry 0 is not read.

    Returns
    -------
    array (2^n,)
        0 for the empty set, -inf where there is no partition.

    Examples
    --------
    >>> best_values(np.array([0.0, 1.0, 1.0, 3.0])).tolist()
    [0.0, 1.0, 1.0, 3.0]
    """
    found = np.zeros(len(value))
    half = 1
    while half < len(value):
        found[half : 2 * half] = _convolve(value[half : 2 * half], found[:half])
        half *= 2
    return found


def best_blocks(value: Floats, best: Floats, subset: int) -> list[int]:
    """The blocks of the best partition of one subset, as numbers of subsets.

    Examples
    --------
    >>> value = np.array([0.0, 1.0, 1.0, 1.5])
    >>> best_blocks(value, best_values(value), 3)
    [2, 1]
    """
    found = []
    while subset:
        pivot = 1 << (subset.bit_length() - 1)
        inner = _subsets_of(subset ^ pivot)
        totals = value[pivot | inner] + best[(subset ^ pivot) ^ inner]
        found.append(int(pivot | inner[int(np.argmax(totals))]))
        subset ^= found[-1]
    return found


def _convolve(a: Floats, b: Floats) -> Floats:
    """Entry T: max over C in T of a(C) + b(T without C)."""
    if len(a) <= 1 << LEAF:
        chosen, rest, starts = _pairs(len(a).bit_length() - 1)
        return np.asarray(np.maximum.reduceat(a[chosen] + b[rest], starts))
    h = len(a) // 2
    with_top = np.maximum(_convolve(a[h:], b[:h]), _convolve(a[:h], b[h:]))
    return np.concatenate([_convolve(a[:h], b[:h]), with_top])


@cache
def _pairs(n: int) -> tuple[Ints, Ints, Ints]:
    """All (C, T without C) with C in T, in the order of T, and where each T starts."""
    lists = [_subsets_of(t) for t in range(1 << n)]
    chosen = np.concatenate(lists)
    rest = np.concatenate([t ^ inner for t, inner in enumerate(lists)])
    starts = np.cumsum([0] + [len(inner) for inner in lists[:-1]])
    return chosen, rest, starts


def _subsets_of(whole: int) -> Ints:
    """All subsets of a set of bits, itself included."""
    found = np.zeros(1, dtype=np.int64)
    while whole:
        bit = whole & -whole
        found = np.concatenate([found, found | bit])
        whole ^= bit
    return found

"""Exact draws from rows of integer weights of any size, many at a time."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from privopt.core.exact import IntegerRow
from privopt.mechanisms.sampling import below

Codes = NDArray[np.int64]

_WORD = 64


def draw(rows: Sequence[IntegerRow], codes: Codes, rng: np.random.Generator | None) -> Codes:
    """For each code an output of its row: output j with probability ``weights[j] / total``, exactly.

    Parameters
    ----------
    rows : sequence of IntegerRow
        One row an input; totals may have any number of bits.
    codes : int array of any shape
        Which row each draw is from.
    rng : numpy.random.Generator or None
        None draws from the operating system's generator; otherwise the draws are a simulation.

    Examples
    --------
    >>> draw([IntegerRow((0, 3), 3), IntegerRow((1, 0), 1)], np.array([0, 1, 0]), None)
    array([1, 0, 1])
    """
    flat = codes.ravel()
    outputs = np.empty(flat.size, dtype=np.int64)
    order = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[order], np.arange(len(rows) + 1))
    for x, row in enumerate(rows):
        places = order[starts[x] : starts[x + 1]]
        if places.size:
            outputs[places] = _draw_row(row, places.size, rng)
    return outputs.reshape(codes.shape)


def _draw_row(row: IntegerRow, count: int, rng: np.random.Generator | None) -> Codes:
    """Positions of uniform integers below the total among the cumulated weights.

    A total of more bits than a word is drawn word first: the first word settles the place unless it
    equals that of a threshold, and only then are the other bits drawn.
    """
    ends = list(accumulate(row.weights))
    if row.total <= 2**63:
        drawn = below(row.total, (count,), rng)
        return np.searchsorted(np.array(ends, dtype=np.uint64), drawn, side="right").astype(np.int64)
    rest = (row.total - 1).bit_length() - _WORD
    heads = np.array([_head(end, rest) for end in ends], dtype=np.uint64)
    outputs, pending = np.empty(count, dtype=np.int64), np.arange(count)
    while pending.size:
        words = _words(pending.size, rng)
        outputs[pending] = np.searchsorted(heads, words, side="right")
        late = words > heads[-1]
        for i in np.flatnonzero(np.isin(words, heads)).tolist():
            place = _settled(row.total, ends, int(words[i]) << rest | _bits(rest, rng))
            outputs[pending[i]], late[i] = (0, True) if place is None else (place, False)
        pending = pending[late]
    return outputs


def _head(end: int, rest: int) -> int:
    return min(end >> rest, (1 << _WORD) - 1)


def _settled(total: int, ends: list[int], value: int) -> int | None:
    """The place of an integer among the cumulated weights; None if it is not below the total."""
    return None if value >= total else sum(end <= value for end in ends)


def _words(count: int, rng: np.random.Generator | None) -> NDArray[np.uint64]:
    if rng is not None:
        return rng.integers(0, 2**_WORD - 1, size=count, dtype=np.uint64, endpoint=True)
    return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64).copy()


def _bits(count: int, rng: np.random.Generator | None) -> int:
    """A uniform integer of that many bits."""
    if count == 0:
        return 0
    if rng is None:
        return int(secrets.randbits(count))
    return int.from_bytes(rng.bytes((count + 7) // 8), "big") >> (-count % 8)

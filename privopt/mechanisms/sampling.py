"""Exact integer sampling from the operating system's cryptographic generator."""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray


def below(total: int, shape: tuple[int, ...], rng: np.random.Generator | None) -> NDArray[np.uint64]:
    """Independent integers uniform on 0 .. total - 1, for totals up to 2**63.

    Without ``rng`` the bits come from the operating system; values beyond the largest multiple of
    ``total`` are drawn again, so no value is favoured. With ``rng`` the draw is a simulation.

    Examples
    --------
    >>> drawn = below(6, (1000,), None)
    >>> int(drawn.min()) >= 0 and int(drawn.max()) <= 5
    True
    """
    if not 0 < total <= 2**63:
        raise ValueError(f"total must be in 1 .. 2**63, got {total}")
    if rng is not None:
        return rng.integers(0, total, size=shape, dtype=np.uint64)
    count = int(np.prod(shape, dtype=np.int64))
    limit = 2**64 - 2**64 % total
    values = _words(count)
    if limit < 2**64:
        while (late := np.flatnonzero(values >= np.uint64(limit))).size:
            values[late] = _words(late.size)
    return (values % np.uint64(total)).reshape(shape)


def _words(count: int) -> NDArray[np.uint64]:
    """Independent 64-bit words."""
    return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64).copy()

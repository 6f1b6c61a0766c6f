"""Exact draws from rows of integers that sum to 2**52, a different row for each draw."""

from __future__ import annotations

import secrets

import numpy as np

from privopt.arrays import Ints
from privopt.mechanisms.policy.kernel import TOTAL


def draw(rows: Ints, rng: np.random.Generator | None) -> Ints:
    """One output a row: output j with probability ``rows[i, j] / 2**52``, exactly.

    Parameters
    ----------
    rows : int64 array (M, m)
        Non-negative; each row sums to 2**52.
    rng : numpy.random.Generator or None
        None masks bits of the operating system's generator; otherwise the draws are a simulation.

    Examples
    --------
    >>> draw(np.array([[0, 2**52], [2**52, 0]]), None).tolist()
    [1, 0]
    """
    if rng is None:
        bits = np.frombuffer(secrets.token_bytes(8 * len(rows)), dtype=np.uint64)
        drawn = (bits & np.uint64(TOTAL - 1)).astype(np.int64)
    else:
        drawn = rng.integers(0, TOTAL, size=len(rows), dtype=np.int64)
    return np.asarray((np.cumsum(rows, axis=1) <= drawn[:, None]).sum(axis=1))

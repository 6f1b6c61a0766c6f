"""The best partition of observations: by dynamic programming over all subsets, or by search where there are many."""

from __future__ import annotations

import math
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.core.solver import Budget
from privopt.problems.set_partitions import least_weights, lightest_partition
from privopt.solvers.local_information_privacy.merging.blocks import BAND, Blocks


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
    return 0.0 - least_weights(0.0 - value)


def best_blocks(value: Floats, best: Floats, subset: int) -> list[int]:
    """The blocks of the best partition of one subset, as numbers of subsets.

    Examples
    --------
    >>> value = np.array([0.0, 1.0, 1.0, 1.5])
    >>> best_blocks(value, best_values(value), 3)
    [2, 1]
    """
    return lightest_partition(0.0 - value, 0.0 - best, subset)


ARRAY_LIMIT = 17
"""Elements up to which arrays do (3^17 additions take under a second)."""

COMPILED_LIMIT = 19
"""Elements up to which the compiled form does; compiling takes some seconds itself."""


def limit() -> int:
    """How many elements are partitioned exactly here: 19 where the package numba is installed, else 17."""
    return COMPILED_LIMIT if find_spec("numba") else ARRAY_LIMIT


def predicted_seconds(n: int) -> float:
    """What a partition of n elements takes."""
    return 1e-3 + 6e-9 * 3.0**n if n <= ARRAY_LIMIT else 4.0 + 2e-9 * 3.0**n


def best_values_fast(value: Floats) -> Floats:
    """As :func:`best_values`, compiled where it pays."""
    return best_values(value) if len(value) <= 1 << ARRAY_LIMIT else np.asarray(compiled()(value))


@cache
def compiled() -> Any:
    """The compiled loop; takes the values of all subsets."""
    from numba import njit

    def loop(value: Any) -> Any:
        best = np.zeros(len(value))
        pivot = 1
        for subset in range(1, len(value)):
            if subset == 2 * pivot:
                pivot = subset
            inside = subset ^ pivot
            chosen, top = inside, -np.inf
            while True:
                top = max(top, value[pivot | chosen] + best[inside ^ chosen])
                if chosen == 0:
                    break
                chosen = (chosen - 1) & inside
            best[subset] = top
        return best

    return njit(loop)


ATOMS = 9
"""Pieces that a cut rearranges: all their partitions are searched."""

GAIN = 1e-12
"""Nats that a new cut must gain."""


def search(blocks: Blocks, parts: Bools, budget: Budget, rounds: int) -> tuple[Bools, int]:
    """An allowed partition coarser than or beside ``parts``, and the number of cuts tried.

    Blocks within rounding of a limit are taken as allowed first and tested in integers at the end; where
    one fails, everything is done again with blocks that near refused.
    """
    tried = 0
    for slack in (BAND, -BAND):
        merged = coarsened(blocks, parts, slack)
        merged, count = recut(blocks, merged, slack, budget, rounds)
        tried += count
        if blocks.allowed(merged).all():
            return merged, tried
    return np.any(parts, axis=0, keepdims=True), tried


def coarsened(blocks: Blocks, parts: Bools, slack: float) -> Bools:
    """Merge the worst block with the one that makes it allowed at the least loss, until all are allowed."""
    pieces = parts.astype(np.float64)
    sums, seen = pieces @ blocks.joint, pieces @ blocks.seen
    while len(pieces) > 1:
        excess = blocks.excess_of(sums).max(axis=1)
        worst = int(np.argmax(excess))
        if excess[worst] <= slack:
            break
        other = partner(blocks, sums, seen, worst, slack)
        for table in (pieces, sums, seen):
            table[worst] += table[other]
        pieces, sums, seen = (np.delete(table, other, axis=0) for table in (pieces, sums, seen))
    return pieces > 0


def partner(blocks: Blocks, sums: Floats, seen: Floats, block: int, slack: float) -> int:
    """Which other block to merge with: the least loss of worth among those that help, else the largest help."""
    excess = blocks.excess_of(sums + sums[block]).max(axis=1)
    excess[block] = math.inf
    fits = excess <= slack
    if not fits.any():
        return int(np.argmin(np.where(np.arange(len(sums)) == block, math.inf, np.minimum(excess, 1e300))))
    loss = blocks.worth_of(seen) - blocks.worth_of(seen + seen[block])
    return int(np.argmin(np.where(fits, loss, math.inf)))


def recut(blocks: Blocks, parts: Bools, slack: float, budget: Budget, rounds: int) -> tuple[Bools, int]:
    """Break a few blocks into pieces and put these together in the best way, again and again."""
    rng = np.random.default_rng(budget.seed)
    table = members(ATOMS)
    for done in range(rounds):
        if budget.remaining <= 0 or blocks.size < 2:
            return parts, done
        picked = rng.choice(len(parts), size=min(len(parts), int(rng.integers(2, 5))), replace=False)
        atoms = _atoms(parts[picked], rng)
        subsets = table[: 1 << len(atoms), : len(atoms)].astype(np.float64)
        worth = blocks.worth_of(subsets @ (atoms @ blocks.seen))
        excess = blocks.excess_of(subsets @ (atoms @ blocks.joint)).max(axis=1)
        value = np.where(excess <= slack, worth, -math.inf)
        best = best_values(value)
        before = float(blocks.worth(parts[picked]).sum())
        if best[-1] > before + GAIN:
            chosen = best_blocks(value, best, len(best) - 1)
            new = (table[chosen, : len(atoms)].astype(np.float64) @ atoms) > 0
            parts = np.concatenate([np.delete(parts, picked, axis=0), new])
    return parts, rounds


def _atoms(picked: Bools, rng: np.random.Generator) -> Floats:
    """Pieces of the picked blocks, at most ATOMS in all, each a row of 0 and 1."""
    shares = _shares(picked.sum(axis=1), rng)
    pieces = []
    for block, count in zip(picked, shares.tolist(), strict=True):
        symbols = rng.permutation(np.flatnonzero(block))
        free = bool(rng.integers(2))  # single symbols and the rest, or groups of any size
        group = np.minimum(np.arange(len(symbols)), count - 1) if free else np.arange(len(symbols)) % count
        rows = np.zeros((count, picked.shape[1]))
        rows[group, symbols] = 1.0
        pieces.append(rows)
    return np.concatenate(pieces)


def _shares(sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Into how many pieces to break each block."""
    shares = np.ones_like(sizes)
    for _ in range(ATOMS - len(sizes)):
        room = np.flatnonzero(shares < sizes)
        if not len(room):
            break
        shares[rng.choice(room)] += 1
    return shares

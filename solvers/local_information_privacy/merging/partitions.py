"""The best partition of observations: by dynamic programming over all subsets, or by search where there are many."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats, Ints
from privopt.core.solver import Budget
from privopt.measures.compiling import numba_installed
from privopt.problems.set_partitions import least_weights, lightest_partition
from privopt.solvers.local_information_privacy.merging.blocks import BAND, Blocks, summed


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
    return COMPILED_LIMIT if numba_installed() else ARRAY_LIMIT


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


LARGE = 400
"""Observations from which a block is merged with the best of a sample of others."""

SAMPLE = 256
"""Others that are tried then."""

Groups: TypeAlias = list[Ints]
"""Blocks by the places of their observations."""


def search(blocks: Blocks, budget: Budget, rounds: int, start: Groups | None = None) -> tuple[Groups, int]:
    """An allowed partition coarser than or beside ``start`` (by default every observation alone), and the cuts tried.

    Blocks within rounding of a limit are taken as allowed first and tested in integers at the end; where
    one fails, everything is done again with blocks that near refused.
    """
    tried, first = 0, [np.array([w]) for w in range(blocks.size)] if start is None else start
    for slack in (BAND, -BAND):
        groups = coarsened(blocks, first, slack, budget)
        groups, count = recut(blocks, groups, slack, budget, rounds)
        tried += count
        if not blocks.broken_groups(groups).any():
            return groups, tried
    return [np.concatenate(first)], tried


def rows(groups: Groups, n: int) -> Bools:
    """The blocks as rows of booleans, shape (m, n)."""
    table = np.zeros((len(groups), n), dtype=bool)
    for row, group in zip(table, groups, strict=True):
        row[group] = True
    return table


def coarsened(blocks: Blocks, start: Groups, slack: float, budget: Budget) -> Groups:
    """Merge the worst block with the one that makes it allowed at the least loss, until all are allowed.

    Among many blocks the other one is the best of a sample. Out of time, those not yet allowed become one block first.
    """
    n = len(start)
    rng = np.random.default_rng(budget.seed)
    groups = [group.tolist() for group in start]
    table, seen = summed(start, blocks.joint), summed(start, blocks.seen)
    excess = blocks.excess_of(table).max(axis=1)
    alive, place = np.arange(n), np.arange(n)
    while len(alive) > 1:
        worst = int(alive[np.argmax(excess[alive])]) if n < LARGE else int(np.argmax(excess))
        if excess[worst] <= slack:
            return [np.array(groups[i]) for i in np.sort(alive)]
        if n >= LARGE and budget.remaining <= 0:
            broken = alive[excess[alive] > slack]
            left = [groups[i] for i in alive[excess[alive] <= slack].tolist()]
            one = [w for i in broken.tolist() for w in groups[i]]
            start = [np.array(group) for group in (one, *left)]
            return _absorbed(blocks, start, slack)
        others = alive if n < LARGE else alive[rng.integers(len(alive), size=SAMPLE)]
        others = others[others != worst]
        if not len(others):
            continue
        other = int(others[_partner(blocks, table, seen, worst, others, slack)])
        table[worst] += table[other]
        seen[worst] += seen[other]
        groups[worst] += groups[other]
        excess[worst], excess[other] = blocks.excess_of(table[worst : worst + 1]).max(), -math.inf
        last = alive[-1]  # takes the place of the one that is gone
        alive[place[other]], place[last] = last, place[other]
        alive = alive[:-1]
    return [np.concatenate(start)]


def _absorbed(blocks: Blocks, groups: Groups, slack: float) -> Groups:
    """The first block takes in others, the largest helps first, until it is allowed."""
    table = summed(groups, blocks.joint)
    block, free = table[0].copy(), np.ones(len(groups), dtype=bool)
    free[0] = False
    while free.any() and blocks.excess_of(block[None, :]).max() > slack:
        others = np.flatnonzero(free)
        helps = blocks.excess_of(block + table[others]).max(axis=1)
        some = others[np.argsort(helps)[: max(1, len(others) // 20)]]  # a twentieth at a time
        free[some] = False
        block += table[some].sum(axis=0)
    taken = np.concatenate([groups[i] for i in np.flatnonzero(~free).tolist()])
    return [taken, *(groups[i] for i in np.flatnonzero(free).tolist())]


def _partner(blocks: Blocks, table: Floats, seen: Floats, block: int, others: Ints, slack: float) -> int:
    """Which of the others to merge with: the least loss of worth among those that help, else the largest help."""
    excess = blocks.excess_of(table[others] + table[block]).max(axis=1)
    fits = excess <= slack
    if not fits.any():
        return int(np.argmin(np.minimum(excess, 1e300)))
    loss = blocks.worth_of(seen[others]) - blocks.worth_of(seen[others] + seen[block])
    return int(np.argmin(np.where(fits, loss, math.inf)))


def recut(blocks: Blocks, groups: Groups, slack: float, budget: Budget, rounds: int) -> tuple[Groups, int]:
    """Break a few blocks into pieces and put these together in the best way, again and again."""
    rng = np.random.default_rng(budget.seed)
    table = members(ATOMS)
    groups = list(groups)
    for done in range(rounds):
        if budget.remaining <= 0 or blocks.size < 2:
            return groups, done
        picked = rng.choice(len(groups), size=min(len(groups), int(rng.integers(2, 5))), replace=False)
        atoms = _atoms([groups[i] for i in picked.tolist()], rng)
        subsets = table[: 1 << len(atoms), : len(atoms)].astype(np.float64)
        worth = blocks.worth_of(subsets @ summed(atoms, blocks.seen))
        excess = blocks.excess_of(subsets @ summed(atoms, blocks.joint)).max(axis=1)
        value = np.where(excess <= slack, worth, -math.inf)
        best = best_values(value)
        before = float(blocks.worth_of(summed([groups[i] for i in picked.tolist()], blocks.seen)).sum())
        if best[-1] > before + GAIN:
            chosen = best_blocks(value, best, len(best) - 1)
            gone = set(picked.tolist())
            groups = [group for i, group in enumerate(groups) if i not in gone]
            groups += [np.concatenate([atoms[a] for a in np.flatnonzero(table[c]).tolist()]) for c in chosen]
    return groups, rounds


def _atoms(picked: Groups, rng: np.random.Generator) -> Groups:
    """Pieces of the picked blocks, at most ATOMS in all."""
    shares = _shares(np.array([len(block) for block in picked]), rng)
    pieces = []
    for block, count in zip(picked, shares.tolist(), strict=True):
        symbols = rng.permutation(np.sort(block))
        free = bool(rng.integers(2))  # single symbols and the rest, or groups of any size
        places = np.arange(len(symbols))
        group = np.minimum(places, count - 1) if free else places % count
        pieces += [symbols[group == i] for i in range(count)]
    return pieces


def _shares(sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Into how many pieces to break each block."""
    shares = np.ones_like(sizes)
    for _ in range(ATOMS - len(sizes)):
        room = np.flatnonzero(shares < sizes)
        if not len(room):
            break
        shares[rng.choice(room)] += 1
    return shares

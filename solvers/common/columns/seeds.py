"""First columns: what every release is made of, and the blocks of greedy mergings."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.solvers.common.columns.programme import Programme

WEIGHTS = (0.0, 0.05, 0.15, 0.3, 0.5)
"""Multipliers at which mergings are followed."""

LARGEST = 150
"""Symbols up to which mergings are followed."""


def first_columns(programme: Programme, budget: Budget) -> Floats:
    """The law itself, every single symbol, and the blocks of some mergings, shape (m, n)."""
    n = len(programme.law)
    found = [np.eye(n), programme.law[None]]
    if 2 < n <= LARGEST:
        for multiplier in WEIGHTS:
            if budget.remaining > 0:
                found.append(merging_path(programme, multiplier))
    return np.vstack(found)


def merging_path(programme: Programme, multiplier: float) -> Floats:
    """Posteriors of the blocks met when the best pair is merged, on I(S;Y) - m I(X;Y), until one block is left.

    Parameters
    ----------
    programme : Programme
    multiplier : float

    Returns
    -------
    array (n - 1, n)
    """
    blocks = np.diag(programme.law)
    sign = 1.0 if programme.is_funnel else -1.0

    def value(masses: Floats) -> Floats:
        """Of I(S;Y) - m I(X;Y), with the sign that makes less better; homogeneous in the masses."""
        size = masses.sum(axis=1)
        secret, useful = programme.entropies(masses / size[:, None])
        return np.asarray(sign * size * (multiplier * useful - secret))

    own = value(blocks)
    change = np.full((len(blocks), len(blocks)), np.inf)
    for i in range(len(blocks) - 1):
        change[i, i + 1 :] = value(blocks[i + 1 :] + blocks[i]) - own[i] - own[i + 1 :]
    found = []
    for _ in range(len(blocks) - 1):
        i, j = divmod(int(change.argmin()), len(blocks))
        blocks[i] += blocks[j]
        found.append(blocks[i] / blocks[i].sum())
        own[i] = value(blocks[i : i + 1])[0]
        own[j] = np.nan
        change[j], change[:, j] = np.inf, np.inf
        others = np.flatnonzero(~np.isnan(own))
        others = others[others != i]
        fresh = value(blocks[others] + blocks[i]) - own[i] - own[others]
        change[np.minimum(others, i), np.maximum(others, i)] = fresh
    return np.array(found)


def random_starts(programme: Programme, used: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Posteriors to walk from: few symbols at random, and columns in use mixed with the law and with each other."""
    n = len(programme.law)
    most = min(n, len(programme.secret) + 1)
    sizes = rng.integers(min(2, n), most + 1, size=count)
    keys = rng.random((count, n)).argsort(axis=1).argsort(axis=1)
    few = rng.exponential(size=(count, n)) * (keys < sizes[:, None])
    share = rng.random((count // 2, 1)) ** 2
    first, second = used[rng.integers(len(used), size=(2, count // 2))]
    partner = np.where(rng.random((count // 2, 1)) < 0.5, second, programme.law[None])
    starts = np.vstack([few, (1 - share) * first + share * partner])
    return np.asarray(starts / starts.sum(axis=1, keepdims=True))

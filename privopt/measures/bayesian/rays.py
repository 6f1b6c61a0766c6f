"""Extreme rays of the functions that change by bounded factors: spanning trees between sources and sinks.

The functions F > 0 with F_u <= C_uv F_v form a cone, and a ratio of linear functions is largest on an extreme ray.
C comes from a metric with strict triangle inequalities, so no state lies between two others: on a ray every state is
either as large as another allows (a source) or as small (a sink), and the equalities F_u = C_uv F_v form a spanning
tree between sources and sinks. There are 2, 6, 32, 250 and 2592 such trees for 2 to 6 states.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats

MOST_STATES = 6
"""Number of states up to which the trees are listed."""

_TOLERANCE = 1e-14  # above the rounding of a ray, which is below 4 s 2^-53: no true ray is dropped

Edges = NDArray[np.int64]


def rays(change: Floats) -> Floats:
    """Every extreme ray, and for the other trees the constant function.

    Parameters
    ----------
    change : array (m, s, s)
        C, 1 on the diagonal, with C_uv < C_uw C_wv where u, v and w differ.

    Returns
    -------
    array (m, trees, s)
        1 at the first state.

    Examples
    --------
    >>> rays(np.array([[[1.0, 2.0], [4.0, 1.0]]])).tolist()
    [[[1.0, 0.5], [1.0, 4.0]]]
    """
    candidates = _rays(change)
    if change.shape[1] > 2:
        with np.errstate(over="ignore"):  # nothing is above what is beyond the largest float
            beyond = change[:, None] * candidates[:, :, None, :] * (1 + _TOLERANCE)
        candidates[(candidates[:, :, :, None] > beyond).any((2, 3))] = 1.0
    return candidates


def _rays(change: Floats) -> Floats:
    """The candidates, shape (m, trees, s), from 1 at the first state along each tree."""
    m, s = len(change), change.shape[1]
    edges = trees(s)
    every = np.arange(len(edges))
    values = np.ones((m, len(edges), s))
    for k in range(s - 1):
        parent, child, source = edges[:, k].T
        up, down = change[:, child, parent], change[:, parent, child]
        values[:, every, child] = values[:, every, parent] * np.where(source, up, 1.0 / down)
    return values


@cache
def trees(s: int) -> Edges:
    """Edges (known state, new state, whether the new one is a source) of each tree in order, (trees, s - 1, 3)."""
    listed = []
    for size in range(1, s):
        for sources in combinations(range(s), size):
            sinks = [v for v in range(s) if v not in sources]
            pairs = list(product(sources, sinks))
            listed += [
                walk for edges in combinations(pairs, s - 1) if (walk := _walk(edges, s, set(sources)))
            ]
    return np.array(listed, dtype=np.int64).reshape(-1, s - 1, 3)


def _walk(edges: tuple[tuple[int, int], ...], s: int, sources: set[int]) -> list[tuple[int, int, bool]]:
    """The edges in an order in which each reaches a new state from 0; empty where they are no tree."""
    reached, order, left = {0}, [], list(edges)
    while left:
        ready = next((e for e in left if (e[0] in reached) != (e[1] in reached)), None)
        if ready is None:
            return []
        left.remove(ready)
        parent, child = ready if ready[0] in reached else ready[::-1]
        reached.add(child)
        order.append((parent, child, child in sources))
    return order

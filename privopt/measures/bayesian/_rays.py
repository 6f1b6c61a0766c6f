"""The largest ratio of two expectations over functions that change by bounded factors, exactly.

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

_MOST_FLOATS = 2**22  # numbers held at once
_TOLERANCE = 1e-14  # above the rounding of a ray, which is below 4 s 2^-53: no true ray is dropped

Edges = NDArray[np.int64]


def ray_step(kernel: Floats, change: Floats) -> Floats:
    """Largest B[x].F / B[x'].F over F > 0 with F_u <= C_uv F_v.

    Parameters
    ----------
    kernel : array (m, s, s)
        B: row x is the law of the next record given x.
    change : array (m, s, s)
        C, 1 on the diagonal, with C_uv < C_uw C_wv where u, v and w differ.

    Returns
    -------
    array (m, s, s)
        Entry (x, x') of each table, >= 1; nan in rows and columns of impossible x.

    Examples
    --------
    >>> ray_step(np.array([[[0.75, 0.25], [0.5, 0.5]]]), np.array([[[1.0, 2.0], [2.0, 1.0]]])).round(4)
    array([[[1.    , 1.1667],
            [1.2   , 1.    ]]])
    """
    m, s = len(kernel), kernel.shape[1]
    chunk = max(1, _MOST_FLOATS // (len(_trees(s)) * s * s))
    parts = [_largest(kernel[i : i + chunk], change[i : i + chunk]) for i in range(0, m, chunk)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _largest(kernel: Floats, change: Floats) -> Floats:
    rays = _rays(change)
    means = _means(rays, kernel)
    if kernel.shape[1] > 2:
        outside = (rays[:, :, :, None] > change[:, None] * rays[:, :, None, :] * (1 + _TOLERANCE)).any((2, 3))
        # Outside the cone a ray must not win: it is replaced by the constant function.
        means[outside] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Floats = (means[:, :, :, None] / means[:, :, None, :]).max(axis=1)
    return ratios


def _means(rays: Floats, kernel: Floats) -> Floats:
    """B[x].F for every ray, shape (m, trees, x), added from the first state to the last: the same on every processor."""
    columns = kernel.transpose(0, 2, 1)
    means: Floats = rays[:, :, 0, None] * columns[:, None, 0, :]
    for u in range(1, kernel.shape[1]):
        means += rays[:, :, u, None] * columns[:, None, u, :]
    return means


def _rays(change: Floats) -> Floats:
    """The candidates, shape (m, trees, s), from 1 at the first state along each tree."""
    m, s = len(change), change.shape[1]
    trees = _trees(s)
    every = np.arange(len(trees))
    rays = np.ones((m, len(trees), s))
    for k in range(s - 1):
        parent, child, source = trees[:, k].T
        up, down = change[:, child, parent], change[:, parent, child]
        rays[:, every, child] = rays[:, every, parent] * np.where(source, up, 1.0 / down)
    return rays


@cache
def _trees(s: int) -> Edges:
    """Edges (known state, new state, whether the new one is a source) of each tree in order, (trees, s - 1, 3)."""
    found = []
    for size in range(1, s):
        for sources in combinations(range(s), size):
            sinks = [v for v in range(s) if v not in sources]
            pairs = list(product(sources, sinks))
            found += [walk for edges in combinations(pairs, s - 1) if (walk := _walk(edges, s, set(sources)))]
    return np.array(found, dtype=np.int64).reshape(-1, s - 1, 3)


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

"""Thousands of words, some hundreds of releases: programs by an interior-point method, widened by what prices call for."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.formulas.program import Table
from privopt.solvers.sequence.interior import Matter, interior

RARE = 0.02
"""Mass of the rarest words that the first programs leave out, for a distortion of 1."""
LOOSE = 0.05
"""Relative gap of the first program."""
UNUSED = 1e-4
"""Releases that no word draws with a larger probability leave the program, unless they are cheap."""
MOST_ADDED = 48


@dataclass(frozen=True, eq=False)
class Served:
    """K for all words on some releases, its distortion once private, and prices nu (n,).

    Parameters
    ----------
    releases : int array (k,)
    kernel : array (n, k)
    """

    releases: Ints
    kernel: Floats
    value: float
    nu: Floats
    iterations: int


def frequent(p: Floats, rare: float) -> Ints:
    """The heaviest words: all but a mass of at most ``rare``.

    Examples
    --------
    >>> frequent(np.array([0.1, 0.5, 0.05, 0.35]), 0.16).tolist()
    [1, 3]
    """
    order = np.argsort(-p, kind="stable")
    after = p.sum() - np.cumsum(p[order])
    return np.sort(order[: 1 + int(np.argmax(after <= rare))])


def serve(table: Table, releases: Ints, rare: float, gap: float, until: float) -> Served | None:
    """A kernel on some releases: by a program for frequent words; the rare ones take what is cheapest for them.

    The limits z of the columns hold for the frequent words alone, and the mass of the rare ones can but raise them.
    """
    p, levels = table.p, table.levels
    cost, means = np.ascontiguousarray(table.rows[releases].T), table.means[releases]
    heavy = frequent(p, rare)
    inner = interior(Matter.of(p[heavy], cost[heavy], means, levels), gap, until)
    if inner is None:
        return None
    at, steps = inner
    kernel, nu = np.zeros(cost.shape), np.zeros(len(p))
    kernel[heavy], nu[heavy] = at.kernel, at.nu
    others = np.setdiff1d(np.arange(len(p)), heavy)
    kernel[others], nu[others] = fill(levels.room * cost[others] - at.mu / levels.theta, at.z)
    kernel /= np.maximum(kernel.sum(axis=1), 1.0)[:, None]
    kernel = np.minimum(kernel, (p @ kernel) / levels.theta)
    marginal = p @ kernel
    kernel += (1.0 - kernel.sum(axis=1)).clip(0.0)[:, None] * marginal / marginal.sum()
    direct = float(p @ (kernel * cost).sum(axis=1))
    value = levels.room * direct + levels.low * float((p @ kernel) @ means)
    return Served(releases, kernel, value, nu, steps)


def fill(cost: Floats, tops: Floats) -> tuple[Floats, Floats]:
    """The cheapest rows of K (k, m) with at most ``tops`` in each column, and the price of the last part of each row.

    Examples
    --------
    >>> rows, prices = fill(np.array([[0.0, 0.5, 1.0], [0.7, 0.2, 0.1]]), np.array([0.6, 0.6, 0.6]))
    >>> rows.round(9).tolist(), prices.tolist()
    ([[0.6, 0.4, 0.0], [0.0, 0.4, 0.6]], [0.5, 0.2])
    """
    order = np.argsort(cost, axis=1, kind="stable")
    filled = np.minimum(np.cumsum(tops[order], axis=1), 1.0)
    rows = np.zeros(cost.shape)
    np.put_along_axis(rows, order, np.diff(filled, axis=1, prepend=0.0), axis=1)
    last = np.argmax(filled >= filled[:, -1:], axis=1)[:, None]
    return rows, np.take_along_axis(cost, np.take_along_axis(order, last, axis=1), axis=1)[:, 0]


@dataclass(frozen=True, eq=False)
class Widened:
    """The best kernel and the best prices, with their bound before any allowance for rounding; perhaps none yet."""

    served: Served | None
    nu: Floats
    bound: float
    iterations: int


def widen(table: Table, releases: Ints, known: Widened, value: float, gap: float, until: float) -> Widened:
    """Programs on more and more releases until value and bound are within a relative gap, or in time.

    ``value`` is that of a kernel known already; the kernel found is none if no better one was.
    """
    rare, near, best = RARE * value, LOOSE, known
    while value - best.bound > gap * value:
        served = serve(table, releases, rare, near, until)
        if served is None:
            break
        costs = table.costs(served.nu)
        least = float(costs.min())
        proved = float(table.p @ served.nu) + least
        better = served.value < value
        value = min(value, served.value)
        best = Widened(
            served if better else best.served,
            served.nu if proved > best.bound else best.nu,
            max(proved, best.bound),
            best.iterations + served.iterations,
        )
        if time.perf_counter() > until:
            break
        missed = float(costs[releases].min()) - least
        if missed < 0.25 * (served.value - proved):
            if near <= 0.02 * gap:
                break
            rare, near = 0.2 * rare, 0.2 * near
        releases = _next(served, costs)
        near = min(near, max(0.3 * (value - best.bound) / value, 0.1 * gap))
    return best


def _next(served: Served, costs: Floats) -> Ints:
    """Releases in use or about as cheap as those, and the cheapest of the others."""
    level = float(costs[served.releases].min())
    inside = served.releases
    kept = inside[(served.kernel.max(axis=0) > UNUSED) | (costs[inside] < level + UNUSED)]
    others = np.setdiff1d(np.flatnonzero(costs < level), inside)
    most = min(MOST_ADDED, max(16, len(inside) // 2))
    return np.union1d(kept, others[np.argsort(costs[others], kind="stable")][:most])

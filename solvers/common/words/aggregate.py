"""Thousands of words: solve for the heaviest, let the others follow their nearest, then all words on few releases.

Words that follow share the row of the one they follow, so the bounds hold for all as soon as they hold for the groups of
words, each with its mass and its mean costs: the kernel is private exactly, and only its distortion is not the least. The
releases that it uses begin a programme in which each word has a row of its own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.solvers.common.words.answer import WordAnswer, finish, release_everything
from privopt.solvers.common.words.ascent import ascend
from privopt.solvers.common.words.pricing import Table
from privopt.solvers.common.words.restricted import (
    FAINT,
    MOST,
    order_of_releases,
    solve_restricted,
    without_rounding,
)
from privopt.solvers.common.words.widening import Widened, widen

KEPT = 128
"""Words kept in the first programme."""
QUICK = 192
SHARE = 0.4
"""Of the time, for the first programme."""
LAST = 0.1
"""Of the time, to make the kernel and to prove its bound."""
MOST_FIRST = 192
"""Releases of the heaviest words that the next programme begins with, besides those in use."""

ENOUGH = 1e-3
"""The relative gap at which the search ends."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Words gathered around kept ones.

    Parameters
    ----------
    leader : int array (n,)
        The group of each word.
    p : array (groups,)
    cost : array (groups, m)
        Mean over the words of a group.
    """

    leader: Ints
    p: Floats
    cost: Floats


def gather(p: Floats, cost: Floats, count: int) -> Groups:
    """Groups around the ``count`` heaviest words: each other one follows the one whose costs are most like its own.

    For a square cost that is the kept word of least distortion; otherwise the one with the same best release, or
    the heaviest.

    Examples
    --------
    >>> gather(np.array([0.5, 0.3, 0.2]), np.array([[0, 2, 1], [2, 0, 1], [1.0, 0.5, 0]]), 2).leader.tolist()
    [0, 1, 1]
    """
    kept = np.argsort(-p, kind="stable")[:count]
    centres = kept if cost.shape[0] == cost.shape[1] else cost[kept].argmin(axis=1)
    leader = cost[:, centres].argmin(axis=1)
    leader[kept] = np.arange(len(kept))
    order = np.argsort(leader, kind="stable")
    begins = np.searchsorted(leader[order], np.arange(len(kept)))
    mass = np.asarray(np.bincount(leader, weights=p, minlength=len(kept)), dtype=np.float64)
    sums = np.add.reduceat(p[order, None] * cost[order], begins, axis=0)
    return Groups(leader, mass, sums / mass[:, None])


def solve_aggregated(p: Floats, cost: Floats, epsilon: float, seconds: float) -> WordAnswer | None:
    """A private kernel and a bound on what any other could do better; None if there is no time for either.

    Parameters
    ----------
    p : array (n,)
        Sums to 1; zeros allowed.
    cost : array (n, m)
    epsilon : float
        Budget of the release in nats, >= 0, perhaps inf.
    seconds : float

    Examples
    --------
    >>> found = solve_aggregated(np.array([0.45, 0.35, 0.2]), 1 - np.eye(3), 0.4, 5.0)
    >>> round(found.value, 12), found.gap < 1e-3
    (0.461512786727, True)
    """
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    until = time.perf_counter() + seconds
    seen = np.flatnonzero(p >= FAINT)
    unit = float(np.abs(cost).max()) or 1.0
    found = _search(p[seen], cost[seen] / unit, Levels.of(min(epsilon, MOST)), until)
    if found is None:
        return None
    rows, lam, steps, stop = found
    return _whole(p, cost, epsilon, rows, unit * lam, steps, stop)


def solve_quickly(p: Floats, cost: Floats, epsilon: float) -> WordAnswer | None:
    """The same from one programme, without raising the prices: no clock enters, so equal laws give equal kernels.

    Examples
    --------
    >>> round(solve_quickly(np.array([0.45, 0.35, 0.2]), 1 - np.eye(3), 0.4).value, 12)
    0.461512786727
    """
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    seen = np.flatnonzero(p >= FAINT)
    unit = float(np.abs(cost).max()) or 1.0
    groups = gather(p[seen], cost[seen] / unit, QUICK)
    levels = Levels.of(min(epsilon, MOST))
    solved = solve_restricted(groups.p, groups.cost, levels, np.inf)
    if solved is None:
        return None
    lam = unit * solved.prices[groups.leader]
    rows = without_rounding(solved, levels)[0][groups.leader]
    return _whole(p, cost, epsilon, rows, lam, solved.iterations, solved.message)


def _whole(
    p: Floats, cost: Floats, epsilon: float, rows: Floats, lam: Floats, steps: int, stop: str
) -> WordAnswer:
    """Rows and prices of the words that are not faint, extended to all: the faint ones draw from the output law."""
    seen = p >= FAINT
    step, prices = np.zeros(cost.shape), np.full(len(p), lam.max())
    step[seen], prices[seen] = rows, lam
    step[~seen] = (p[seen] @ rows) / p[seen].sum()
    return finish(p, cost, epsilon, step, prices, steps, stop)


def _search(p: Floats, cost: Floats, levels: Levels, until: float) -> tuple[Floats, Floats, int, str] | None:
    """Rows of K (n, m), prices (n,), steps and why it ended."""
    begun = time.perf_counter()
    table, groups = Table.of(p, cost, levels), gather(p, cost, KEPT)
    solved = solve_restricted(groups.p, groups.cost, levels, SHARE * (until - begun))
    if solved is None:
        return None
    kernel = without_rounding(solved, levels)[0]
    value, nu = _worth(groups, kernel, levels), levels.room * solved.prices[groups.leader]
    known = Widened(None, nu, float(p @ nu + table.costs(nu).min()), solved.iterations)
    until -= LAST * (until - begun)
    found = widen(table, _begin(p, cost, levels, kernel), known, value, ENOUGH, until)
    rows = kernel[groups.leader]
    if found.served is not None:
        value, rows = found.served.value, np.zeros(cost.shape)
        rows[:, found.served.releases] = found.served.kernel
    risen = ascend(table, found.nu, value, ENOUGH * value, until - time.perf_counter())
    stop = "gap" if value - risen.bound <= ENOUGH * value else "time, or prices that rise no more"
    return rows, risen.nu / levels.room, found.iterations + risen.iterations, stop


def _begin(p: Floats, cost: Floats, levels: Levels, kernel: Floats) -> Ints:
    """The releases that a kernel uses, and those of the heaviest words."""
    count = int(min(max(32.0, 1.1 / levels.theta), MOST_FIRST))
    return np.union1d(np.flatnonzero(kernel.max(axis=0) > 0), order_of_releases(p, cost)[:count])


def _worth(groups: Groups, kernel: Floats, levels: Levels) -> float:
    """Distortion of the private kernel that K on groups makes."""
    direct = float(groups.p @ (kernel * groups.cost).sum(axis=1))
    return levels.room * direct + levels.low * float((groups.p @ kernel) @ (groups.p @ groups.cost))

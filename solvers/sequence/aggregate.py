"""Thousands of words: solve for the heaviest, let the others follow their nearest, then all words on few releases.

Words that follow share the row of the one they follow, so the bounds hold for all as soon as they hold for the groups of
words, each with its mass and its mean costs: the kernel is private exactly, and only its distortion is not the least. The
releases that it uses begin a program in which each word has a row of its own.

The bound of prices is concave in them, and rises by ascent. The slope at nu is p - t, with t the distribution of the
inputs in the groups of the cheapest releases, a soft minimum over a few of them. Steps have Polyak's length towards
the value of a known kernel, in the metric of p. Only a changing list of cheap releases is priced at each step; all of
them now and then, which is when a bound counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.program import Table, order_of_releases, solve_restricted
from privopt.mechanisms.policy.formulas.word_groups import Groups, extended, gather
from privopt.mechanisms.policy.formulas.words import (
    FAINT,
    MOST,
    WordAnswer,
    release_everything,
    without_rounding,
)
from privopt.solvers.sequence.own_groups import OwnGroups, own_groups
from privopt.solvers.sequence.widening import Widened, widen

KEPT = 128
"""Words kept in the first program."""
SHARE = 0.4
"""Of the time, for the first program."""
LAST = 0.1
"""Of the time, to make the kernel and to prove its bound."""
MOST_FIRST = 192
"""Releases of the heaviest words that the next program begins with, besides those in use."""
ENOUGH = 1e-3
"""The relative gap at which the search ends."""
LIMITS = (0.02, 0.05, 0.1)
"""Shares of the largest distortion."""
LISTED = 256
SOFT = 64
KEEP = 0.7
"""Share of the last direction that is kept."""
SHRINK = 0.6
LEAST_STEP = 1e-3


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
    >>> answer = solve_aggregated(np.array([0.45, 0.35, 0.2]), 1 - np.eye(3), 0.4, 5.0)
    >>> round(answer.value, 12), answer.gap < 1e-3
    (0.461512786727, True)
    """
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    until = time.perf_counter() + seconds
    seen = np.flatnonzero(p >= FAINT)
    unit = float(np.abs(cost).max()) or 1.0
    answer = _search(p[seen], cost[seen] / unit, Levels.of(min(epsilon, MOST)), until)
    if answer is None:
        return None
    rows, lam, steps, stop = answer
    return extended(p, cost, epsilon, rows, unit * lam, steps, stop)


def _search(p: Floats, cost: Floats, levels: Levels, until: float) -> tuple[Floats, Floats, int, str] | None:
    """Rows of K (n, m), prices (n,), steps and why it ended."""
    begun = time.perf_counter()
    table = Table.of(p, cost, levels)
    own = own_groups(table)
    if own is not None and own.count > MOST_FIRST:
        return _from_groups(table, own, until - LAST * (until - begun))
    groups = gather(p, cost, KEPT)
    solved = solve_restricted(groups.p, groups.cost, levels, SHARE * (until - begun))
    if solved is None:
        return None
    kernel = without_rounding(solved, levels)[0]
    value, nu = _worth(groups, kernel, levels), levels.room * solved.prices[groups.leader]
    known = Widened(None, nu, float(p @ nu + table.costs(nu).min()), solved.iterations)
    until -= LAST * (until - begun)
    widened = widen(table, _begin(p, cost, levels, kernel), known, value, ENOUGH, until)
    rows = kernel[groups.leader]
    if widened.served is not None:
        value, rows = widened.served.value, np.zeros(cost.shape)
        rows[:, widened.served.releases] = widened.served.kernel
    risen = ascend(table, widened.nu, value, ENOUGH * value, until - time.perf_counter())
    stop = "gap" if value - risen.bound <= ENOUGH * value else "time, or prices that rise no more"
    return rows, risen.nu / levels.room, widened.iterations + risen.iterations, stop


def _from_groups(table: Table, own: OwnGroups, until: float) -> tuple[Floats, Floats, int, str]:
    """The same where likely words are groups of their own, more than a program begins with: the prices of the groups, raised.

    What a rare word may cost more than the dearest likely one is also tried with a few limits.
    """
    gap = ENOUGH * own.value
    best = ascend(table, own.nu, own.value, gap, until - time.perf_counter())
    dearest = float(own.nu[table.p >= table.levels.theta].max(initial=-np.inf))
    for limit in LIMITS:
        if time.perf_counter() > until or own.value - best.bound <= gap:
            break
        nu = np.minimum(own.nu, dearest + limit)
        costs = table.costs(nu)
        bound = float(table.p @ nu + costs.min())
        if bound > best.bound:
            best = Ascent(nu, bound, costs, best.iterations)
    stop = "gap" if own.value - best.bound <= gap else "prices of groups that rise no more, or time"
    return own.kernel, best.nu / table.levels.room, best.iterations, stop


def _begin(p: Floats, cost: Floats, levels: Levels, kernel: Floats) -> Ints:
    """The releases that a kernel uses, and those of the heaviest words."""
    count = int(min(max(32.0, 1.1 / levels.theta), MOST_FIRST))
    return np.union1d(np.flatnonzero(kernel.max(axis=0) > 0), order_of_releases(p, cost)[:count])


def _worth(groups: Groups, kernel: Floats, levels: Levels) -> float:
    """Distortion of the private kernel that K on groups makes."""
    direct = float(groups.p @ (kernel * groups.cost).sum(axis=1))
    return levels.room * direct + levels.low * float((groups.p @ kernel) @ (groups.p @ groups.cost))


@dataclass(frozen=True, eq=False)
class Ascent:
    """The best prices found: nu (n,), their bound, and the cost of each release at them."""

    nu: Floats
    bound: float
    costs: Floats
    iterations: int


def ascend(table: Table, nu: Floats, target: float, gap: float, seconds: float) -> Ascent:
    """Raise the bound of prices nu towards ``target`` until it is within ``gap`` of it, or nothing helps, or in time.

    Examples
    --------
    >>> from privopt.mechanisms.policy.fixed import Levels
    >>> table = Table.of(np.array([0.6, 0.4]), 1 - np.eye(2), Levels.of(0.5))
    >>> answer = ascend(table, np.zeros(2), 0.2911347166620641, 1e-6, 5.0)
    >>> 0.2911 < answer.bound < 0.29113471667
    True
    """
    until = time.perf_counter() + seconds
    costs = table.costs(nu)
    best = Ascent(nu, float(table.p @ nu + costs.min()), costs, 0)
    every = _period(table)
    listed, step, weak, done = _list(costs), 1.0, 0, 0
    momentum = np.zeros_like(nu)
    while step > LEAST_STEP and target - best.bound > gap and time.perf_counter() < until:
        for _ in range(every):
            nu, momentum = _step(table, nu, momentum, listed, step, target)
        done += every
        costs = table.costs(nu)
        bound = float(table.p @ nu + costs.min())
        listed = np.union1d(_list(costs), listed[np.argsort(costs[listed])[:LISTED]])
        if bound > best.bound + 1e-3 * (target - best.bound):
            best, weak = Ascent(nu, bound, costs, done), 0
            continue
        weak += 1
        if weak == 2:
            nu, weak, step, momentum = best.nu, 0, step * SHRINK, np.zeros_like(nu)
            listed = np.union1d(listed, _list(best.costs))
    return Ascent(best.nu, best.bound, best.costs, done)


def _period(table: Table) -> int:
    """Steps on a list between two looks at all releases, so that both cost about the same."""
    return int(np.clip(2 * len(table.rows) // LISTED, 8, 32))


def _list(costs: Floats) -> Ints:
    return np.sort(np.argsort(costs, kind="stable")[:LISTED])


def _step(
    table: Table, nu: Floats, momentum: Floats, listed: Ints, step: float, target: float
) -> tuple[Floats, Floats]:
    """One step of the prices."""
    p = table.p
    costs, order, shares = table.groups(listed, nu)
    lowest = costs.min()
    gap = max(target - float(p @ nu + lowest), 1e-14)
    cheap = np.argsort(costs, kind="stable")[:SOFT]
    weights = np.exp(-(costs[cheap] - lowest) / (0.2 * gap))
    weights /= weights.sum()
    drawn = np.bincount(order[cheap].ravel(), (weights[:, None] * shares[cheap]).ravel(), minlength=len(p))
    slope = p - drawn
    momentum = KEEP * momentum + (1 - KEEP) * slope if momentum.any() else slope
    scaled = momentum / np.maximum(p, 1e-12)
    length = step * gap / max(float(momentum @ scaled), 1e-300)
    return nu + length * scaled, momentum

"""Better prices by ascent: the bound of prices is concave in them, and its slope is what the cheapest releases draw on.

The slope at nu is p - t, with t the law of the inputs in the groups of the cheapest releases, a soft minimum over a few
of them. Steps have Polyak's length towards the value of a known kernel, in the metric of p. Only a changing list of cheap
releases is priced at each step; all of them now and then, which is when a bound counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.solvers.common.words.pricing import Table

LISTED = 256
SOFT = 64
KEEP = 0.7
"""Share of the last direction that is kept."""
SHRINK = 0.6
LEAST_STEP = 1e-3


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
    >>> from privopt.mechanisms.policy.hamming_cases import Levels
    >>> table = Table.of(np.array([0.6, 0.4]), 1 - np.eye(2), Levels.of(0.5))
    >>> found = ascend(table, np.zeros(2), 0.2911347166620641, 1e-6, 5.0)
    >>> 0.2911 < found.bound < 0.29113471667
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
        found = float(table.p @ nu + costs.min())
        listed = np.union1d(_list(costs), listed[np.argsort(costs[listed])[:LISTED]])
        if found > best.bound + 1e-3 * (target - best.bound):
            best, weak = Ascent(nu, found, costs, done), 0
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
    costs, order, law = table.groups(listed, nu)
    lowest = costs.min()
    gap = max(target - float(p @ nu + lowest), 1e-14)
    cheap = np.argsort(costs, kind="stable")[:SOFT]
    weights = np.exp(-(costs[cheap] - lowest) / (0.2 * gap))
    weights /= weights.sum()
    drawn = np.bincount(order[cheap].ravel(), (weights[:, None] * law[cheap]).ravel(), minlength=len(p))
    slope = p - drawn
    momentum = KEEP * momentum + (1 - KEEP) * slope if momentum.any() else slope
    scaled = momentum / np.maximum(p, 1e-12)
    length = step * gap / max(float(momentum @ scaled), 1e-300)
    return nu + length * scaled, momentum

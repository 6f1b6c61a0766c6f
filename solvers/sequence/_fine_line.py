"""One release over a long line of letters: few releases serve all, found on a coarse grid of places and then on finer ones.

Every letter has a row of its own. What changes are the releases of the program: at first one in so many places, then the
neighbours of those in use and of the places that are cheapest at its prices. Programs are solved by an interior-point
method, whose prices lie amid all that are optimal and so say more of the other places than those of a simplex method.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.program import Table
from privopt.mechanisms.policy.formulas.steps import Answer, Step
from privopt.mechanisms.policy.formulas.word_groups import extended
from privopt.mechanisms.policy.formulas.words import FAINT, MOST
from privopt.solvers.sequence.widening import Served, serve

PLACES = 48
"""Places of the first grid."""
FINER = 4
"""How many times finer each grid is than the one before."""
AROUND = 2
"""Neighbours on either side that enter a program, at the distance of the grid."""
FIRST_GAP, LEAST_GAP = 1e-4, 1e-9
"""Relative gaps to which the first program is solved and the last ones."""
CLOSER, CLOSEST = 10.0, 1e3
"""How much smaller the next gap is: with every finer grid, and once no place of the finest one is missed."""
USED = 1e-3
"""Releases that some letter draws with at least this probability are in use."""
RARE = 1e-9
"""Mass of the rarest letters that programs leave out."""
ENOUGH = 1e-7
"""The relative gap at which the search ends."""
ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Found:
    """The best kernel and the best prices nu (n,), with their bound; no kernel yet at first."""

    served: Served | None
    nu: Floats
    bound: float

    @property
    def value(self) -> float:
        """Distortion of the kernel."""
        return math.inf if self.served is None else self.served.value

    @property
    def closed(self) -> bool:
        """Whether value and bound are near enough."""
        return self.served is not None and self.value - self.bound <= ENOUGH * self.value


def refined(step: Step, seconds: float, start: Ints | None = None) -> Answer | None:
    """A release of few letters with a row for each one; None if none is found in time.

    Parameters
    ----------
    step : Step
        Of letters on a line, with a finite budget > 0.
    seconds : float
    start : int array, optional
        Releases to begin with; default every so many letters.

    Examples
    --------
    >>> step = Step(np.full(9, 1 / 9), np.abs(np.subtract.outer(range(9), range(9))) ** 2.0, 1.0, [1 / 9] * 9, tuple(range(9)))
    >>> answer = refined(step, 60.0)
    >>> round(float((step.p[:, None] * answer.kernel * step.cost).sum()), 6)
    4.235765
    """
    levels, unit = Levels.of(min(step.level, MOST)), float(np.abs(step.cost).max()) or 1.0
    seen = np.flatnonzero(step.p >= FAINT)
    table = Table.of(step.p[seen], step.cost[seen] / unit, levels)
    line = np.argsort(np.array(step.line, dtype=np.float64), kind="stable")
    rank = np.empty_like(line)
    rank[line] = np.arange(len(line))
    found, rounds = _search(
        table, line, None if start is None else rank[start], time.perf_counter() + seconds
    )
    if found.served is None:
        return None
    rows = np.zeros((len(seen), step.cost.shape[1]))
    rows[:, found.served.releases] = found.served.kernel
    stop = "gap" if found.closed else "time, or nothing that helps"
    answer = extended(step.p, step.cost, step.budget, rows, unit * found.nu / levels.room, rounds, stop)
    return Answer(answer.kernel, answer.lam, {"iterations": rounds, "stop": stop})


def _search(table: Table, line: Ints, start: Ints | None, until: float) -> tuple[Found, int]:
    """The best kernel and prices, with the programs solved; places are numbered along the line."""
    width = max(1, len(line) // PLACES)
    places = np.unique(np.arange(0, len(line), width) if start is None else start)
    near, rounds = FIRST_GAP, 0
    best = Found(None, np.zeros(len(table.p)), -math.inf)
    while not best.closed and rounds < ROUNDS and time.perf_counter() < until:
        served = serve(table, line[places], RARE, near, until)
        if served is None:
            break
        rounds += 1
        costs = table.costs(served.nu)[line]
        bound = float(table.p @ served.nu + costs.min())
        best = Found(
            served if served.value < best.value else best.served,
            served.nu if bound > best.bound else best.nu,
            max(bound, best.bound),
        )
        around = _around(served, costs, places, width)
        after = around if width > 1 else np.union1d(places, around)
        missed = float(costs[places].min() - costs.min())
        if width > 1 or missed <= near * served.value:
            if near <= LEAST_GAP and np.array_equal(after, places):
                break
            near = max(near / (CLOSER if width > 1 else CLOSEST), LEAST_GAP)
        places, width = after, max(1, width // FINER)
    return best, rounds


def _around(served: Served, costs: Floats, places: Ints, width: int) -> Ints:
    """Places in use, and those where the cost is least nearby and no more than that of what is in use, with their neighbours."""
    used = places[served.kernel.max(axis=0) >= USED]
    beside = np.pad(costs, 1, constant_values=np.inf)
    dips = np.flatnonzero((costs <= beside[:-2]) & (costs <= beside[2:]) & (costs <= costs[places].min()))
    centres = np.union1d(used, dips)
    spread = width * np.arange(-AROUND, AROUND + 1) // AROUND
    return np.unique(np.clip(centres[:, None] + spread, 0, len(costs) - 1))

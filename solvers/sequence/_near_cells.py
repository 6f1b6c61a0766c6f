"""One release where budgets are large for the number of letters: each letter has few releases, which prices find.

With theta = 1 / (e^epsilon + 1) a release is a group of letters of mass theta. Where that is the mass of few letters, most
pairs of a letter and a release never take part: the program begins with the letters that are nearest to each release, and those that
prices call for join it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.highs import FINEST, Least, Rows, minimise
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.program import CELLS, Table, cheapest_row
from privopt.mechanisms.policy.formulas.steps import Answer, Step
from privopt.mechanisms.policy.formulas.words import FAINT, MOST, finish

MASS = 3.0
"""Nearest letters of each release that enter the first program, by their mass in units of theta."""
LEAST = 5
"""Of them, and of the nearest releases of each letter, at least."""
MEAN = 8.0
"""Letters that theta is the mass of, on average, up to which few pairs are enough."""
AROUND = 11.5
"""The same of the letters around a release, where they are on a line: there finer and finer grids are quick beyond."""
SMALL = 2_500
"""Letters times releases up to which the program of all pairs takes milliseconds."""
MOST_PAIRS = 4_000_000
"""Letters times releases up to which they are sorted and priced."""
ENOUGH = 1e-8
"""The relative gap at which the search ends."""
SLACK = 1e-9
"""By how much a release must be cheaper than those of the program to call for letters, relative to the value."""
NEGLIGIBLE = 1e-9
"""Mass of a release, in units of theta, up to which it is rounding."""
LEAST_UNIT = 1e-4
"""Of costs, relative to the largest one."""
SECONDS = 9e-7
"""For each letter and release, that sorting, pricing and the judgement of what is found take, at least."""

Pairs = NDArray[np.bool_]
"""Whether a letter and a release take part, shape (k, m)."""


def suits(step: Step) -> bool:
    """Whether theta is the mass of few letters, of a program that is not small.

    Examples
    --------
    >>> line = np.abs(np.subtract.outer(range(60), range(60))) * 1.0
    >>> [suits(Step(np.full(60, 1 / 60), line, epsilon, [1 / 60] * 60)) for epsilon in (1.0, 4.0)]
    [False, True]
    """
    k, m = len(step.support), step.cost.shape[1]
    if not SMALL < k * m <= MOST_PAIRS:
        return False
    theta = Levels.of(min(step.level, MOST)).theta
    return k * theta <= MEAN and (not step.line or _around(step, theta) <= AROUND)


def _around(step: Step, theta: float) -> float:
    """How many letters of a line are on average within the mass theta around a letter."""
    places = np.array(step.line, dtype=np.float64)[step.support]
    p = step.p[step.support][np.argsort(places, kind="stable")]
    middle = np.cumsum(p) - 0.5 * p
    first, last = (np.searchsorted(middle, middle + side * 0.5 * theta) for side in (-1.0, 1.0))
    return float((last - first).mean()) + 1.0


def near_cells(step: Step, seconds: float) -> Answer | None:
    """The best release, or the best that was met; None if there was no time for a first one.

    Examples
    --------
    >>> line = np.abs(np.subtract.outer(range(60), range(60))) * 1.0
    >>> answer = near_cells(Step(np.full(60, 1 / 60), line, 4.0, [1 / 60] * 60), 60.0)
    >>> round(float((answer.kernel * line).sum() / 60), 6)
    0.437629
    """
    until = time.monotonic() + seconds
    levels = Levels.of(min(step.level, MOST))
    # what is lost is about e^-epsilon of the largest cost, and tolerances of programs are absolute
    unit = (float(np.abs(step.cost).max()) or 1.0) * max(levels.low, LEAST_UNIT)
    seen = np.flatnonzero(step.p >= FAINT)
    p, cost = step.p[seen], step.cost[seen] / unit
    table, pairs = Table.of(p, cost, levels), nearest(p, cost, levels)
    rows, nu, bound, rounds, closed = None, np.zeros(len(p)), -np.inf, 0, False
    while not closed:
        letters, releases = np.nonzero(pairs)
        solved = _program(p, cost, levels, (letters, releases), until - time.monotonic())
        if solved is None:
            break
        rounds += 1
        kernel, tops = solved.point[: len(letters)], solved.point[len(letters) :]
        tops[tops < NEGLIGIBLE] = 0.0
        rows = np.zeros(cost.shape)
        rows[letters, releases] = np.clip(kernel, 0.0, tops[releases])
        prices = solved.prices[: len(p)] / p
        least = solved.value - float(p @ prices) - SLACK * abs(solved.value)
        cheapest, before = np.inf, int(pairs.sum())
        for chosen, costs, groups in _groups(table, prices):
            cheapest = min(cheapest, float(costs.min()))
            for y in np.flatnonzero(costs < least).tolist():
                pairs[groups[y], chosen[y]] = True
        if (proved := float(p @ prices) + cheapest) > bound:
            bound, nu = proved, prices
        closed = solved.value - bound <= ENOUGH * solved.value or int(pairs.sum()) == before
    if rows is None:
        return None
    stop = "gap" if closed else "out of time"
    step_rows, lam = np.zeros(step.cost.shape), np.zeros(len(step.p))
    step_rows[seen], lam[seen] = rows, nu / levels.room
    for x in np.flatnonzero(step.p < FAINT).tolist():
        step_rows[x], lam[x] = cheapest_row(step.cost[x] / unit, (p @ rows) / levels.theta)
    if step.budget > MOST:  # theta is 0 but for rounding: each letter may be priced alone
        lam = step.cost.min(axis=1) / unit
    answer = finish(step.p, step.cost, step.budget, step_rows, unit * lam, rounds, stop)
    return Answer(answer.kernel, answer.lam, {"iterations": rounds, "stop": stop})


def nearest(p: Floats, cost: Floats, levels: Levels) -> Pairs:
    """The nearest letters of each release, and the nearest releases of each letter."""
    (k, m), pairs = cost.shape, np.zeros(cost.shape, dtype=bool)
    order = np.argsort(cost, axis=0, kind="stable")
    short = np.cumsum(p[order], axis=0) < MASS * levels.theta
    counts = np.clip(short.sum(axis=0) + 1, LEAST, k)
    places = np.arange(k)[:, None] < counts
    pairs[order[places], np.broadcast_to(np.arange(m), (k, m))[places]] = True
    few = min(LEAST, m)
    pairs[np.arange(k)[:, None], np.argpartition(cost, few - 1, axis=1)[:, :few]] = True
    return pairs


def _program(
    p: Floats, cost: Floats, levels: Levels, pairs: tuple[Ints, Ints], seconds: float
) -> Least | None:
    """The program of K and Q / theta with K on some pairs: variables K, then Q / theta."""
    (k, m), (letters, releases) = cost.shape, pairs
    count = len(letters)
    cells, ones = np.arange(count), np.ones(count)
    objective = np.concatenate(
        [levels.room * p[letters] * cost[letters, releases], levels.theta * levels.low * (p @ cost)]
    )
    below = Rows.cells(
        np.r_[cells, cells], np.r_[cells, count + releases], np.r_[ones, -ones], np.zeros(count)
    )
    means = np.arange(m)
    equal = Rows.cells(
        np.r_[letters, k + releases, k + means],
        np.r_[cells, cells, count + means],
        np.r_[ones, p[letters] / levels.theta, -np.ones(m)],
        np.r_[np.ones(k), np.zeros(m)],
    )
    return minimise(objective, below, equal, tolerance=FINEST, seconds=seconds) if seconds > 0 else None


def _groups(table: Table, prices: Floats) -> Iterator[tuple[Ints, Floats, list[Ints]]]:
    """Some releases at a time, what each costs at prices, and the letters of its cheapest group."""
    width = max(1, CELLS // len(table.p))
    for begin in range(0, len(table.rows), width):
        chosen = np.arange(begin, min(begin + width, len(table.rows)))
        costs, letters, shares = table.groups(chosen, prices)
        yield chosen, costs, [row[share > 0] for row, share in zip(letters, shares, strict=True)]

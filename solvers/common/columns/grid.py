"""The slow and obvious optimum of small questions: a linear programme over a fine grid of posteriors, then finer ones."""

from __future__ import annotations

import itertools
import math

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget, Proposal
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.common.columns.channel import channel_of, kept, unanswered
from privopt.solvers.common.columns.master import Master, solve_master
from privopt.solvers.common.columns.programme import Programme

STEPS = {1: 1, 2: 4000, 3: 80}
"""Intervals of the grid, by number of symbols."""

ZOOMS = 6
FINER = 8
"""Each zoom divides the step by this, around every posterior in use."""

STILL = 1e-11
"""Gain below which a grid of that step is done with."""

LARGEST = max(STEPS)


def grid_optimum(problem: TradeOff, budget: Budget) -> Proposal:
    """Propose the best mixture of grid points, for at most three symbols of positive probability."""
    if (why := problem.check_infeasible({})) is not None:
        return Proposal(infeasible={"floor": problem.budget}, stats={"stop": why})
    try:
        return _zoomed(problem, budget)
    except ArithmeticError as cause:
        return unanswered(problem, cause)


def _zoomed(problem: TradeOff, budget: Budget) -> Proposal:
    """Grids around what is used, finer and finer."""
    programme = Programme(problem)
    n = len(programme.law)
    columns = np.vstack([_grid(n, STEPS[n]), programme.law[None]])
    step, found = 1.0 / STEPS[n], _mixed(programme, columns)
    for _ in range(ZOOMS if n > 1 else 0):
        step /= FINER
        gained = math.inf
        while gained > STILL and budget.remaining > 0:
            columns, before = columns[found.weights > 0], found.value
            columns = np.vstack([columns, *(_around(v, step) for v in columns)])
            found = _mixed(programme, columns)
            gained = before - found.value
    release = kept(problem, channel_of(problem, found.weights, columns))
    return Proposal(release, stats={"columns": len(columns), "step": step})


def refusal(problem: TradeOff) -> str | None:
    """Why a question is not taken."""
    n = len(problem.observation.support)
    if problem.form != "stochastic":
        return 'it proposes channels, this problem asks for form "merging"'
    return (
        f"it lays a grid over the posteriors of at most {LARGEST} symbols, this problem has {n}"
        if n > LARGEST
        else None
    )


def _mixed(programme: Programme, columns: Floats) -> Master:
    row = programme.row(columns) if programme.is_bounded else None
    limit = programme.limit if programme.is_bounded else 0.0
    return solve_master(columns, programme.costs(columns), programme.law, row, limit)


def _grid(n: int, steps: int) -> Floats:
    """All laws on n symbols in multiples of 1 / steps."""
    heads = itertools.product(range(steps + 1), repeat=n - 1)
    points = np.array([(*head, steps - sum(head)) for head in heads if sum(head) <= steps], dtype=np.float64)
    return points / steps


def _around(v: Floats, step: float) -> Floats:
    """Laws near v: some steps more or less of all symbols but the likeliest, which makes up for it."""
    n, rest = len(v), int(v.argmax())
    others = [i for i in range(n) if i != rest]
    moves = np.array(list(itertools.product(range(-FINER, FINER + 1), repeat=n - 1)), dtype=np.float64) * step
    near = np.tile(v, (len(moves), 1))
    near[:, others] = np.maximum(near[:, others] + moves, 0.0)
    near[:, rest] = 1.0 - near[:, others].sum(axis=1)
    return near[near[:, rest] >= 0]

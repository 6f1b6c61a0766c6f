"""Many runs of the closed-form descent over a range of multipliers, and the best mixture of all that they find."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget, Proposal
from privopt.problems.trade_off.problem import TradeOff
from privopt.problems.trade_off.tree import cost_of
from privopt.solvers.common.columns.alternating import alternate
from privopt.solvers.common.columns.channel import channel_of, kept, unanswered
from privopt.solvers.common.columns.master import Master, solve_master
from privopt.solvers.common.columns.pool import EQUAL
from privopt.solvers.common.columns.programme import Programme

SLICE = 50
"""Rounds between looks at the clock."""

STILL = 1e-12
"""Change of the joint law in a slice at which a run ends."""

NEARBY = (0.85, 1.0, 1.2)
"""Multiples of the multiplier that matters at which more runs start."""

MOST = 2500
"""Posteriors of which a mixture is made."""


def best_of_runs(
    problem: TradeOff, multipliers: Sequence[float], starts: int, rounds: int, budget: Budget, *, bold: bool
) -> Proposal:
    """Descend from random releases at several multipliers, then near the one that matters; mix what was found.

    Mixing releases and publishing which one was used gives every point of the hull of theirs, so the best mixture is
    a linear programme over all posteriors found, and its dual says which multiplier matters.
    """
    try:
        return _best_of_runs(problem, multipliers, starts, rounds, budget, bold=bold)
    except ArithmeticError as cause:
        return unanswered(problem, cause)


def _best_of_runs(
    problem: TradeOff, multipliers: Sequence[float], starts: int, rounds: int, budget: Budget, *, bold: bool
) -> Proposal:
    programme = Programme(problem)
    rng = np.random.default_rng(budget.seed)
    n, values, runs = len(programme.law), list(multipliers), 0
    columns = np.vstack([np.eye(n), programme.law[None]])
    master = _mixed(programme, columns)
    for _ in range(starts):
        found = [columns]
        used = master.weights > 0
        mixture = master.weights[used, None] * columns[used]
        for multiplier, start in itertools.product(values, (None, mixture)):
            if budget.remaining == 0:
                break
            joint = _start(programme, rng) if start is None else start
            joint = _descended(programme, multiplier, joint, rounds, budget, bold=bold)
            found.append(joint / joint.sum(axis=1, keepdims=True))
            runs += 1
        columns = _without_copies(np.vstack(found))
        master = _mixed(programme, columns)
        scaled = programme.scaled(master.prices, master.dual)
        if problem.mode != "trade_off" and scaled is not None and scaled[0] > 0:
            values = [scaled[0] * factor for factor in NEARBY]
    release = kept(problem, channel_of(problem, master.weights, columns))
    return Proposal(release, stats={"runs": runs, "columns": len(columns)})


def _mixed(programme: Programme, columns: Floats) -> Master:
    row = programme.row(columns) if programme.is_bounded else None
    limit = programme.limit if programme.is_bounded else 0.0
    return solve_master(columns, programme.costs(columns), programme.law, row, limit)


def _start(programme: Programme, rng: np.random.Generator) -> Floats:
    """The joint law of a random release of up to n + 1 symbols: noisy copies of X, more or less of them."""
    n = len(programme.law)
    m = int(rng.integers(2, min(n, 40) + 2))
    sharpness = 10.0 ** rng.uniform(-1.0, 1.0)
    channel = rng.dirichlet(np.full(m, 1.0 / sharpness), size=n) + 1e-9
    return np.asarray((channel / channel.sum(axis=1, keepdims=True) * programme.law[:, None]).T)


def _descended(
    programme: Programme, multiplier: float, joint: Floats, rounds: int, budget: Budget, *, bold: bool
) -> Floats:
    cost = cost_of(programme.problem, multiplier)
    for _ in range(max(1, rounds // SLICE)):
        before = joint
        joint = alternate(cost, programme.law, joint, SLICE, bold=bold)
        still = before.shape == joint.shape and float(np.abs(before - joint).max()) < STILL
        if still or budget.remaining == 0:
            break
    return joint


def _without_copies(columns: Floats) -> Floats:
    _, first = np.unique(np.round(columns / EQUAL), axis=0, return_index=True)
    return columns[np.sort(first)[:MOST]]

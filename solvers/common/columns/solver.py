"""What the column-generation solvers of the two questions share."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.core.problem import Numbers
from privopt.core.solution import TOLERANCE, ZERO
from privopt.core.solver import Budget, Proposal
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.common.columns.channel import unanswered
from privopt.solvers.common.columns.generation import Generation
from privopt.solvers.common.columns.programme import Programme
from privopt.solvers.common.columns.seeds import first_columns

CHANNELS_ONLY = 'it proposes channels, this problem asks for form "merging"'


def settled(problem: TradeOff) -> Proposal | None:
    """The answer where everything or nothing is optimal, or no release is feasible; else None."""
    if (why := problem.check_infeasible({})) is not None:
        return Proposal(infeasible={"floor": problem.budget}, stats={"stop": why})
    bound = analytic_bound(problem)
    for release in (problem.nothing(), problem.everything()):
        reading = problem.evaluate(release)
        if reading.violation <= 1e-12 and bound - reading.objective <= closing(problem, reading) / 10:
            return Proposal(release, bound, {"kind": "analytic"}, stats={"stop": "settled without a search"})
    return None


def closing(problem: TradeOff, reading: Numbers) -> float:
    """The gap at which an answer counts as optimal."""
    return max(ZERO, TOLERANCE * problem.scale(reading))


def supports(problem: TradeOff) -> float:
    """Number of supports that exact pricing of a funnel has to go through, C(n, rank)."""
    n = len(problem.observation.support)
    rank = int(np.linalg.matrix_rank(problem.observation.s_given_w[:, problem.observation.support]))
    return float(math.comb(n, min(n, rank)))


def generate(
    problem: TradeOff, columns: Floats, budget: Budget, tolerance: float, *, hopeful: bool
) -> Proposal:
    """Column generation from some posteriors, besides the law, the single symbols and the blocks of mergings."""
    every = np.vstack([first_columns(Programme(problem), budget), columns])
    try:
        run = Generation(problem, every, budget, tolerance, hopeful=hopeful)
        run.run()
    except ArithmeticError as cause:
        return unanswered(problem, cause)
    return run.proposal()

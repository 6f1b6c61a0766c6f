"""The best step for any distortion, by a sparse linear programme over groups of letters, with prices as its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.solvers.sequence._level import level, priced, unbound
from privopt.solvers.sequence.structure import solve_structure

FAINT = 1e-12
"""Letters of less probability are left out of the programme and then go wherever is cheapest for them."""

NEGLIGIBLE = 1e-11
"""A column this small, relative to theta, is rounding rather than part of the answer."""

MAX_CELLS = 100_000

MOST = 20.0
"""The level at which larger budgets are solved: 1 / theta is a coefficient of the programme, and the loss is 2e-9 a letter."""


@register
@dataclass(frozen=True)
class StructureLp(Solver[BeliefRelease]):
    """One linear programme in K and Q, where a channel is (1 - L) K(y | x) + L Q(y) and K(y | x) <= Q(y) / theta.

    The constraints are those of Jiang, Li, Tandon ("Online Context-aware Data Release with Sequence Information
    Privacy"), in other variables: far better scaled than the programme in P(y | x).
    """

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "structure-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal to the tolerance of HiGHS."""

    def cost(self, problem: BeliefRelease) -> float:
        """Grows faster than the cells."""
        cells = len(problem.support) * problem.matrix.shape[1]
        return float(0.02 + 4e-5 * cells + 8e-9 * cells**2)

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse what does not fit."""
        if (cells := len(problem.support) * problem.matrix.shape[1]) > MAX_CELLS:
            return f"its programme has {cells} cells, more than {MAX_CELLS}"
        return None

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the optimal channel with the multipliers of its rows."""
        known = unbound(problem, {"iterations": 0, "stop": "all or nothing"})
        if known is not None:
            return known
        levels = Levels.of(min(level(problem), MOST))
        unit = float(np.abs(problem.matrix).max()) or 1.0
        p, cost = problem.p, problem.matrix / unit
        heavy = np.flatnonzero(p >= FAINT)
        solved = solve_structure(p[heavy], cost[heavy], levels, 0.9 * budget.remaining)
        if solved is None:
            return Proposal(problem.constant(), stats={"iterations": 0, "stop": "out of time"})
        used = solved.law > NEGLIGIBLE * levels.theta
        tops = np.where(used, solved.law / levels.theta, 0.0)
        kernel, lam = np.zeros(cost.shape), np.zeros(len(p))
        kernel[heavy], lam[heavy] = np.where(used, solved.kernel, 0.0), solved.prices
        for x in np.flatnonzero(p < FAINT):
            kernel[x], lam[x] = _cheapest(cost[x], tops)
        if problem.budget > MOST:  # theta is 0 but for rounding: each letter may be priced alone
            lam = cost.min(axis=1)
        kernel /= kernel.sum(axis=1, keepdims=True)
        law = p @ kernel
        kernel[p == 0] = law
        stats: dict[str, float | int | str] = {"iterations": solved.iterations, "stop": solved.message}
        return priced(problem, levels.room * kernel + levels.low * law, unit * lam, stats)


def _cheapest(cost: Floats, tops: Floats) -> tuple[Floats, float]:
    """The cheapest row with at most ``tops`` in each column, and the price of its last part."""
    order = np.argsort(cost, kind="stable")
    filled = np.minimum(np.cumsum(tops[order]), 1.0)
    row = np.zeros(len(cost))
    row[order] = np.diff(filled, prepend=0.0)
    return row, float(cost[row > 0].max(initial=0.0))

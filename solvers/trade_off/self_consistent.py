"""The self-consistent equations of the information bottleneck, iterated from many starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.solvers.common.columns.solver import CHANNELS_ONLY, settled
from privopt.solvers.common.columns.starts import best_of_runs

LARGEST = 600


@register
@dataclass(frozen=True)
class SelfConsistent(Solver[InformationBottleneck]):
    """P(y | x) proportional to P(y) exp(-D(P(s | x) || P(s | y)) / m), again and again.

    The price m of the rate runs over a range, several random releases are followed at each, and a linear programme
    mixes what they found so that the rate is kept. Source: Tishby, Pereira, Bialek, "The information bottleneck method".

    Parameters
    ----------
    multipliers, starts, rounds : int
        Values of m between 0 and 1 (one under a given trade-off), releases at each, steps at most.
    """

    solves: ClassVar = InformationBottleneck
    name: ClassVar[str] = "self-consistent"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """A local optimum."""

    multipliers: int = 16
    starts: int = 4
    rounds: int = 1000

    def cost(self, problem: InformationBottleneck) -> float:
        """Steps times the entries of the channel."""
        n = len(problem.observation.support)
        m = 1 if problem.mode == "trade_off" else self.multipliers
        return 0.05 + 3e-7 * m * self.starts * self.rounds * n * min(n, 20) / 4

    def refuse(self, problem: InformationBottleneck) -> str | None:
        """Refuse mergings and channels that are too large."""
        if len(problem.observation.support) > LARGEST:
            return f"it takes up to {LARGEST} symbols, this problem has {len(problem.observation.support)}"
        return CHANNELS_ONLY if problem.form != "stochastic" else None

    def run(self, problem: InformationBottleneck, budget: Budget) -> Proposal:
        """Propose the best mixture of what the runs found."""
        if (simple := settled(problem)) is not None:
            return simple
        values = (
            [problem.budget]
            if problem.mode == "trade_off"
            else np.geomspace(0.01, 0.95, self.multipliers).tolist()
        )
        short = Budget(budget.deadline - 0.1 * budget.remaining, budget.seed, budget.progress)
        return best_of_runs(problem, values, self.starts, self.rounds, short, bold=False)

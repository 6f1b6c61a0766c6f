"""Local descent on the channel itself, in closed form, from many starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.common.columns.solver import CHANNELS_ONLY, settled
from privopt.solvers.common.columns.starts import best_of_runs

LARGEST = 600


@register
@dataclass(frozen=True)
class DifferenceOfConvex(Solver[PrivacyFunnel]):
    """I(S;Y) - m I(X;Y) is a difference of convex functions of the channel; each step minimises an upper bound of it.

    The multiplier m runs over a range, several random releases are followed at each, and a linear programme mixes
    what they found so that the bound is kept. Sources: Huang and El Gamal, "An Efficient Difference-of-Convex
    Solver for Privacy Funnel"; Chen et al., "An Expectation-Maximization Relaxed Method for Privacy Funnel".

    Parameters
    ----------
    step : {"linearised", "relaxed"}
        What is replaced by an upper bound: all of I(X;Y) by its tangent, or only the entropy of the release, which
        makes longer steps.
    multipliers, starts, rounds : int
        Values of m between 0 and 1 (one under a given trade-off), releases at each, steps at most.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "difference-of-convex"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """A local optimum."""

    step: str = "linearised"
    multipliers: int = 12
    starts: int = 6
    rounds: int = 1000

    def cost(self, problem: PrivacyFunnel) -> float:
        """Steps times the entries of the channel."""
        n = len(problem.observation.support)
        m = 1 if problem.mode == "trade_off" else self.multipliers
        return 0.05 + 3e-7 * m * self.starts * self.rounds * n * min(n, 20) / 4

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse mergings, unknown steps and channels that are too large."""
        if self.step not in ("linearised", "relaxed"):
            return f'its option step is "linearised" or "relaxed", not {self.step!r}'
        if len(problem.observation.support) > LARGEST:
            return f"it takes up to {LARGEST} symbols, this problem has {len(problem.observation.support)}"
        return CHANNELS_ONLY if problem.form != "stochastic" else None

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best mixture of what the runs found."""
        if (simple := settled(problem)) is not None:
            return simple
        values = (
            [problem.budget]
            if problem.mode == "trade_off"
            else np.geomspace(0.02, 0.9, self.multipliers).tolist()
        )
        short = Budget(budget.deadline - 0.1 * budget.remaining, budget.seed, budget.progress)
        return best_of_runs(problem, values, self.starts, self.rounds, short, bold=self.step == "relaxed")

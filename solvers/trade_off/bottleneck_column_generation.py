"""The randomised optimum of the information bottleneck, with a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.solvers.common.columns.solver import CHANNELS_ONLY, generate, settled

MOST = 5
"""Values of S up to which boxes of P(s | v) are split until the gap is closed."""


@register
@dataclass(frozen=True)
class ColumnGeneration(Solver[InformationBottleneck]):
    """Posteriors are found as they are needed, and branch and bound proves that none is missed.

    The funnel's method with the signs changed: H(S | v) is the concave part of the cost, so boxes are boxes of
    P(s | v), of as many dimensions as S has values, whatever the size of X.

    Parameters
    ----------
    tolerance : float
        Gap at which to stop, relative to the problem's scale.
    """

    solves: ClassVar = InformationBottleneck
    name: ClassVar[str] = "column-generation"

    tolerance: float = 9e-7

    def guarantee(self, problem: InformationBottleneck) -> Guarantee:
        """Optimal where the proof is expected to end within seconds, else bounded."""
        return Guarantee.OPTIMAL if self.cost(problem) <= 5.0 else Guarantee.BOUNDED

    def cost(self, problem: InformationBottleneck) -> float:
        """Seconds until the gap is closed, where it can be; grows with the values of S above all."""
        n, n_s = len(problem.observation.support), len(problem.observation.p_s)
        return 0.5 + 0.01 * n * 3.0 ** min(n_s, 20)

    def refuse(self, problem: InformationBottleneck) -> str | None:
        """Refuse mergings."""
        return CHANNELS_ONLY if problem.form != "stochastic" else None

    def run(self, problem: InformationBottleneck, budget: Budget) -> Proposal:
        """Propose the best mixture of posteriors, and the best bound proved."""
        if (simple := settled(problem)) is not None:
            return simple
        none = np.zeros((0, len(problem.observation.support)))
        hopeful = len(problem.observation.p_s) <= MOST
        return generate(problem, none, budget, self.tolerance, hopeful=hopeful)

"""The slow and obvious optimum over a grid of posteriors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.solvers.common.columns.grid import grid_optimum, refusal


@register
@dataclass(frozen=True)
class Oracle(Solver[InformationBottleneck]):
    """A linear programme over all posteriors of a fine grid, and over finer ones around those it uses.

    No pricing and no proof: at most three symbols, whose posteriors a grid covers.
    """

    solves: ClassVar = InformationBottleneck
    name: ClassVar[str] = "oracle"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """Slow and obvious."""

    def cost(self, problem: InformationBottleneck) -> float:
        """A few linear programmes of some thousand columns."""
        return 1.0

    def refuse(self, problem: InformationBottleneck) -> str | None:
        """Refuse mergings and more than three symbols."""
        return refusal(problem)

    def run(self, problem: InformationBottleneck, budget: Budget) -> Proposal:
        """Propose the best mixture of grid points."""
        return grid_optimum(problem, budget)

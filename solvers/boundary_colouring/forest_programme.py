"""The best weighted accuracy on graphs without cycles: a programme over levels, exact and with a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._forest_answer import proposal, refuse_forest, table_cells


@register
@dataclass(frozen=True)
class ForestProgramme(Solver[BoundaryColouring]):
    """Concave values over the levels, from the leaves to the roots; a layer of vertices at a time.

    Also for graphs whose quotient by colour refinement has no cycle.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "forest"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Vertices times levels."""
        return 0.03 + 1e-7 * table_cells(problem)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other questions, graphs with cycles, and tables that do not fit."""
        return refuse_forest(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum with its multipliers."""
        return proposal(problem)

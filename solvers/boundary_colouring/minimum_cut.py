"""The best weighted accuracy of two colours by one minimum cut over levels: a check of the linear programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._cut import best_closure
from privopt.solvers.boundary_colouring._forest_answer import table_cells
from privopt.solvers.boundary_colouring._levels import levels
from privopt.solvers.boundary_colouring._reduced import polished, reduced, refuse_choice
from privopt.solvers.boundary_colouring.programme import signed

MAX_CELLS = 2_000_000
"""Vertices times levels."""


@register
@dataclass(frozen=True)
class MinimumCut(Solver[BoundaryColouring]):
    """Upper sets of vertices, one a level, nested and closed under privacy; a maximum-weight closure (Picard, 1976).

    It shares nothing with the linear programme but the levels, and gives no bound that the problem checks.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "minimum-cut"

    def guarantee(self, problem: BoundaryColouring) -> Guarantee:
        """An oracle: exact, and slower than the linear programme."""
        return Guarantee.ORACLE

    def cost(self, problem: BoundaryColouring) -> float:
        """Grows with vertices times levels."""
        return 0.05 + 2e-5 * table_cells(problem)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other questions, and networks that do not fit."""
        if (sentence := refuse_choice(problem)) is not None:
            return sentence
        if (cells := table_cells(problem)) > MAX_CELLS:
            return f"its network would have {cells:.1e} nodes, more than {MAX_CELLS:.0e}"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the levels of the best closure."""
        given = reduced(problem)
        table = levels(problem.guarded, given.graph.size + 2)
        gains = signed(given.graph.codes, given.weights)
        found = best_closure(given.graph.edges(), gains, table)
        mechanism = polished(problem, given, (table.p[found], table.r[found]))
        return Proposal(mechanism, stats={"levels": len(table.p), "vertices": given.graph.size})

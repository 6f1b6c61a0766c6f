"""The best mechanism with one value on each colour's boundary: exact on a line, a heuristic elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._equal import equal_boundary
from privopt.solvers.boundary_colouring._reduced import refuse_choice


@register
@dataclass(frozen=True)
class EqualBoundary(Solver[BoundaryColouring]):
    """Weights are added up by colour and distance, and one integer is found by bisection: any size of graph."""

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "equal-boundary"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: up to some hundredths of the total weight below the optimum on general graphs."""

    def cost(self, problem: BoundaryColouring) -> float:
        """A search over the graph and a sort of the levels."""
        return 0.02 + 4e-7 * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other questions."""
        return refuse_choice(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the best such mechanism."""
        mechanism, value = equal_boundary(problem)
        return Proposal(mechanism, stats={"boundary_value": value[0], "boundary_rest": value[1]})

"""The exponential mechanism on distances to the colours, as sharp as privacy allows: any number of colours and vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._exponential import (
    distances,
    largest_sharpness,
    mechanism,
    refuse_free,
)


@register
@dataclass(frozen=True)
class Exponential(Solver[BoundaryColouring]):
    """Answer c at v in proportion to e^(-beta hops from v to colour c), at the largest private beta by bisection.

    Parameters
    ----------
    halvings : int
        Of the bracket of beta.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "exponential"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible."""

    halvings: int = 40

    def cost(self, problem: BoundaryColouring) -> float:
        """A search by colour, then a reading of all distinct pairs of rows in each halving."""
        return 0.05 + 1e-6 * problem.k * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse prescribed values."""
        return refuse_free(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the sharpest such mechanism."""
        given = distances(problem)
        halvings = self.halvings if len(given.pairs[0]) < 200_000 else min(self.halvings, 12)
        beta = largest_sharpness(given, problem.guarded.epsilon, problem.guarded.delta, halvings)
        return Proposal(mechanism(problem, beta), stats={"beta": beta, "rows": len(given.rows)})

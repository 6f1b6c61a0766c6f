"""Baseline: the exponential mechanism on distances to the colours at the textbook sharpness, epsilon / 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._exponential import mechanism, refuse_free


@register
@dataclass(frozen=True)
class ExponentialHalf(Solver[BoundaryColouring]):
    """Distances change by at most 1 along an edge, so e^(-epsilon hops / 2), normalised, is private without delta.

    Source: McSherry, Talwar, "Mechanism Design via Differential Privacy", Theorem 6.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "exponential-half"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """A baseline."""

    def cost(self, problem: BoundaryColouring) -> float:
        """A search by colour."""
        return 0.02 + 4e-7 * problem.k * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse prescribed values."""
        return refuse_free(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it; it does not use delta."""
        beta = problem.guarded.epsilon / 2
        return Proposal(mechanism(problem, beta), stats={"beta": beta})

"""Baseline: Laplace noise on the signed distance from the boundary, and a threshold midway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._noise import noisy, refuse_noise


@register
@dataclass(frozen=True)
class LaplaceThreshold(Solver[BoundaryColouring]):
    """Error e^(-epsilon (i + 1/2)) / 2 at distance i: at every distance cosh(epsilon / 2) times the optimum.

    Source: Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis".
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "laplace-threshold"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """A baseline."""

    def cost(self, problem: BoundaryColouring) -> float:
        """A search over the graph."""
        return 0.02 + 2e-7 * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse more than two colours and prescribed values."""
        return refuse_noise(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it; it does not use delta."""
        return noisy(problem, 0.5 * problem.guarded.decay**0.5)

"""The best weighted accuracy of two colours by a linear programme, polished to a private answer with a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.steps import LARGEST, Pair
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._duals import edge_table, lifted, linear_dual
from privopt.solvers.boundary_colouring._levels import MAX_LEVELS, level_count, levels
from privopt.solvers.boundary_colouring._reduced import polished, reduced, refuse_choice
from privopt.solvers.boundary_colouring.programme import signed, solve_programme

MAX_VERTICES, MAX_EDGES = 100_000, 400_000
"""Of the quotient; beyond them HiGHS takes minutes and gigabytes."""
NEAR = 1e-7
"""How close a value is to the level that it stands for."""


@register
@dataclass(frozen=True)
class WeightedLp(Solver[BoundaryColouring]):
    """One variable a vertex (a class of vertices, where colour refinement finds any) and four rows an edge.

    Every vertex of the polytope has its values on known levels, so the answer is moved to the nearest ones, made private on
    the boundary and continued from there. The multipliers prove the optimum by weak duality.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "weighted-lp"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Half a second at 10^4 vertices of a grid, ten at 10^5; more where degrees are large."""
        small = reduced(problem).graph
        return 0.05 + 1e-7 * math.pow(small.size + small.edge_count, 1.47)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other questions, and what HiGHS does not do in minutes."""
        if (sentence := refuse_choice(problem)) is not None:
            return sentence
        if problem.epsilon > LARGEST:
            return f"e to the epsilon of {problem.epsilon:g} nats overflows in its rows"
        small = reduced(problem).graph
        if small.size > MAX_VERTICES or small.edge_count > MAX_EDGES:
            return (
                f"its programme would have {small.size} vertices and {small.edge_count} edges, "
                f"more than {MAX_VERTICES} or {MAX_EDGES}; equal-boundary takes them"
            )
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum with its multipliers."""
        given = reduced(problem)
        edges, gains = given.graph.edges(), signed(given.graph.codes, given.weights)
        found = solve_programme(edges, gains, problem.step, 0.9 * budget.remaining)
        if found is None:
            return Proposal(stats={"stop": "HiGHS ended without an answer"})
        mechanism = polished(problem, given, snapped(problem, found.p))
        table = lifted(given, problem.graph, edge_table(given.graph, edges, found.multipliers))
        value = float(given.weights[given.graph.codes != 0].sum() + gains @ found.p)
        stats = {"iterations": found.iterations, "vertices": given.graph.size}
        return Proposal(mechanism, value, linear_dual(table), stats=stats)


def snapped(problem: BoundaryColouring, p: Floats) -> Pair:
    """Values moved to the nearest level where one is near, with complements."""
    count = min(problem.graph.size + 2, MAX_LEVELS)
    if level_count(problem.guarded, count) >= MAX_LEVELS:
        return p, 1.0 - p
    table = levels(problem.guarded, count)
    at = table.nearest(p)
    near = np.abs(table.p[at] - p) < NEAR
    return np.where(near, table.p[at], p), np.where(near, table.r[at], 1.0 - p)

"""The best answer in k colours, mean or worst case, by a sparse linear programme with a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.steps import LARGEST
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._duals import lifted, linear_dual
from privopt.solvers.boundary_colouring._k_programme import Programme, solve_laws
from privopt.solvers.boundary_colouring._reduced import Reduced, normalised_weights, reduced

MAX_CELLS = 120_000
"""Vertices times colours for three colours; fewer for more."""


@register
@dataclass(frozen=True)
class KColourLp(Solver[BoundaryColouring]):
    """One variable a vertex and colour, and with delta > 0 one more an arc and colour.

    Privacy is that of events: the excesses of all colours along an arc add up to at most delta. Bounding them one by one
    would overstate the accuracy.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "k-colour-lp"

    def guarantee(self, problem: BoundaryColouring) -> Guarantee:
        """Optimal."""
        return Guarantee.OPTIMAL

    def cost(self, problem: BoundaryColouring) -> float:
        """Three seconds at 10^4 vertices of a grid and three colours; more for the worst case."""
        small, factor = _smaller(problem).graph, 5.0 if problem.objective == "worst_case" else 1.0
        cells = (small.size + small.edge_count * (1 + (problem.delta > 0))) * problem.k
        return 0.05 + factor * 2.5e-7 * math.pow(cells, 1.45)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse two colours, and what HiGHS does not do in minutes."""
        if problem.k < 3:
            return f"it is for 3 colours or more, this graph has {problem.k}; the others solve two colours faster"
        if problem.epsilon > LARGEST:
            return f"e to the epsilon of {problem.epsilon:g} nats overflows in its rows"
        size = _smaller(problem).graph.size * problem.k
        limit = MAX_CELLS * 3 // problem.k
        if size > limit:
            return f"its programme would have {size} probabilities, more than {limit}; exponential takes them"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum with its multipliers."""
        given = _smaller(problem)
        mean = problem.objective == "accuracy"
        fixed = None if problem.prescribed is None else (problem.prescribed.sites, problem.prescribed.rows)
        programme = Programme(given.graph, problem.step, given.weights if mean else None, fixed)
        found = solve_laws(programme, 0.45 * budget.remaining)
        if found is None:
            return Proposal(stats={"stop": "HiGHS found no answer"})
        rows, weights = found.rows, found.weights
        if given.classes is not None:
            rows = rows[given.classes]
            if weights is not None:
                weights = (weights / np.bincount(given.classes))[given.classes]
        levels, level = np.unique(rows, axis=0, return_inverse=True)
        dual = linear_dual(lifted(given, problem.graph, found.multipliers), weights)
        mechanism = problem.colouring(levels, level.reshape(-1))
        return Proposal(mechanism, found.value, dual, stats={"vertices": given.graph.size})


def _smaller(problem: BoundaryColouring) -> Reduced:
    """The quotient, unless laws are prescribed or it would be for weights that do not matter."""
    if problem.prescribed is not None or (problem.objective == "worst_case" and problem.weights is not None):
        return Reduced(problem.graph, normalised_weights(problem), None)
    return reduced(problem)

"""What the programmes on paths and forests propose, and what they refuse."""

from __future__ import annotations

import numpy as np

from privopt.core.solver import Proposal
from privopt.measures.colouring.steps import LARGEST
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._duals import edge_table, lifted, linear_dual
from privopt.solvers.boundary_colouring._forest import Answer, Forest, best_on_forest, forest
from privopt.solvers.boundary_colouring._levels import MAX_LEVELS, level_count, levels
from privopt.solvers.boundary_colouring._reduced import Reduced, polished, reduced, refuse_choice
from privopt.solvers.boundary_colouring.programme import signed

MAX_CELLS = 40_000_000
"""Vertices times levels: 320 MB."""


def table_cells(problem: BoundaryColouring) -> int:
    """Vertices times levels of the smaller graph."""
    given = reduced(problem)
    return given.graph.size * 2 * (level_count(problem.guarded, given.graph.size + 2) + 2)


def refuse_forest(problem: BoundaryColouring) -> str | None:
    """Why a question is not for a programme on forests."""
    if (sentence := refuse_choice(problem)) is not None:
        return sentence
    if problem.epsilon > LARGEST:
        return f"e to the epsilon of {problem.epsilon:g} nats overflows in its multipliers"
    given = reduced(problem)
    if not given.is_forest:
        return f"it needs a graph without cycles, this one has {given.graph.edge_count} edges on {given.graph.size}"
    count = level_count(problem.guarded, given.graph.size + 2)
    if count > MAX_LEVELS or table_cells(problem) > MAX_CELLS:
        return f"its table would have {table_cells(problem):.1e} cells, more than {MAX_CELLS:.0e}"
    return None


def proposal(problem: BoundaryColouring) -> Proposal:
    """The optimum on a forest, with its multipliers."""
    given = reduced(problem)
    table = levels(problem.guarded, given.graph.size + 2)
    rooted = forest(given.graph.indptr, given.graph.indices)
    gains = signed(given.graph.codes, given.weights)
    found = best_on_forest(rooted, gains, table, problem.guarded)
    mechanism = polished(problem, given, (table.p[found.level], table.r[found.level]))
    value = float(given.weights[given.graph.codes != 0].sum() + gains @ table.p[found.level])
    dual = linear_dual(lifted(given, problem.graph, _by_arc(given, rooted, found)))
    return Proposal(mechanism, value, dual, stats={"levels": len(table.p), "vertices": given.graph.size})


def _by_arc(
    given: Reduced, rooted: Forest, found: Answer
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    below = np.flatnonzero(rooted.parent >= 0)
    edges = np.stack([below, rooted.parent[below]], axis=1)
    return edge_table(given.graph, edges, found.multipliers[below])

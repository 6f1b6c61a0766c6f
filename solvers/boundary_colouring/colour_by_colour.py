"""Several colours on large graphs: each colour against all others is a program of two colours, and their multipliers bound all together."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.steps import LARGEST
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._reduced import edge_table, lifted, linear_dual, reduced, signed
from privopt.solvers.boundary_colouring.exponential import Exponential, refuse_free
from privopt.solvers.boundary_colouring.linear_programs import (
    MAX_EDGES,
    MAX_VERTICES,
    KColourLp,
    solve_program,
)

JUDGED = 0.3
"""Share of the time that is left for the mechanism and the check of its bound."""
SOON = 3.0
"""Predicted seconds of the program of all colours up to which there is no use for its bound by parts."""


@register
@dataclass(frozen=True)
class ColourByColour(Solver[BoundaryColouring]):
    """Several colours: the exponential mechanism, with a bound from one program of two colours for each of them.

    For each colour, "this one or another" is a private answer of two colours, and the accuracies A_c of these answers sum to
    k - 2 + 2 A for the accuracy A of the mechanism. So half of the multipliers that bound all A_c bound A: those of
    one colour, and for every other colour those of "another one". Little is left open where few vertices are near three colours.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "colour-by-colour"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED

    def cost(self, problem: BoundaryColouring) -> float:
        """A program for each colour, and the exponential mechanism."""
        size = problem.graph.size + problem.graph.edge_count
        return Exponential().cost(problem) + problem.k * (0.05 + 5e-8 * math.pow(size, 1.47))

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse two colours, prescribed values, the worst case, and what HiGHS does not do in minutes."""
        if (sentence := refuse_free(problem)) is not None:
            return sentence
        if problem.k == 2:
            return "weighted-lp proves the optimum of two colours"
        if problem.objective != "accuracy":
            return "it bounds the weighted mean accuracy, this problem asks for the worst case; k-colour-lp does that"
        if problem.epsilon > LARGEST:
            return f"e to the epsilon of {problem.epsilon:g} nats overflows in its rows"
        if problem.graph.size > MAX_VERTICES or problem.graph.edge_count > MAX_EDGES:
            return (
                f"each of its programs would have {problem.graph.size} vertices and {problem.graph.edge_count} edges, "
                f"more than {MAX_VERTICES} or {MAX_EDGES}"
            )
        whole = KColourLp()
        if whole.refuse(problem) is None and whole.cost(problem) <= SOON:
            return "k-colour-lp proves the optimum of graphs of this size in seconds"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the exponential mechanism with the multipliers of all programs that were solved in time."""
        proposal = Exponential().run(problem, budget)
        until = budget.earlier(JUDGED)
        table, solved = np.zeros((len(problem.graph.indices), problem.k)), 0
        for colour in np.argsort(-np.bincount(problem.graph.codes), kind="stable").tolist():
            left = problem.k - solved
            share = replace(
                until, deadline=min(until.deadline, time.monotonic() + 2 * until.remaining / left)
            )
            found = _multipliers(problem, colour, share)
            if found is None:
                break
            table += 0.5 * found[:, 1:]
            table[:, colour] += 0.5 * (found[:, 0] - found[:, 1])
            solved += 1
        stats: dict[str, float | int | str] = {"programs": solved}
        if solved < problem.k:
            stats["stop"] = OUT_OF_TIME
        dual = linear_dual(table)
        return replace(proposal, bound=problem.check_bound(-math.inf, dual), dual=dual, stats=stats)


def _multipliers(problem: BoundaryColouring, colour: int, budget: Budget) -> Floats | None:
    """Those of arcs (arcs, 2) that bound the accuracy of "this colour or another"; None where the program was not solved."""
    graph = problem.graph
    codes = (np.asarray(graph.codes) != colour).astype(np.int64)
    apart = DatasetGraph.from_csr(graph.indptr, graph.indices, codes, palette=[0, 1])
    sub = BoundaryColouring(apart, problem.epsilon, problem.delta, boundary=None, weights=problem.weights)
    if not np.array_equal(apart.indices, graph.indices):
        raise AssertionError("the arcs of a graph do not depend on its colours")
    small = reduced(sub)
    edges, gains = small.graph.edges(), signed(small.graph.codes, small.weights)
    solved = solve_program(edges, gains, sub.step, 0.9 * budget.remaining) if budget.remaining > 0 else None
    if solved is None:
        return None
    return lifted(small, apart, edge_table(small.graph, edges, solved.multipliers))

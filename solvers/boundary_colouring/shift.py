"""Counts: on a line with one two-coloured edge the optimum is the balanced answer, shifted, and its proof is a recursion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.steps import LARGEST, Pair, Step
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._duals import edge_table, lifted, linear_dual
from privopt.solvers.boundary_colouring._equal import equal_boundary, one_side, padded
from privopt.solvers.boundary_colouring._forest_answer import proposal, refuse_forest
from privopt.solvers.boundary_colouring._reduced import Reduced, reduced, refuse_choice
from privopt.solvers.boundary_colouring.programme import signed

BEND = 1e-12
"""Relative rounding at the bend."""


@register
@dataclass(frozen=True)
class Shift(Solver[BoundaryColouring]):
    """One integer says how far the balanced answer moves towards the heavier colour.

    Also for graphs whose quotient by colour refinement is such a line, as all outcomes of a vote are. The multipliers
    of the linear programme are sums of weights discounted by e^-epsilon along the line, from both ends.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "shift"

    def guarantee(self, problem: BoundaryColouring) -> Guarantee:
        """Optimal; with delta > 0 on lines too long for the programme on forests the bound may leave a gap."""
        return (
            Guarantee.OPTIMAL if problem.delta == 0 or refuse_forest(problem) is None else Guarantee.BOUNDED
        )

    def cost(self, problem: BoundaryColouring) -> float:
        """A microsecond a vertex."""
        return 0.02 + 1.5e-6 * problem.graph.size

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other questions, and other graphs than a line with one two-coloured edge."""
        if (sentence := refuse_choice(problem)) is not None:
            return sentence
        if problem.epsilon > LARGEST:
            return f"e to the epsilon of {problem.epsilon:g} nats overflows in its multipliers"
        small = reduced(problem).graph
        degrees = np.diff(small.indptr)
        ends = int((degrees == 1).sum())
        if degrees.max(initial=0) > 2 or ends != 2 or small.edge_count != small.size - 1:
            return "it needs a line of vertices, after colour refinement, and this graph is none; forest takes trees"
        if (crossings := len(small.two_coloured_edges())) != 1:
            return f"it needs one two-coloured edge on the line, this one has {crossings}; forest takes any"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the shifted answer with its multipliers."""
        given = reduced(problem)
        mechanism, value = equal_boundary(problem)
        order = line_order(given.graph)
        stats = {"boundary_value": value[0], "vertices": given.graph.size}
        if problem.delta > 0 and refuse_forest(problem) is None:
            # Values reach 0 and 1, where a recursion no longer knows what is tight; the programme on forests does.
            found = proposal(problem)
            return Proposal(mechanism, found.bound, found.dual, stats=stats)
        chances = _on_line(problem, given, order, value)
        own = given.graph.codes[order] == 0
        reached = float((given.weights[order] * np.where(own, *chances)).sum())
        dual = linear_dual(lifted(given, problem.graph, _table(given, order, chances, problem.guarded)))
        return Proposal(mechanism, reached, dual, stats=stats)


def line_order(graph: DatasetGraph) -> Ints:
    """The vertices of a line, from the end of the first colour to that of the second."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    ends = np.flatnonzero(np.diff(graph.indptr) == 1)
    start = ends[np.argmin(graph.codes[ends])]
    ones = np.ones(len(graph.indices), dtype=np.int8)
    table = csr_array((ones, graph.indices, graph.indptr), shape=(graph.size, graph.size))
    return np.asarray(breadth_first_order(table, int(start), return_predecessors=False), dtype=np.int64)


def _on_line(problem: BoundaryColouring, given: Reduced, order: Ints, value: tuple[float, float]) -> Pair:
    """The shifted answer along the line."""
    one, count = problem.guarded, int((given.graph.codes == 0).sum())
    before = padded(one_side(one, value, 0, count - 1), count - 1)
    rest = len(order) - count - 1
    after = padded(one_side(one, value, 1, rest), rest)
    chances = np.concatenate([before[0][::-1], after[1]])
    return chances, np.concatenate([before[1][::-1], after[0]])


def _table(given: Reduced, order: Ints, values: Pair, one: Step) -> Floats:
    """Multipliers by arc of the line.

    Above the bend the complements grow by e^epsilon towards the second colour, below it the probabilities fall; what a
    vertex gains is passed on along its tight edge, discounted, so both are geometric sums.
    """
    p, r = values
    gains = signed(given.graph.codes, given.weights)[order]
    free = (p > 0) & (r > 0) if one.delta > 0 else np.ones(len(p), dtype=bool)
    after = p[1:]
    left = _discounted(np.where(free, gains, 0.0), one.decay)[:-1]
    right = _discounted(np.where(free, -gains, 0.0)[::-1], one.decay)[::-1][1:]
    above, below = after > one.kink * (1 - BEND), after < one.kink * (1 + BEND)
    # On the edge at the bend both pieces are tight, and its two multipliers share what comes from either side.
    both = above & below
    if one.epsilon > 0:
        shared = (left - one.decay * right, right - one.decay * left)
        scale = -np.expm1(-2 * one.epsilon)
        left, right = (np.where(both, x / scale, y) for x, y in zip(shared, (left, right), strict=True))
    rows = np.zeros((len(after), 4))
    rows[:, 3] = np.where(above & free[:-1], np.maximum(left, 0.0), 0.0)
    rows[:, 0] = np.where(below & free[1:], np.maximum(right, 0.0), 0.0)
    return edge_table(given.graph, np.stack([order[:-1], order[1:]], axis=1), rows)


def _discounted(gains: Floats, decay: float) -> Floats:
    """x_i = decay (gains_i + x_(i-1))."""
    from scipy.signal import lfilter

    return np.asarray(lfilter([decay], [1.0, -decay], gains))

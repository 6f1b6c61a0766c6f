"""Equal values on each boundary: the optimum of a line, pulled back along the distance to the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import Step, step
from privopt.problems.boundary_colouring.boundary import end_pairs, room_of
from privopt.problems.boundary_colouring.problem import BoundaryColouring

ROOM = 2.0**-40
"""Powers of e^epsilon are exact to 1e-13, so a budget lower by this much, relatively, holds exactly."""


@register
@dataclass(frozen=True)
class Line(Solver[BoundaryColouring]):
    """The line recurrence in closed form, with the clips that the published one lacks.

    From a boundary value the first steps multiply by e^epsilon and the others act on the complement. The published
    switch tau is taken at least as -1, else it points beyond the boundary, errors are at least 0, and epsilon = 0 has a
    form of its own. The distance to the boundary maps the graph onto a line, and accuracy carries over.

    Source: the lectures on privacy-utility trade-offs, optimal mechanism on the (n_B, n_R)-line and its pullback.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "line"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """The unique optimum, or a proof that there is none."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Linear in the graph."""
        return 1e-3 + 3e-7 * (problem.graph.size + len(problem.graph.indices))

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse boundaries that are not one number a colour, and more than two colours."""
        if problem.k != 2:
            return f"it is a recurrence for two colours, this graph has {problem.k}"
        if problem.boundary != "balanced" and not isinstance(problem.boundary, tuple):
            return "it needs one value for the boundary of each colour; use propagation for others"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum, or the edge whose ends contradict each other."""
        graph, one = problem.graph, step(problem.epsilon, problem.delta, ROOM)
        witness = _contradiction(problem)
        if witness is not None:
            return Proposal(infeasible=witness)
        errors = _ends(problem, one)
        far = hops(graph.indptr, graph.indices, problem.boundary_sites)
        distances = np.arange(int(far.max(initial=0)) + 1)
        p, r = np.ones(graph.size), np.zeros(graph.size)
        for colour, error in enumerate(errors):
            own = (graph.codes == colour) & (far >= 0)
            right, wrong = orbit(error, one, distances)
            p[own], r[own] = right[far[own]], wrong[far[own]]
        first = graph.codes == 0
        mechanism = problem.two_colours(np.where(first, p, r), np.where(first, r, p))
        return Proposal(mechanism, problem.accuracy(mechanism), {"kind": "envelope"})


def orbit(ends: tuple[float, float], one: Step, distances: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Accuracy and error at each distance from a boundary with these."""
    return one.power(np.full(len(distances), ends[0]), np.full(len(distances), ends[1]), distances)


def _ends(problem: BoundaryColouring, one: Step) -> tuple[tuple[float, float], tuple[float, float]]:
    """Accuracy and error on both boundaries, the second lowered to what the budget with room allows."""
    if not isinstance(problem.boundary, tuple):
        ends = 1.0 - one.kink, one.kink
        return ends, ends
    first, second = end_pairs(problem.boundary, one)
    most = end_pairs((first[0], None), one)[1]
    return first, second if second[1] >= most[1] else most


def _contradiction(problem: BoundaryColouring) -> dict[str, float | int] | None:
    """The ends of a two-coloured edge whose prescribed values are too far apart."""
    edges = problem.graph.two_coloured_edges()
    if not isinstance(problem.boundary, tuple) or not len(edges):
        return None
    first, second = end_pairs(problem.boundary, problem.step)
    p, low = np.array([first[0], second[1]]), np.array([first[1], second[0]])
    most = problem.step.up(p[::-1].copy(), low[::-1].copy())[0]
    over = p - most - room_of(np.stack([p, low], axis=1), problem.step)[:, 0]
    if over.max() <= 0:
        return None
    u, v = edges[0].tolist()
    ends = (u, v) if problem.graph.codes[u] == 0 else (v, u)
    target = int(np.argmax(over))
    return {"source": ends[1 - target], "target": ends[target], "colour": 0}

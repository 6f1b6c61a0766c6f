"""The balanced mechanism: the best worst case on the boundary, and more accurate with every hop from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.hops import hops
from privopt.mechanisms import Colouring
from privopt.problems.boundary_colouring.problem import BoundaryColouring


@register
@dataclass(frozen=True)
class Balanced(Solver[BoundaryColouring]):
    """Closed form in the distance to the boundary, O(V + E).

    The error at distance i is e^(-i eps) (1 - delta) / (1 + e^eps) - delta (1 - e^(-i eps)) / (e^eps - 1), and 0 where
    that is negative: the published formula with the clip that it lacks. It is the one mechanism with the best worst
    case that dominates the others of them.

    Source: the lectures on privacy-utility trade-offs, homogeneous boundary, balanced mechanism.

    Parameters
    ----------
    backend : {"auto", "compiled", "scipy"}
        How distances are found.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "balanced"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """The optimum of a balanced boundary, and of the worst case."""

    backend: str = "auto"

    def cost(self, problem: BoundaryColouring) -> float:
        """Linear in the graph."""
        return 1e-3 + 2e-7 * (problem.graph.size + len(problem.graph.indices))

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other boundaries, unless the worst case is asked for, and more than two colours."""
        if problem.k > 2:
            return f"it is a closed form for two colours, this graph has {problem.k}"
        if problem.prescribed is not None:
            return "it chooses the boundary values itself, this problem prescribes them; use propagation"
        if problem.boundary is None and problem.objective != "worst_case" and len(problem.boundary_sites):
            return "the boundary is free and accuracy is asked for: balanced is not the optimum then"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it, with levels that hold exactly."""
        graph = problem.graph
        far = hops(graph.indptr, graph.indices, problem.boundary_sites, self.backend)
        mechanism = by_distance(problem, (problem.guarded.kink, problem.guarded.kink), far)
        kind = "minimax" if problem.boundary is None else "envelope"
        dual = {"kind": kind if len(problem.boundary_sites) else "trivial"}
        stats = {"farthest": int(far.max(initial=-1)), "levels": len(mechanism.levels)}
        return Proposal(mechanism, problem.accuracy(mechanism), dual, stats=stats)


def by_distance(problem: BoundaryColouring, errors: tuple[float, float], far: NDArray[np.int64]) -> Colouring:
    """The mechanism whose error is a function of colour and distance, from the errors on the two boundaries.

    Vertices that reach no boundary (distance -1) are answered truthfully.
    """
    if problem.k == 1:
        return problem.colouring([[1.0]], np.zeros(len(far), dtype=np.int32))
    depth, own = int(far.max(initial=0)), problem.graph.codes
    first, second = (np.stack(problem.guarded.orbit(1.0 - e, e, depth), axis=1) for e in errors)
    rows = np.concatenate([first, second[:, ::-1], [[1.0, 0.0], [0.0, 1.0]]])
    ends = np.array([len(first), len(second)])
    level = np.minimum(far, ends[own] - 1) + np.array([0, len(first)])[own]
    return problem.colouring(rows, np.where(far < 0, ends.sum() + own, level))

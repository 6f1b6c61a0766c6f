"""Noise on the signed distance from the boundary, and a threshold: two colours, errors by distance."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Proposal
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import TINY
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._equal import by_distance
from privopt.solvers.boundary_colouring._exponential import refuse_free


def refuse_noise(problem: BoundaryColouring) -> str | None:
    """Why noise on a signed distance does not answer a question."""
    if problem.k != 2:
        return f"a signed distance needs 2 colours, the palette of this graph has {problem.k}"
    return refuse_free(problem)


def noisy(problem: BoundaryColouring, at_boundary: float) -> Proposal:
    """Errors ``at_boundary`` e^(-epsilon i) at distance i; none where no boundary is reached."""
    graph, decay = problem.graph, problem.guarded.decay
    far = hops(graph.indptr, graph.indices, problem.boundary_sites)
    errors: Floats = np.power(decay, np.arange(int(far.max(initial=0)) + 1.0)) * at_boundary
    errors = np.maximum(errors, min(TINY, at_boundary))
    return Proposal(by_distance(problem, far, (errors, errors)))

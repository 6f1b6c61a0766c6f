"""Prescribed boundary values, equal or not: the one mechanism that dominates all others that meet them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.envelope import extend, runs, upper
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import GUARD, Pair, Step, step
from privopt.problems.boundary_colouring.boundary import Prescribed
from privopt.problems.boundary_colouring.problem import BoundaryColouring

COORDINATE_GUARD = 2.0**-38
"""Dijkstra on a coordinate may choose between sites that are equal up to rounding, so it needs more room."""


@register
@dataclass(frozen=True)
class Propagation(Solver[BoundaryColouring]):
    """Upper envelope on the first colour, lower envelope on the second, O(V + E + |S| log |S|).

    A site s allows at most U^dist(s, v)(p_s) at v. The smallest of these over all sites is itself private, so it is the
    most that the first colour can have, and likewise below; the two never meet on an edge, because the sites hit every
    two-coloured one.

    Source: the lectures on privacy-utility trade-offs, heterogeneous boundary; extended to values that differ from
    vertex to vertex and to any vertices that hit the two-coloured edges.

    Parameters
    ----------
    backend : {"auto", "two_queue", "coordinate"}
        Two queues (compiled where numba is installed), or SciPy's Dijkstra on a coordinate.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "propagation"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """The unique optimum, or a proof that there is none."""

    backend: str = "auto"

    def cost(self, problem: BoundaryColouring) -> float:
        """Linear in the graph."""
        return 2e-3 + 1e-6 * (problem.graph.size + len(problem.graph.indices))

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse a free boundary and more than two colours."""
        if problem.k > 2:
            return f"it orders the probabilities of one of two colours, this graph has {problem.k}"
        if problem.boundary is None and len(problem.boundary_sites):
            return "it needs values on the boundary, this problem leaves them free"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum, or a pair of sites that contradict each other."""
        values = problem.prescribed or balanced_values(problem)
        graph = (problem.graph.indptr, problem.graph.indices)
        gap = _contradiction(problem, values, self.backend)
        if gap is not None:
            return Proposal(infeasible=gap, stats={"gap": float(gap["gap"])})
        backend = runs(graph, self.backend)
        p, r = extend(
            graph, problem.graph.codes == 0, values.sites, values.pair, self._step(problem), backend
        )
        mechanism = problem.two_colours(p, r)
        stats: dict[str, float | int | str] = {"backend": backend, "sites": len(values.sites)}
        dual = {"kind": "envelope" if problem.boundary is not None else "trivial"}
        return Proposal(mechanism, problem.accuracy(mechanism), dual, stats=stats)

    def _step(self, problem: BoundaryColouring) -> Step:
        if runs((problem.graph.indptr, problem.graph.indices), self.backend) == "two_queue":
            return problem.guarded
        return step(problem.epsilon, problem.delta, max(GUARD, COORDINATE_GUARD))


def balanced_values(problem: BoundaryColouring) -> Prescribed:
    """The same error everywhere on the boundary, a few units of rounding inside."""
    sites, error = problem.boundary_sites, problem.guarded.kink
    own = problem.graph.codes[sites] == 0
    rows = np.stack([np.where(own, 1.0 - error, error), np.where(own, error, 1.0 - error)], axis=1)
    return Prescribed(sites, rows[:, : problem.k])


def _contradiction(
    problem: BoundaryColouring, values: Prescribed, backend: str
) -> dict[str, float | int] | None:
    """Two sites of which the second has more than the first allows, and by how much; None if all agree."""
    if problem.k < 2:
        return None
    graph = (problem.graph.indptr, problem.graph.indices)
    most = np.asarray(upper(graph, values.sites, values.pair, problem.step, backend)[0][values.sites])
    over = values.pair[0] - most
    beyond = over - values.room(problem.step)[:, 0]
    if beyond.max(initial=0.0) <= 0:
        return None
    target = int(np.argmax(beyond))
    source = _source(problem, values, target, float(most[target]))
    return {"source": source, "target": int(values.sites[target]), "colour": 0, "gap": float(over[target])}


def _source(problem: BoundaryColouring, values: Prescribed, target: int, most: float) -> int:
    """The site that allows the target least."""
    here = np.array([values.sites[target]], dtype=np.int64)
    far: NDArray[np.int64] = hops(problem.graph.indptr, problem.graph.indices, here)[values.sites]
    near = np.flatnonzero(far > 0)
    pair: Pair = values.pair[0][near], values.pair[1][near]
    allowed = problem.step.power(*pair, far[near])[0]
    return int(values.sites[near[int(np.argmin(np.abs(allowed - most)))]])

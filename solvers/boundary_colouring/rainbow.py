"""Three colours or more: one law on each region's boundary, continued by prefixes of the order of preference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.bound import prove
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._prefixes import as_colouring, is_private, prefix_laws, responses


@register
@dataclass(frozen=True)
class Rainbow(Solver[BoundaryColouring]):
    """Where laws are prescribed, the least prefix envelope over them; where none are, randomised response on the boundary.

    With one law on the boundary of a region the envelope is private and dominates all others. With several it need not be
    private; then nothing dominates, and no answer is proposed.

    Source: Gu, Zhou, Günlü, D'Oliveira, Sadeghi, Médard, Schaefer, "Generalized Rainbow Differential Privacy", 2023.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "rainbow"

    def guarantee(self, problem: BoundaryColouring) -> Guarantee:
        """Optimal where laws are prescribed and the envelope is private; else feasible."""
        return Guarantee.FEASIBLE if problem.prescribed is None else Guarantee.OPTIMAL

    def cost(self, problem: BoundaryColouring) -> float:
        """A search for each colour and each prefix."""
        return 0.02 + 5e-7 * problem.k**2 * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse two colours."""
        if problem.k < 3:
            return f"it is for 3 colours or more, this graph has {problem.k}; balanced and propagation do two"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the prefix mechanism, if it is private."""
        if problem.prescribed is not None:
            sites, rows = problem.prescribed.sites, problem.prescribed.rows
        else:
            sites = np.flatnonzero(problem.graph.boundary())
            rows = responses(problem)[sites]
        mechanism = as_colouring(problem, prefix_laws(problem, sites, rows))
        if not is_private(problem, mechanism):
            return Proposal(
                stats={"stop": "the envelope of prefixes is not private, so no mechanism dominates"}
            )
        return Proposal(mechanism, *_bound(problem), stats={"levels": len(mechanism.levels)})


def _bound(problem: BoundaryColouring) -> tuple[float | None, Any]:
    dual: dict[str, Any] | None = None
    if problem.prescribed is not None:
        dual = {"kind": "envelope"}
    elif problem.objective == "worst_case":
        dual = {"kind": "minimax"}
    proved = prove(problem, dual)
    return (None, None) if proved is None else (proved[1], dual)

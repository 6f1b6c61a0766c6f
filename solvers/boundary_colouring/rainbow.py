"""Three colours or more: one distribution on each region's boundary, continued by prefixes of the order of preference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.envelope import upper
from privopt.measures.colouring.hops import components
from privopt.measures.colouring.steps import Pair
from privopt.problems.boundary_colouring.bound import prove
from privopt.problems.boundary_colouring.problem import BoundaryColouring

ROUNDING = 1e-12


def prefix_envelope(problem: BoundaryColouring, sites: Ints, rows: Floats, budget: Budget) -> Floats | None:
    """The distribution of every vertex, (n, k), from those on the sites.

    A vertex prefers its own colour, then the others in the order of the palette. A prefix is an event, so at distance i it
    has at most U^i of its probability at a site; the least of these over all sites is taken. None if the
    time is up.
    """
    graph, k = problem.graph, problem.k
    table = np.zeros((graph.size, k))
    for own in range(k):
        members = graph.codes == own
        if not members.any():
            continue
        order = [own, *(c for c in range(k) if c != own)]
        before: Pair = np.zeros(int(members.sum())), np.ones(int(members.sum()))
        for j in range(1, k + 1):
            if budget.remaining == 0:
                return None
            prefix = rows[:, order[:j]].sum(axis=1), rows[:, order[j:]].sum(axis=1)
            high = upper((graph.indptr, graph.indices), sites, prefix, problem.guarded)
            here = (high[0][members], high[1][members]) if j < k else (before[0] * 0 + 1, before[1] * 0)
            gained = np.where(here[0] <= 0.5, here[0] - before[0], before[1] - here[1])
            table[members, order[j - 1]] = np.maximum(gained, 0.0)
            before = here
    return table


def responses(problem: BoundaryColouring) -> Floats:
    """Randomised response among the colours of a vertex's component, (n, k): private between any two of them."""
    graph, one, k = problem.graph, problem.guarded, problem.k
    count, component = components(graph.indptr, graph.indices)
    present = np.zeros((count, k), dtype=bool)
    present[component, graph.codes] = True
    colours = present.sum(axis=1)[component]
    other = (1.0 - one.delta) * one.decay / (1.0 + (colours - 1) * one.decay)
    rows = np.where(present[component], other[:, None], 0.0)
    rows[np.arange(graph.size), graph.codes] = 1.0 - (colours - 1) * other
    return rows


@register
@dataclass(frozen=True)
class Rainbow(Solver[BoundaryColouring]):
    """Where distributions are prescribed, the least prefix envelope over them; where none are, randomised response on the boundary.

    With one distribution on the boundary of a region the envelope is private and dominates all others. With several it need not be
    private; then nothing dominates, and no answer is proposed.

    Source: Gu, Zhou, Günlü, D'Oliveira, Sadeghi, Médard, Schaefer, "Generalized Rainbow Differential Privacy", 2023.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "rainbow"

    def guarantee(self, problem: BoundaryColouring) -> Guarantee:
        """Optimal where distributions are prescribed and the envelope is private; else feasible."""
        return Guarantee.FEASIBLE if problem.prescribed is None else Guarantee.OPTIMAL

    def cost(self, problem: BoundaryColouring) -> float:
        """A search for each colour and each prefix."""
        return 0.02 + 8e-8 * problem.k**2 * (problem.graph.size + problem.graph.edge_count)

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
        envelope = prefix_envelope(problem, sites, rows, budget)
        if envelope is None:
            return Proposal(problem.anchor(), stats={"stop": "out of time"})
        mechanism = problem.of_rows(envelope)
        if problem.adjacent(mechanism).leakage > problem.epsilon + ROUNDING * max(1.0, problem.epsilon):
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

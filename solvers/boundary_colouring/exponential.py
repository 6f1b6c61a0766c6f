"""The exponential mechanism on distances to the colours: as sharp as privacy allows, and at the textbook sharpness."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.hops import colour_hops
from privopt.measures.colouring.reading import level_pairs, smallest_epsilons
from privopt.mechanisms import Colouring
from privopt.problems.boundary_colouring.data import distinct_rows
from privopt.problems.boundary_colouring.problem import BoundaryColouring

MANY = 50_000
"""Vertices beyond which hops are cut."""
NEXT_TO_NOTHING = 40.0
"""Hops are cut where epsilon times them is this, so that a chance of about e^-20 is kept for all that is further away."""
READING = 2e-7
"""Seconds to read a colour of a pair of rows."""
SHARPEST = 700.0
"""Beyond it e^-beta is next to no float."""


@dataclass(frozen=True, eq=False)
class Distances:
    """Distinct rows of hops to each colour (-1: out of reach), the row of each vertex, and which rows meet at edges."""

    rows: Ints
    place: Ints
    pairs: tuple[Ints, Ints]

    def chances(self, beta: float) -> Floats:
        """Chances in proportion to e^(-beta hops), a row for each distinct one."""
        weights = np.where(self.rows >= 0, np.exp(-beta * np.maximum(self.rows, 0)), 0.0)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def leakage(self, beta: float, delta: float) -> float:
        """The smallest epsilon at a sharpness."""
        return float(smallest_epsilons(self.chances(beta), *self.pairs, delta).epsilon.max(initial=0.0))

    def sharpest(self, epsilon: float, delta: float, halvings: int, budget: Budget) -> float:
        """The largest private sharpness between epsilon / 2, which always is private, and twice epsilon or more.

        It ends while there is time for another reading, and for two more to judge what is proposed.
        """
        low, high = epsilon / 2, max(2 * epsilon, 1.0)
        longest = READING * self.rows.shape[1] * len(self.pairs[0])
        while delta > 0 and high < SHARPEST and budget.remaining > 3 * longest:
            begun = time.monotonic()
            private = self.leakage(high, delta) <= epsilon
            longest = max(longest, time.monotonic() - begun)
            if not private:
                break
            low, high = high, 2 * high
        for _ in range(halvings):
            if budget.remaining <= 3 * longest:
                break
            begun, middle = time.monotonic(), (low + high) / 2
            low, high = (middle, high) if self.leakage(middle, delta) <= epsilon else (low, middle)
            longest = max(longest, time.monotonic() - begun)
        return low

    def mechanism(self, problem: BoundaryColouring, beta: float) -> Colouring:
        """The exponential mechanism at a sharpness."""
        return problem.colouring(self.chances(beta), self.place)


@lru_cache(maxsize=4)
def distances(problem: BoundaryColouring) -> Distances:
    """Hops from every vertex to every colour; on large graphs those that are far are as good as out of reach.

    Hops that are cut at a distance still change by at most 1 along an edge.
    """
    graph = problem.graph
    far = colour_hops(graph.indptr, graph.indices, graph.codes, problem.k)
    if len(far) > MANY and problem.guarded.epsilon > 0:
        far = np.minimum(far, math.ceil(NEXT_TO_NOTHING / problem.guarded.epsilon))
    rows, place = distinct_rows(far)
    return Distances(rows, place, level_pairs(graph.indptr, graph.indices, place.astype(np.int32), len(rows)))


def refuse_free(problem: BoundaryColouring) -> str | None:
    """Why a mechanism that sets its own boundary values is none for a problem."""
    if problem.graph.size == 0:
        return "it needs at least one vertex, this graph has none"
    if problem.prescribed is not None:
        return "it sets the boundary values itself, this problem prescribes them"
    return None


@register
@dataclass(frozen=True)
class Exponential(Solver[BoundaryColouring]):
    """The exponential mechanism on distances to the colours, as sharp as privacy allows: any number of colours and vertices.

    Answer c at v in proportion to e^(-beta hops from v to colour c), at the largest private beta by bisection.

    Parameters
    ----------
    halvings : int
        Of the bracket of beta.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "exponential"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    halvings: int = 40

    def cost(self, problem: BoundaryColouring) -> float:
        """A search by colour, then a reading of all distinct pairs of rows in each halving; several pairs a vertex if k > 2."""
        n, edges = problem.graph.size, problem.graph.edge_count
        several = 4.0 if problem.k > 2 else 1.0
        return 0.02 + 2.5e-7 * several * problem.k * (n + edges)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse prescribed values."""
        return refuse_free(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the sharpest such mechanism."""
        far, one = distances(problem), problem.guarded
        halvings = self.halvings if len(far.pairs[0]) < 200_000 else min(self.halvings, 12)
        beta = far.sharpest(one.epsilon, one.delta, halvings, budget)
        return Proposal(far.mechanism(problem, beta), stats={"beta": beta, "rows": len(far.rows)})


@register
@dataclass(frozen=True)
class ExponentialHalf(Solver[BoundaryColouring]):
    """Baseline: the exponential mechanism on distances to the colours at the textbook sharpness, epsilon / 2.

    Distances change by at most 1 along an edge, so e^(-epsilon hops / 2), normalised, is private without delta.

    Source: McSherry, Talwar, "Mechanism Design via Differential Privacy", Theorem 6.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "exponential-half"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE

    def cost(self, problem: BoundaryColouring) -> float:
        """A search by colour."""
        return 0.02 + 4e-7 * problem.k * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse prescribed values."""
        return refuse_free(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it; it does not use delta."""
        beta = problem.guarded.epsilon / 2
        return Proposal(distances(problem).mechanism(problem, beta), stats={"beta": beta})

"""Published baselines: noise on the signed distance from the boundary with a threshold, and randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import TINY
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring.equal_boundary import by_distance
from privopt.solvers.boundary_colouring.exponential import refuse_free


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


@register
@dataclass(frozen=True)
class GeometricThreshold(Solver[BoundaryColouring]):
    """Error e^(-epsilon i) / (1 + e^epsilon) at distance i: the balanced optimum for delta = 0.

    Source: Ghosh, Roughgarden, Sundararajan, "Universally Utility-Maximizing Privacy Mechanisms".
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "geometric-threshold"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """A baseline."""

    def cost(self, problem: BoundaryColouring) -> float:
        """A search over the graph."""
        return 0.02 + 2e-7 * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse more than two colours and prescribed values."""
        return refuse_noise(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it; it does not use delta."""
        one = problem.guarded
        return noisy(problem, one.decay / (1.0 + one.decay))


@register
@dataclass(frozen=True)
class LaplaceThreshold(Solver[BoundaryColouring]):
    """Error e^(-epsilon (i + 1/2)) / 2 at distance i: at every distance cosh(epsilon / 2) times the optimum.

    Source: Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis".
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "laplace-threshold"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """A baseline."""

    def cost(self, problem: BoundaryColouring) -> float:
        """A search over the graph."""
        return 0.02 + 2e-7 * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse more than two colours and prescribed values."""
        return refuse_noise(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it; it does not use delta."""
        return noisy(problem, 0.5 * problem.guarded.decay**0.5)


@register
@dataclass(frozen=True)
class RandomisedResponse(Solver[BoundaryColouring]):
    """The true colour with probability (e^eps + (k - 1) delta) / (e^eps + k - 1), each other one equally likely.

    Source: Warner, "Randomized Response", 1965, for two colours; it does not know the graph.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "randomised-response"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """A baseline."""

    def cost(self, problem: BoundaryColouring) -> float:
        """A row a colour."""
        return 0.01 + 1e-7 * problem.graph.size

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse prescribed values."""
        return refuse_free(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it."""
        return Proposal(problem.colouring(response(problem.k, problem), problem.graph.codes.astype(np.int64)))


def response(k: int, problem: BoundaryColouring) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Row c: the law of the answer where c is true."""
    one = problem.guarded
    other = (1.0 - one.delta) * one.decay / (1.0 + (k - 1) * one.decay)
    rows = np.full((k, k), other)
    np.fill_diagonal(rows, 1.0 - math.fsum([other] * (k - 1)))
    return rows

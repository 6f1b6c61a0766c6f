"""Published baselines: noise on the signed distance from the boundary with a threshold, and randomised response."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.steps import TINY, Pair, Step
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring.closed_forms import by_distance
from privopt.solvers.boundary_colouring.exponential import refuse_free


class _Threshold(Solver[BoundaryColouring]):
    """Two colours: an error on the boundary that falls by e^epsilon with every hop; it does not use delta."""

    solves: ClassVar = BoundaryColouring
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE

    @abstractmethod
    def at_boundary(self, one: Step) -> float:
        """The error on the boundary."""

    def cost(self, problem: BoundaryColouring) -> float:
        """A search over the graph."""
        return 0.02 + 2e-7 * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse more than two colours and prescribed values."""
        if problem.k != 2:
            return f"a signed distance needs 2 colours, the palette of this graph has {problem.k}"
        return refuse_free(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it."""
        one, far = problem.guarded, problem.far
        most = self.at_boundary(one)
        errors = np.power(one.decay, np.arange(int(far.max(initial=0)) + 1.0)) * most
        errors = np.maximum(errors, min(TINY, most))
        side: Pair = 1.0 - errors, errors
        return Proposal(by_distance(problem, far, (side, side)))


@register
@dataclass(frozen=True)
class GeometricThreshold(_Threshold):
    """Baseline: two-sided geometric noise on the signed distance from the boundary, and a threshold.

    Two-sided geometric noise: error e^(-epsilon i) / (1 + e^epsilon) at distance i, the balanced optimum for delta = 0.

    Source: Ghosh, Roughgarden, Sundararajan, "Universally Utility-Maximizing Privacy Mechanisms".
    """

    name: ClassVar[str] = "geometric-threshold"

    def at_boundary(self, one: Step) -> float:
        """1 / (1 + e^epsilon)."""
        return one.decay / (1.0 + one.decay)


@register
@dataclass(frozen=True)
class LaplaceThreshold(_Threshold):
    """Baseline: Laplace noise on the signed distance from the boundary, and a threshold midway.

    Laplace noise, threshold midway: error e^(-epsilon (i + 1/2)) / 2 at distance i, cosh(epsilon / 2) times the optimum.

    Source: Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis".
    """

    name: ClassVar[str] = "laplace-threshold"

    def at_boundary(self, one: Step) -> float:
        """e^(-epsilon / 2) / 2."""
        return 0.5 * math.sqrt(one.decay)


@register
@dataclass(frozen=True)
class RandomisedResponse(Solver[BoundaryColouring]):
    """Baseline: randomised response on the true answer, the same error everywhere.

    The true colour with probability (e^eps + (k - 1) delta) / (e^eps + k - 1), each other one equally likely.

    Source: Warner, "Randomized Response", 1965, for two colours; it does not know the graph.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "randomised-response"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE

    def cost(self, problem: BoundaryColouring) -> float:
        """A row a colour."""
        return 0.01 + 1e-7 * problem.graph.size

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse prescribed values."""
        return refuse_free(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it."""
        one, k = problem.guarded, problem.k
        other = (1.0 - one.delta) * one.decay / (1.0 + (k - 1) * one.decay)
        rows = np.full((k, k), other)
        np.fill_diagonal(rows, 1.0 - math.fsum([other] * (k - 1)))
        return Proposal(problem.colouring(rows, problem.graph.codes.astype(np.int64)))

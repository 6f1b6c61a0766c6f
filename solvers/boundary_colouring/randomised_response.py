"""Baseline: randomised response on the true answer, the same error everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._exponential import refuse_free


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

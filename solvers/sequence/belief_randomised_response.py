"""Baseline: randomised response, which knows nothing of the belief."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.belief_release.problem import BeliefRelease


@register
@dataclass(frozen=True)
class RandomisedResponse(Solver[BeliefRelease]):
    """The letter itself with probability e^epsilon / (e^epsilon + n - 1), any other letter alike.

    It is epsilon-LDP (Warner's randomised response on n letters), and so keeps epsilon for any belief.
    """

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "randomised-response"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """For comparison."""

    def cost(self, problem: BeliefRelease) -> float:
        """A formula."""
        return 1e-3 + 1e-7 * len(problem.letters) ** 2

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse releases that are not the letters."""
        if problem.matrix.shape[0] != problem.matrix.shape[1]:
            return "it releases a letter for a letter, this distortion has other columns"
        return None

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the formula."""
        n, low = len(problem.letters), math.exp(-problem.budget)
        other = low / (1 + (n - 1) * low)
        matrix = other + (1 / (1 + (n - 1) * low) - other) * np.eye(n)
        return Proposal(problem.answer(matrix), stats={"truth": float(matrix[0, 0])})

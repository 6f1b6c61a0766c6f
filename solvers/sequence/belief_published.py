"""Baseline: conditional randomised response as printed, private only where every possible letter is heavy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.solvers.sequence._metric import every_letter_is_heavy


@register
@dataclass(frozen=True)
class Published(Solver[BeliefRelease]):
    """P(y | x) = P(y) / e^epsilon for y other than x, and the rest on x.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Theorem 4. It keeps
    the bounds exactly when every possible letter has belief 1 / (e^epsilon + 1) or more. Elsewhere the formula is taken
    as printed and shown as not private; what it leaks is in the statistics (``raw_leakage``).
    """

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "published"
    repairable: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    def cost(self, problem: BeliefRelease) -> float:
        """A formula."""
        return 1e-3 + 1e-7 * len(problem.letters) ** 2

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse releases that are not the letters."""
        if problem.matrix.shape[0] != problem.matrix.shape[1]:
            return "it releases a letter for a letter, this distortion has other columns"
        return None

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the printed formula."""
        low, n, p = math.exp(-problem.budget), len(problem.letters), problem.p
        matrix = np.where(np.eye(n, dtype=bool), (1.0 - (1.0 - p) * low)[:, None], low * p[None, :])
        heavy = every_letter_is_heavy(problem)
        domain = "every possible letter has belief 1 / (e^epsilon + 1) or more"
        return Proposal(
            problem.answer(matrix), stats={"domain": domain, "inside_domain": "yes" if heavy else "no"}
        )

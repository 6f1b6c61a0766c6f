"""The slow and obvious optimum of a step: the definition, written out pair by pair as a linear programme."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.belief_release.problem import BeliefRelease

MAX_CELLS = 150


@register
@dataclass(frozen=True)
class Oracle(Solver[BeliefRelease]):
    """min E[D] over P(y | x) with e^-epsilon P(y) <= P(y | x) <= e^epsilon P(y) for every possible x, by HiGHS."""

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "oracle"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """Slow and obvious."""

    def cost(self, problem: BeliefRelease) -> float:
        """Cubic in the cells, nearly."""
        return 0.02 + 1e-7 * problem.matrix.size**3

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse more than a few letters, and budgets that its numbers do not hold."""
        if problem.matrix.size > MAX_CELLS:
            return f"it writes {problem.matrix.size} cells out, more than {MAX_CELLS}"
        if 12 < problem.budget < math.inf:
            return "its tolerance is 1e-10, which is too coarse for budgets above 12 nats"
        return None

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the optimal channel."""
        from scipy.optimize import linprog

        (n, m), p, low = problem.matrix.shape, problem.p, math.exp(-problem.budget)
        below = []
        for x in problem.support:
            for y in range(m):
                mine, law = np.zeros((n, m)), np.zeros((n, m))
                mine[x, y], law[:, y] = 1.0, p
                below += [(low * law - mine).ravel(), (low * mine - law).ravel()]
        ones = np.kron(np.eye(n), np.ones(m))
        found = linprog(
            (p[:, None] * problem.matrix).ravel(),
            A_ub=np.array(below),
            b_ub=np.zeros(len(below)),
            A_eq=ones,
            b_eq=np.ones(n),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        matrix = np.clip(np.asarray(found.x).reshape(n, m), 0.0, None)
        matrix *= p @ matrix > 1e-11
        matrix[p == 0] = p @ matrix
        matrix /= matrix.sum(axis=1, keepdims=True)
        return Proposal(
            problem.answer(matrix), stats={"iterations": int(found.nit), "stop": str(found.message)}
        )

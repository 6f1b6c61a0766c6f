"""The reference implementation: every ratio of the definition a row of one program."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.models.metric import Metric
from privopt.problems.post_randomisation.problem import PostRandomisation

MOST_SYMBOLS = 12
MOST_NATS = 20.0
"""Beyond it, coefficients are too large beside 1 for a general solver."""


@register
@dataclass(frozen=True)
class Oracle(Solver[PostRandomisation]):
    """The reference implementation: dense rows, one for each ratio that the definition names, and no bound."""

    solves: ClassVar = PostRandomisation
    name: ClassVar[str] = "oracle"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE

    def cost(self, problem: PostRandomisation) -> float:
        """A dense program."""
        return float(1e-2 + 1e-7 * len(problem.symbols) ** 5)

    def refuse(self, problem: PostRandomisation) -> str | None:
        """Refuse many symbols, and large budgets."""
        if len(problem.symbols) > MOST_SYMBOLS:
            return f"it writes out everything: at most {MOST_SYMBOLS} symbols"
        far = float(problem.notion.distances.max()) if isinstance(problem.notion, Metric) else 1.0
        if not problem.epsilon * far <= MOST_NATS:
            return f"its coefficients span e^epsilon: at most {MOST_NATS} nats"
        return None

    def run(self, problem: PostRandomisation, budget: Budget) -> Proposal:
        """Propose the optimum of the program."""
        from scipy.optimize import linprog

        n, p = len(problem.symbols), problem.observation.p_w
        rows = np.array(list(_forbidden(problem)))
        equations = [np.repeat(np.eye(n)[x], n) for x in range(n)]
        right = [1.0] * n
        for table in problem.kept_floats:
            for y in range(n):
                equations.append(np.outer(table, np.eye(n)[y]).ravel())
                right.append(float(table[y]))
        asked: Any = linprog
        solved = asked(
            (p[:, None] * problem.costs).ravel(), rows, np.zeros(len(rows)), np.array(equations), right
        )
        if solved.x is None:
            return Proposal(stats={"program": str(solved.message)})
        matrix = np.clip(solved.x.reshape(n, n), 0.0, 1.0)
        matrix /= matrix.sum(axis=1, keepdims=True)
        kept = problem.preserving(matrix)
        return Proposal(problem.answer(matrix) if kept is None else kept)


def _forbidden(problem: PostRandomisation) -> list[Floats]:
    """Rows that must not be positive: of every pair and release, as the definitions say."""
    n, p = len(problem.symbols), problem.observation.p_w
    unit = np.eye(n)
    if isinstance(problem.notion, Metric):
        apart = problem.notion.distances
        pairs = [
            (unit[a], unit[b], math.exp(problem.epsilon * apart[a, b])) for a in range(n) for b in range(n)
        ]
    else:
        table = problem.joint.table[problem.joint.table.sum(axis=1) > 0]
        given = table / table.sum(axis=1, keepdims=True)
        factor = math.exp(problem.epsilon)
        if problem.notion == "ldp":
            pairs = [(a, b, factor) for a in given for b in given]
        else:
            pairs = [pair for a in given for pair in ((a, p, factor), (p, a, factor))]
    return [
        np.asarray(np.outer(a - factor * b, unit[y]).ravel(), dtype=np.float64)
        for a, b, factor in pairs
        for y in range(n)
    ]

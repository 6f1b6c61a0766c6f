"""The reference implementation: every pair, every release, one linear program."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.metric_privacy.bound import dual_of
from privopt.problems.metric_privacy.problem import MetricPrivacy

MOST_ROWS = 20_000
MOST_NATS = 20.0
"""Beyond it, coefficients are too large beside 1 for a general solver."""


@register
@dataclass(frozen=True)
class Oracle(Solver[MetricPrivacy]):
    """Every probability a variable, every ordered pair and output a row, as the definition says; nothing else is used."""

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "oracle"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE

    def cost(self, problem: MetricPrivacy) -> float:
        """Grows with the square of the rows."""
        _, outputs, pairs = problem.sizes
        return float(0.01 + 2e-9 * (pairs * outputs) ** 2)

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse large programs and budgets."""
        _, outputs, pairs = problem.sizes
        if 2 * pairs * outputs > MOST_ROWS:
            return f"it writes out everything: {2 * pairs * outputs} rows, at most {MOST_ROWS}"
        if problem.epsilon * float(problem.pairs.distance.max(initial=0.0)) > MOST_NATS:
            return f"its coefficients span e^(epsilon distance): at most {MOST_NATS} nats"
        return "an infinite budget has no program" if problem.epsilon == math.inf else None

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose the optimum."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        n, m = problem.losses.shape
        pairs = problem.pairs
        growth = np.exp(problem.epsilon * pairs.distance)
        first = np.concatenate([pairs.first, pairs.second])
        second = np.concatenate([pairs.second, pairs.first])
        factor, count = np.repeat(np.concatenate([growth, growth]), m), 2 * len(pairs) * m
        outputs, rows = np.tile(np.arange(m), 2 * len(pairs)), np.arange(count)
        columns = np.repeat(first, m) * m + outputs, np.repeat(second, m) * m + outputs
        entries = np.concatenate([np.ones(count), -factor]), (np.tile(rows, 2), np.concatenate(columns))
        sums = coo_array((np.ones(n * m), (np.repeat(np.arange(n), m), np.arange(n * m))), shape=(n, n * m))
        program: Any = linprog  # its stubs leave out sparse matrices
        solved = program(
            (problem.p[:, None] * problem.losses).ravel(),
            A_ub=coo_array(entries, shape=(count, n * m)).tocsr() if count else None,
            b_ub=np.zeros(count) if count else None,
            A_eq=sums.tocsr(),
            b_eq=np.ones(n),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if solved.x is None:
            return Proposal(stats={"program": str(solved.message)})
        prices = np.maximum(-np.asarray(solved.ineqlin.marginals), 0.0) if count else np.zeros(0)
        used = prices > 0
        dual = dual_of(np.repeat(first, m)[used], np.repeat(second, m)[used], outputs[used], prices[used])
        matrix = np.clip(solved.x.reshape(n, m), 0.0, 1.0)
        return Proposal(
            problem.answer(matrix / matrix.sum(axis=1, keepdims=True)),
            problem.check_bound(-math.inf, dual),
            dual,
        )

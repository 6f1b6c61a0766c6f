"""The optimal local redaction of a binary chain with one private record, with a proved bound."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.bound import lower_cost
from privopt.problems.redaction.dual import setting, utility_bound
from privopt.problems.redaction.problem import Redaction
from privopt.problems.redaction.sides import sides
from privopt.solvers.redaction._reach import misses_side_information
from privopt.solvers.redaction.two_sides import best_mechanism

TARGET = 5e-7
"""Share of the utility that the bound may leave open."""


@register
@dataclass(frozen=True)
class Optimal(Solver[Redaction]):
    """Every stationary point of a scalar control problem on each side, and every way to share the budget.

    The optimum redacts near, releases far, and between them releases one label with a probability that
    grows with distance; with records on both sides it may release different labels on the two. The bound
    comes from piecewise linear value tables, which the problem computes again by itself.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "optimal"

    bound: bool = True

    def guarantee(self, problem: Redaction) -> Guarantee:
        """Bounded: the gap is stated, and closed on small and fast-mixing chains."""
        return Guarantee.BOUNDED if self.bound else Guarantee.FEASIBLE

    def cost(self, problem: Redaction) -> float:
        """Fractions of a second, growing with the records that the private one still influences."""
        return 0.3 + 1e-3 * min(problem.length, 2000)

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse more than two states or several private records."""
        if problem.chain.k != 2:
            return f"it needs a chain of 2 states, this one has {problem.chain.k}"
        if problem.form != "local":
            return f"it optimises local mechanisms, this problem asks for form {problem.form!r}"
        if len(problem.private) > 1:
            return f"it protects one private record, this problem has {len(problem.private)}"
        return misses_side_information(problem)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the optimum and a bound; half of the time at least is left for the bound."""
        (p,) = problem.private
        if np.count_nonzero(problem.chain.marginal(p)) < 2:
            return Proposal(problem.answer(np.zeros((problem.length, 2))), 1.0, {})
        left, right = sides(problem, p)
        stop = budget.remaining / 2
        found = best_mechanism(left, right, problem.epsilon, lambda: max(0.0, budget.remaining - stop))
        table = np.ones((problem.length, 2))
        table[:p], table[p + 1 :] = found[0][::-1], found[1]
        mechanism = problem.answer(np.clip(table, 0.0, 1.0))
        stats = {k: v for k, v in asdict(found[2]).items() if k != "cost"}
        budget.progress(0.5, "mechanism found, bounding")
        if not self.bound or math.isinf(problem.epsilon):
            return Proposal(mechanism, stats=stats)
        try:
            known = setting(problem, lambda: 0.8 * budget.remaining)
            cost, dual = lower_cost(known, _target(problem, table), lambda: 0.8 * budget.remaining)
        except (ArithmeticError, TimeoutError) as cause:
            stats["no tables"] = str(cause) or "out of time"
            return Proposal(mechanism, utility_bound(problem, 0.0)[1], {}, stats=stats)
        return Proposal(mechanism, utility_bound(problem, cost, known)[1], dual, stats=stats)


def _target(problem: Redaction, table: NDArray[np.float64]) -> float:
    """Utility that the bound may leave open: a share of what the mechanism reaches."""
    reached = problem.evaluate(problem.answer(table)).utility
    return TARGET * max(min(1.0, reached), 1e-6)

"""The convex relaxation of 3R, solved exactly, with the split of the budget searched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt._registry import register
from privopt._solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction import Redaction
from privopt.solvers.redaction._isotonic import best_split
from privopt.solvers.redaction._reach import both_sides, influences, possible_values

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-9
"""Share of epsilon below which an influence is not followed any farther."""


@register
@dataclass(frozen=True)
class Relaxation(Solver[Redaction]):
    """Redact near, release far, and in between release only the values that tell little.

    Massny, Bitar, Ye, El Rouayheb, Section IV-B and Appendix A: their upper bound on the leakage makes
    the problem convex, and its solution is an isotonic regression. Any number of states, weighted
    records, and chains that change from step to step. For several private records the record-wise
    maximum of the single solutions is private for each of them (Footnote 1), though it can cost much.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "relaxation"
    interruptible: ClassVar[bool] = True

    def guarantee(self, problem: Redaction) -> Guarantee:
        """Feasible: the relaxation bounds the leakage from above, so it says nothing of the optimum."""
        return Guarantee.FEASIBLE

    def cost(self, problem: Redaction) -> float:
        """A few hundred isotonic regressions per private record."""
        return len(problem.private) * (0.03 + 1e-3 * min(problem.length, 5000) * problem.chain.k)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the record-wise maximum over the private records."""
        table = np.zeros((problem.length, problem.chain.k))
        law = problem.chain.marginals(problem.length) * problem.record_weights[:, None]
        for i, p in enumerate(problem.private):
            table = np.maximum(table, _single(problem, p, law, budget))
            budget.progress((i + 1) / len(problem.private), f"private record {p}")
        return Proposal(problem.answer(table))


def _single(problem: Redaction, private: int, law: Floats, budget: Budget) -> Floats:
    """Redaction probabilities that protect one private record."""
    table = np.ones_like(law)
    possible = possible_values(problem, private)
    if len(possible) < 2 or math.isinf(problem.epsilon):
        table[:] = 0.0
        table[private] = float(len(possible) > 1)
        return table
    weights = (law[:private][::-1], law[private + 1 :])
    reached = [
        influences(steps, possible, NEGLIGIBLE * problem.epsilon, lambda: budget.remaining / 2).reshape(
            -1, problem.chain.k
        )
        for steps in both_sides(problem, private)
    ]
    near = [weight[: len(reach)] for weight, reach in zip(weights, reached, strict=True)]
    chosen = best_split(reached[0], near[0], reached[1], near[1], problem.epsilon, lambda: budget.remaining)
    for side, view in zip(chosen, (table[:private][::-1], table[private + 1 :]), strict=True):
        view[: len(side)] = side
        # Beyond the records followed, release only if the last of them is released whole.
        view[len(side) :] = 0.0 if len(side) and not side[-1].any() else 1.0
    return table

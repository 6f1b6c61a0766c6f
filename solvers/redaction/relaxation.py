"""The convex relaxation of 3R, solved exactly, with the split of the budget searched."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._reach import both_sides, influences, misses_side_information, possible_values
from privopt.solvers.redaction.isotonic import best_split

Choice: TypeAlias = Callable[[list[Floats], list[Floats]], tuple[Floats, Floats]]

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
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: the relaxation bounds the leakage from above, so it says nothing of the optimum."""

    def cost(self, problem: Redaction) -> float:
        """A few hundred isotonic regressions per private record."""
        return len(problem.private) * (0.03 + 1e-3 * min(problem.length, 5000) * problem.chain.k)

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse an adversary who knows other records."""
        return misses_side_information(problem)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the record-wise maximum over the private records."""

        def choose(near: list[Floats], weights: list[Floats]) -> tuple[Floats, Floats]:
            return best_split(
                near[0], weights[0], near[1], weights[1], problem.epsilon, lambda: budget.remaining
            )

        table = np.zeros((problem.length, problem.chain.k))
        for i, p in enumerate(problem.private):
            table = np.maximum(table, protect(problem, p, choose, lambda: budget.remaining / 2))
            budget.progress((i + 1) / len(problem.private), f"private record {p}")
        return Proposal(problem.answer(table))


def protect(
    problem: Redaction, private: int, choose: Choice, remaining: Callable[[], float] = lambda: math.inf
) -> Floats:
    """Redaction probabilities that protect one private record, sides chosen from what nearer records tell.

    ``choose`` gets the influences and the weights of both sides, as far as they are not negligible, and
    returns the redaction probabilities of each.
    """
    law = problem.chain.marginals(problem.length) * problem.record_weights[:, None]
    possible = possible_values(problem, private)
    if len(possible) < 2 or math.isinf(problem.epsilon):
        return np.zeros_like(law)
    table = np.ones_like(law)
    near = [
        influences(steps, possible, NEGLIGIBLE * problem.epsilon, remaining).reshape(-1, problem.chain.k)
        for steps in both_sides(problem, private)
    ]
    weights = [law[:private][::-1][: len(near[0])], law[private + 1 :][: len(near[1])]]
    views = (table[:private][::-1], table[private + 1 :])
    for side, view in zip(choose(near, weights), views, strict=True):
        view[: len(side)] = side
        # Beyond the records followed, release only if the last of them is released whole.
        view[len(side) :] = 0.0 if len(side) and not side[-1].any() else 1.0
    return table

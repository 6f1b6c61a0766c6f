"""One redaction probability a side for all medium records, as small as the exact leakage allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._constant import Arm
from privopt.solvers.redaction._constant_pairs import PairSearch
from privopt.solvers.redaction._reach import both_sides, influences, misses_side_information, possible_values
from privopt.solvers.redaction.windows import Windows

NOISE = 1e-13
"""Budget below which differences of logarithms mean nothing, and the best window is proposed."""
NEGLIGIBLE = 1e-9
"""Share of epsilon below which an influence is not followed any farther."""


@register
@dataclass(frozen=True)
class ConstantSearch(Solver[Redaction]):
    """The numerically optimised 3R mechanism: constants against the exact leakage, every region tried.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section V,
    search the constant on a grid; leakage falls as it rises, so it is bisected here. Regions jump with
    the budget and a larger one can be worse, so those of all smaller budgets are tried on both sides,
    whose leakages are added by direction. Any number of states.

    Parameters
    ----------
    all_regions : bool
        False keeps the published regions: those of epsilon where the private record is at an end of the
        chain, otherwise those of half of it on each side.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "constant-search"
    interruptible: ClassVar[bool] = True

    all_regions: bool = True

    def guarantee(self, problem: Redaction) -> Guarantee:
        """Feasible: it bounds nothing outside its family."""
        return Guarantee.FEASIBLE

    def cost(self, problem: Redaction) -> float:
        """Some dozen regions a side, each walked for some dozen constants."""
        return 0.05 + 2e-3 * min(problem.length, 500) * problem.chain.k

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse several private records and mechanisms that are not local."""
        if len(problem.private) > 1:
            return f"it protects one private record, this problem has {len(problem.private)}"
        if problem.form != "local":
            return f"it searches local mechanisms, this problem asks for form {problem.form!r}"
        return misses_side_information(problem)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best constants found."""
        if problem.epsilon < NOISE:
            return Windows().run(problem, budget)
        (p,) = problem.private
        table, possible = np.zeros((problem.length, problem.chain.k)), possible_values(problem, p)
        if len(possible) < 2:
            return Proposal(problem.answer(table))
        table[p] = 1.0
        law = problem.chain.marginals(problem.length) * problem.record_weights[:, None]
        views, arms = [], list[Arm]()
        for steps, again, rows, weights in zip(
            both_sides(problem, p),
            both_sides(problem, p),
            (table[:p][::-1], table[p + 1 :]),
            (law[:p][::-1], law[p + 1 :]),
            strict=True,
        ):
            if len(rows):
                told = influences(again, possible, NEGLIGIBLE * problem.epsilon)
                views.append(rows)
                arms.append(Arm.of(steps, told, weights, possible))
        search = PairSearch(arms, problem.epsilon, budget, self.all_regions)
        for arm, rows, (threshold, constant) in zip(arms, views, search.best(), strict=True):
            rows[: len(arm.told)] = arm.rows(threshold, constant)
            rows[len(arm.told) :] = float(threshold < 0)
        return Proposal(problem.answer(table), stats={"pairs of regions": search.pairs})

"""The published closed form of 3R: one redaction probability for all medium records of a side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._reach import both_sides, influences, misses_side_information, possible_values

NEGLIGIBLE = 1e-9
"""Share of a side's budget below which an influence is not followed any farther."""


@register
@dataclass(frozen=True)
class ConstantClosedForm(Solver[Redaction]):
    """Release far records, hide near ones, and between them hide the less telling values with probability q.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section
    IV-B: q is the largest of exp(-(e - delta_i) / i), delta_i being what the first release beyond the
    i-th medium record can tell and e the budget of the side. It is private, and never better than
    ``relaxation``. Any number of states, and chains that change from step to step.

    Parameters
    ----------
    share : float
        Part of epsilon that the left side may use, in [0, 1]; a private record at an end leaves all of
        it to the only side.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "constant-closed-form"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    share: float = 0.5

    def cost(self, problem: Redaction) -> float:
        """One walk to where the influence fades."""
        return 5e-4 + 4e-5 * min(problem.length, 2000) * problem.chain.k**2

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse several private records, and a share that is none."""
        if len(problem.private) > 1:
            return f"it protects one private record, this problem has {len(problem.private)}"
        if not 0 <= self.share <= 1:
            return f"share must be a part of the budget in 0 .. 1, got {self.share}"
        return misses_side_information(problem)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the constants."""
        (p,) = problem.private
        table, possible = np.zeros((problem.length, problem.chain.k)), possible_values(problem, p)
        if len(possible) < 2:
            return Proposal(problem.answer(table))
        table[p] = 1.0
        share = self.share if 0 < p < problem.length - 1 else float(p > 0)
        views, stats = (table[:p][::-1], table[p + 1 :]), dict[str, float]()
        parts = (
            share * problem.epsilon if share else 0.0,
            (1 - share) * problem.epsilon if share < 1 else 0.0,
        )
        for name, steps, view, part in zip(
            ("q_left", "q_right"), both_sides(problem, p), views, parts, strict=True
        ):
            if len(view):
                told = influences(steps, possible, NEGLIGIBLE * part)
                stats[name] = closed_form(told, part)
                released = told <= part
                view[: len(told)] = fill(released, stats[name])
                view[len(told) :] = 0.0 if released[-1].all() else 1.0
        return Proposal(problem.answer(table), stats=stats)


def closed_form(told: Floats, budget: float) -> float:
    """The constant of one side, 1 if no record is medium; ``told`` is the influence ``(m, k)``."""
    released = told <= budget
    whole = released.all(axis=1)
    small = int(np.argmax(whole)) if whole.any() else len(told)
    medium = np.cumsum(released[:small].any(axis=1))
    if not medium.any():
        return 1.0
    telling = np.append(np.where(released, told, 0.0).max(axis=1), 0.0)[1 : small + 1]
    exponents = (budget - telling[medium > 0]) / medium[medium > 0]
    return float(np.exp(-exponents.min()))


def fill(released: NDArray[np.bool_], constant: float) -> Floats:
    """Redaction probabilities by distance: 0 from the first record released whole on."""
    rows = np.where(released, constant, 1.0)
    whole = released.all(axis=1)
    rows[int(np.argmax(whole)) if whole.any() else len(rows) :] = 0.0
    return rows

"""The best release for a distortion by one sparse linear programme over P(y | w)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy._linear import Programme, matrix_from_joint, programme
from privopt.solvers.local_information_privacy._vertex_form import linear_bound
from privopt.solvers.local_information_privacy._whole import ANALYTIC, independent, whole_release

MAX_CELLS = 30_000_000
"""Entries of the constraint matrix beyond which the programme does not fit in memory or time."""

TOLERANCE = 1e-10
"""Of HiGHS, on rows and on reduced costs."""


@register
@dataclass(frozen=True)
class DirectLp(Solver[LocalInformationPrivacy]):
    """For a distortion: one sparse linear programme over the channel, with nothing enumerated.

    The bounds on a release are linear in P(y | w) (the lectures on privacy-utility trade-offs), and so is
    the distortion. The multipliers of the bounds prove the optimum by weak duality.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "direct-lp"

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for delta = 0."""
        return Guarantee.OPTIMAL if problem.delta == 0 else Guarantee.FEASIBLE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """Grows a little faster than the entries of the constraint matrix."""
        return 0.05 + 2.5e-6 * programme(problem).cells * (1 + len(programme(problem).rows) / 40)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities, perfect privacy and what does not fit."""
        if problem.matrix is None:
            return "it minimises a distortion matrix, this utility is not linear in the channel"
        if independent(problem) and whole_release(problem) is None:
            return "floats cannot make the release exactly independent of the secret; perfect-privacy does"
        if (cells := programme(problem).cells) > MAX_CELLS:
            return f"its programme has {cells:.1e} entries, more than {MAX_CELLS:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the optimal channel with the multipliers of the bounds."""
        if (whole := whole_release(problem)) is not None:
            return whole
        return _solved(problem, programme(problem), 0.9 * budget.remaining)


def _solved(problem: LocalInformationPrivacy, given: Programme, seconds: float) -> Proposal:
    from scipy.optimize import linprog

    k, m = given.cost.shape
    found = linprog(
        given.cost.ravel(),
        A_ub=given.inequalities(),
        b_ub=np.zeros(len(given.rows) * m),
        A_eq=given.equations(),
        b_eq=given.law,
        method="highs-ds",
        options={
            "time_limit": seconds,
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    stats: dict[str, float | int | str] = {
        "iterations": int(found.nit),
        "vertices": 0,
        "stop": str(found.message),
    }
    if found.x is None:
        return Proposal(problem.safe(), analytic_bound(problem), ANALYTIC, stats=stats)
    channel = problem.answer(matrix_from_joint(problem, found.x.reshape(k, m)))
    if problem.delta > 0:
        return Proposal(channel, analytic_bound(problem), ANALYTIC, stats=stats)
    multipliers = np.maximum(-found.ineqlin.marginals, 0.0).reshape(len(given.rows), m).T
    dual = {"kind": "linear", "multipliers": multipliers.tolist()}
    return Proposal(channel, linear_bound(problem, multipliers), dual, stats=stats)

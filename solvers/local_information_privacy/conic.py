"""The linear program of a distortion through conic back ends, for comparison with exact vertices of the simplex."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import (
    matrix_from_joint,
    too_many_rows,
    whole_release,
)
from privopt.solvers.local_information_privacy.direct_lp import Program, program

Backend = Literal["ecos", "scs", "clarabel"]

NOISE = 1e-6
"""Probability of a release below which its posterior is noise of the back end."""

MAX_CELLS = {"ecos": 3_000_000, "scs": 2_000_000, "clarabel": 6_000_000}
"""Entries of the constraint matrix beyond which a back end takes minutes."""


class Conic(Solver[LocalInformationPrivacy]):
    """The linear program over the channel, solved by one conic back end through CVXPY.

    What the back end returns is proposed but for columns of almost no probability, which are its noise. It may
    miss the bounds by its tolerance, which is absolute where bounds on lifts are relative.
    """

    solves: ClassVar = LocalInformationPrivacy
    backend: ClassVar[Backend]
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """For comparison: what a back end returns breaks the budget by its tolerance."""

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """A process of its own with CVXPY, and the program."""
        return 2.0 + 2e-5 * program(problem).cells

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities and large programs."""
        if problem.matrix is None:
            return "it minimises a distortion matrix, this utility is not linear in the channel"
        if (reason := too_many_rows(problem)) is not None:
            return reason
        if (cells := program(problem).cells) > MAX_CELLS[self.backend]:
            return f"its program has {cells:.1e} entries, more than {MAX_CELLS[self.backend]:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose what the back end returns."""
        if (whole := whole_release(problem)) is not None:
            return Proposal(whole.mechanism, stats=whole.stats)
        joint, stats = _solve(program(problem), self.backend)
        return Proposal(problem.answer(matrix_from_joint(problem, joint, NOISE)), stats=stats)


def _solve(lp: Program, backend: Backend) -> tuple[Any, dict[str, float | int | str]]:
    """The joint distribution q(w, y), with negative entries cut off."""
    import cvxpy

    cp: Any = cvxpy  # its types leave out most functions
    q = cp.Variable(lp.cost.shape, nonneg=True)
    bounds = [lp.rows @ q <= 0, cp.sum(q, axis=1) == lp.marginal]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(lp.cost, q))), bounds)
    with warnings.catch_warnings():
        # An inaccurate answer says so in its status, which goes into the statistics.
        warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
        _call(problem, backend)
    if q.value is None or problem.solver_stats is None:
        raise ArithmeticError(f"{backend} ended with status {problem.status!r} and no solution")
    stats: dict[str, float | int | str] = {
        "iterations": problem.solver_stats.num_iters or 0,
        "vertices": 0,
        "stop": str(problem.status),
    }
    return np.maximum(q.value, 0.0), stats


def _call(problem: Any, backend: Backend) -> None:
    """Solve to tight tolerances; CVXPY leaves ``solve`` untyped."""
    if backend == "ecos":
        problem.solve(solver="ECOS", abstol=1e-10, reltol=1e-10, feastol=1e-10, max_iters=300)
    elif backend == "scs":
        problem.solve(solver="SCS", eps_abs=1e-9, eps_rel=1e-9, max_iters=50_000)
    else:
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


@register
@dataclass(frozen=True)
class ConicClarabel(Conic):
    """The linear program of a distortion through CVXPY and Clarabel.

    The linear program of a distortion by Clarabel, an interior-point method.
    """

    name: ClassVar[str] = "conic-clarabel"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "clarabel")
    backend: ClassVar[Backend] = "clarabel"
    interruptible: ClassVar[bool] = False


@register
@dataclass(frozen=True)
class ConicECOS(Conic):
    """The linear program of a distortion through CVXPY and ECOS.

    The linear program of a distortion by ECOS, an interior-point method.
    """

    name: ClassVar[str] = "conic-ecos"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "ecos")
    backend: ClassVar[Backend] = "ecos"
    interruptible: ClassVar[bool] = False


@register
@dataclass(frozen=True)
class ConicSCS(Conic):
    """The linear program of a distortion through CVXPY and SCS.

    The linear program of a distortion by SCS, a first-order method.
    """

    name: ClassVar[str] = "conic-scs"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "scs")
    backend: ClassVar[Backend] = "scs"
    interruptible: ClassVar[bool] = False

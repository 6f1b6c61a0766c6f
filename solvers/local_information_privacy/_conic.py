"""The linear programme of a distortion through a conic back end, for comparison with exact vertices of the simplex."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np

from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy._linear import Programme, matrix_from_joint, programme
from privopt.solvers.local_information_privacy._whole import whole_release

Backend = Literal["ecos", "scs", "clarabel"]

NOISE = 1e-6
"""Probability of a release below which its posterior is noise of the back end."""

MAX_CELLS = {"ecos": 3_000_000, "scs": 2_000_000, "clarabel": 6_000_000}
"""Entries of the constraint matrix beyond which a back end takes minutes."""


class Conic(Solver[LocalInformationPrivacy]):
    """The linear programme over the channel, solved by one conic back end through CVXPY.

    What the back end returns is proposed but for columns of almost no probability, which are its noise. It may
    miss the bounds by its tolerance, which is absolute where bounds on lifts are relative.
    """

    solves: ClassVar = LocalInformationPrivacy
    backend: ClassVar[Backend]
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """For comparison: what a back end returns breaks the budget by its tolerance."""

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """A process of its own with CVXPY, and the programme."""
        return 2.0 + 2e-5 * programme(problem).cells

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities and large programmes."""
        if problem.matrix is None:
            return "it minimises a distortion matrix, this utility is not linear in the channel"
        if (cells := programme(problem).cells) > MAX_CELLS[self.backend]:
            return f"its programme has {cells:.1e} entries, more than {MAX_CELLS[self.backend]:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose what the back end returns."""
        if (whole := whole_release(problem)) is not None:
            return Proposal(whole.mechanism, stats=whole.stats)
        joint, stats = _solve(programme(problem), self.backend)
        return Proposal(problem.answer(matrix_from_joint(problem, joint, NOISE)), stats=stats)


def _solve(given: Programme, backend: Backend) -> tuple[Any, dict[str, float | int | str]]:
    """The joint law q(w, y), with negative entries cut off."""
    import cvxpy

    cp: Any = cvxpy  # its types leave out most functions
    q = cp.Variable(given.cost.shape, nonneg=True)
    bounds = [given.rows @ q <= 0, cp.sum(q, axis=1) == given.law]
    asked = cp.Problem(cp.Minimize(cp.sum(cp.multiply(given.cost, q))), bounds)
    with warnings.catch_warnings():
        # An inaccurate answer says so in its status, which goes into the statistics.
        warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
        _call(asked, backend)
    if q.value is None or asked.solver_stats is None:
        raise ArithmeticError(f"{backend} ended with status {asked.status!r} and no solution")
    stats: dict[str, float | int | str] = {
        "iterations": asked.solver_stats.num_iters or 0,
        "vertices": 0,
        "stop": str(asked.status),
    }
    return np.maximum(q.value, 0.0), stats


def _call(asked: Any, backend: Backend) -> None:
    """Solve to tight tolerances; CVXPY leaves ``solve`` untyped."""
    if backend == "ecos":
        asked.solve(solver="ECOS", abstol=1e-10, reltol=1e-10, feastol=1e-10, max_iters=300)
    elif backend == "scs":
        asked.solve(solver="SCS", eps_abs=1e-9, eps_rel=1e-9, max_iters=50_000)
    else:
        asked.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)

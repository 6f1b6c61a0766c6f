"""The relaxation's convex programs through a conic back end, for comparison with the isotonic solution.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV-B.

The variables are the prefix sums U of ``u = -log q``: the budget constraints are then bounds on single variables and
``u >= 0`` couples neighbours only, so the constraints have fewer than 3 m entries, where sums of u would need m^2 / 2.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction.reach import refusal
from privopt.solvers.redaction.relaxation import (
    Relaxation,
    Sides,
    best_split,
    protect,
    with_regions,
)

Backend = Literal["ecos", "scs", "clarabel"]


class Conic(Solver[Redaction]):
    """The relaxation with its regions and its split of the budget, solved by one conic back end.

    What the back end returns is proposed as it is: it may miss the budget by its tolerance.
    """

    solves: ClassVar = Redaction
    backend: ClassVar[Backend]
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """For comparison: the isotonic solution of the same programs is ``relaxation``, exact and a hundred times faster."""

    def cost(self, problem: Redaction) -> float:
        """What the relaxation costs, a process of its own with CVXPY, and the programs."""
        return 1.5 + Relaxation().cost(problem) + 2e-4 * len(problem.private) * min(problem.length, 50_000)

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse an adversary who knows other records."""
        return refusal(problem)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the record-wise maximum over the private records."""
        table, programs = np.zeros((problem.length, problem.chain.k)), _Programs(self.backend)
        for p in problem.private:
            choice = protect(problem, p, lambda near, w: programs.choose(near, w, problem.epsilon))
            table = np.maximum(table, choice)
        stats: dict[str, float | int | str] = {
            "status": ", ".join(sorted(programs.statuses)) or "no program",
            "programs": programs.count,
            "iterations": programs.iterations,
        }
        return Proposal(problem.answer(table), stats=stats)


@register
@dataclass(frozen=True)
class ConicClarabel(Conic):
    """The convex relaxation of 3R through CVXPY and Clarabel.

    The published convex program by Clarabel, an interior-point method.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV-B and
    Appendix A. Regions and split of the budget are those of ``relaxation``.
    """

    name: ClassVar[str] = "conic-clarabel"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "clarabel")
    backend: ClassVar[Backend] = "clarabel"


@register
@dataclass(frozen=True)
class ConicECOS(Conic):
    """The convex relaxation of 3R through CVXPY and ECOS.

    The published convex program by ECOS, an interior-point method.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV-B and
    Appendix A. Regions and split of the budget are those of ``relaxation``.
    """

    name: ClassVar[str] = "conic-ecos"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "ecos")
    backend: ClassVar[Backend] = "ecos"


@register
@dataclass(frozen=True)
class ConicSCS(Conic):
    """The convex relaxation of 3R through CVXPY and SCS.

    The published convex program by SCS, a first-order method.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV-B and
    Appendix A. Regions and split of the budget are those of ``relaxation``.
    """

    name: ClassVar[str] = "conic-scs"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "scs")
    backend: ClassVar[Backend] = "scs"


@dataclass
class _Programs:
    """Solves programs by one back end and counts what that took."""

    backend: Backend
    count: int = 0
    iterations: int = 0
    statuses: set[str] = field(default_factory=set)

    def choose(self, near: Sides, weights: Sides, epsilon: float) -> Sides:
        """Both sides with the regions and the split of the isotonic search."""
        left, right, share = best_split(near, weights, epsilon)
        return (
            with_regions(near[0], weights[0], share, left.threshold, self.solve),
            with_regions(near[1], weights[1], epsilon - share, right.threshold, self.solve),
        )

    def solve(self, bounds: Floats, weights: Floats) -> Floats:
        """See :func:`solve_side`."""
        import cvxpy as cp
        from cvxpy.atoms.elementwise.exp import exp
        from scipy import sparse

        self.count += 1
        m, weighty = len(bounds), np.flatnonzero(weights)
        if not len(weighty):
            self.statuses.add("weightless")
            return np.zeros(m)
        prefix = cp.Variable(m)
        u = cp.Constant(sparse.eye_array(m) - sparse.eye_array(m, k=-1)) @ prefix
        # Weights in the exponent: as factors, small ones among large ones stop a first-order method from converging.
        logs = np.log(weights[weighty] / weights.max())
        program = cp.Problem(cp.Minimize(exp(logs - u[weighty]).sum()), [u >= 0, prefix <= bounds])
        with warnings.catch_warnings():
            # An inaccurate answer says so in its status, which goes into the statistics.
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            _call(program, self.backend)
        status, stats = str(program.status), program.solver_stats
        if stats is None or u.value is None:
            raise ArithmeticError(f"{self.backend} ended with status {status!r} and no solution")
        self.iterations += stats.num_iters or 0
        self.statuses.add(status)
        return np.asarray(np.maximum(u.value, 0.0))


def solve_side(bounds: Floats, weights: Floats, backend: Backend) -> Floats:
    """Minimise ``sum weights exp(-u)`` over ``u >= 0`` with every prefix sum of u at most its bound.

    Parameters
    ----------
    bounds, weights
        ``(m,)``, non-negative.
    backend
        Its answer may exceed bounds by its tolerance, but no u is negative.
    """
    return _Programs(backend).solve(bounds, weights)


def _call(program: Any, backend: Backend) -> None:
    """Solve with tolerances tight enough for six digits of the objective; CVXPY leaves ``solve`` untyped."""
    if backend == "ecos":
        program.solve(solver="ECOS", abstol=1e-9, reltol=1e-9, feastol=1e-9, max_iters=300)
    elif backend == "scs":
        program.solve(solver="SCS", eps_abs=1e-9, eps_rel=1e-9, max_iters=200_000)
    else:
        program.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)

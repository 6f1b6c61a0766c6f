"""The best release for a distortion by one sparse linear program over P(y | w)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import FINEST, SOLVED, Rows, minimise
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.data import FURTHER_ROWS, posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import (
    ANALYTIC,
    NOT_INDEPENDENT,
    independent,
    matrix_from_joint,
    too_many_rows,
    whole_release,
)


@dataclass(frozen=True, eq=False)
class Program:
    """min cost . q over q >= 0 with ``rows q[:, y] <= 0`` for every y and ``q.sum(axis=1) == marginal``.

    Parameters
    ----------
    cost : array (k, m)
        Distortion of showing column y after the k-th observation of positive probability.
    rows : array (r, k)
        The posterior rows.
    marginal : array (k,)
    """

    cost: Floats
    rows: Floats
    marginal: Floats

    @property
    def cells(self) -> int:
        """Entries of the constraint matrix."""
        return int(self.cost.size * (len(self.rows) + 1))

    def inequalities(self) -> Any:
        """Sparse (r m, k m): row by row of ``rows``, then by column; unknowns by observation, then by column."""
        from scipy.sparse import csr_array, eye_array, kron

        return kron(csr_array(self.rows), eye_array(self.cost.shape[1]), format="csr")

    def equations(self) -> Any:
        """Sparse (k, k m): the joint distribution has that marginal."""
        from scipy.sparse import eye_array, kron

        k, m = self.cost.shape
        return kron(eye_array(k), np.ones((1, m)), format="csr")


def program(problem: LocalInformationPrivacy) -> Program:
    """The program of a problem whose utility is a distortion."""
    observed = problem.observation
    return Program(
        paid(problem), posterior_rows(problem)[:, observed.support], observed.p_w[observed.support]
    )


def paid(problem: LocalInformationPrivacy) -> Floats:
    """The expected distortion of every release after each observation of positive probability, shape (k, m)."""
    observed = problem.observation
    return np.asarray((observed.x_given_w.T @ problem_matrix(problem))[observed.support])


def problem_matrix(problem: LocalInformationPrivacy) -> Floats:
    """The distortion.

    Raises
    ------
    ValueError
        If the utility is another one.
    """
    if problem.matrix is None:
        raise ValueError("the utility of this problem is not a distortion")
    return problem.matrix


def linear_bound(problem: LocalInformationPrivacy, multipliers: Floats) -> float:
    """The bound that multipliers of the posterior rows, one row of them a release, claim by weak duality, or none at all if that is less."""
    observed = problem.observation
    unpaid = observed.x_given_w.T @ problem_matrix(problem)
    priced = unpaid + (multipliers @ posterior_rows(problem)).T
    return min(-math.fsum((observed.p_w * each.min(axis=1)).tolist()) for each in (unpaid, priced))


MAX_CELLS = 30_000_000
"""Entries of the constraint matrix beyond which the program does not fit in memory or time."""


@register
@dataclass(frozen=True)
class DirectLp(Solver[LocalInformationPrivacy]):
    """For a distortion: one sparse linear program over the channel, with nothing enumerated.

    The bounds on a release are linear in P(y | w) (the lectures on privacy-utility trade-offs), and so is
    the distortion. The multipliers of the bounds prove the optimum by weak duality.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "direct-lp"
    handles: ClassVar[frozenset[str]] = frozenset({FURTHER_ROWS})

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for delta = 0."""
        return Guarantee.OPTIMAL if problem.delta == 0 else Guarantee.FEASIBLE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """Grows a little faster than the entries of the constraint matrix."""
        return 0.05 + 2.5e-6 * program(problem).cells * (1 + len(program(problem).rows) / 40)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities, perfect privacy and what does not fit."""
        if problem.matrix is None:
            return "it minimises a distortion matrix, this utility is not linear in the channel"
        if independent(problem) and whole_release(problem) is None:
            return NOT_INDEPENDENT
        if (reason := too_many_rows(problem)) is not None:
            return reason
        if (cells := program(problem).cells) > MAX_CELLS:
            return f"its program has {cells:.1e} entries, more than {MAX_CELLS:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the optimal channel with the multipliers of the bounds."""
        if (whole := whole_release(problem)) is not None:
            return whole
        return _solved(problem, program(problem), budget.earlier(0.1))


def _solved(problem: LocalInformationPrivacy, lp: Program, budget: Budget) -> Proposal:
    k, m = lp.cost.shape
    below, equal = Rows.sparse(lp.inequalities(), 0.0), Rows.sparse(lp.equations(), lp.marginal)
    solved = minimise(lp.cost.ravel(), below, equal, tolerance=FINEST, seconds=budget.remaining)
    if solved is None:
        late: dict[str, float | int | str] = {"vertices": 0, "stop": "HiGHS ended without an optimum"}
        return Proposal(problem.safe(), analytic_bound(problem), ANALYTIC, stats=late)
    stats: dict[str, float | int | str] = {
        "iterations": solved.iterations,
        "vertices": 0,
        "stop": SOLVED,
    }
    channel = problem.answer(matrix_from_joint(problem, solved.point.reshape(k, m)))
    if problem.delta > 0:
        return Proposal(channel, analytic_bound(problem), ANALYTIC, stats=stats)
    multipliers = solved.multipliers.reshape(len(lp.rows), m).T
    dual = {"kind": "linear", "multipliers": multipliers.tolist()}
    return Proposal(channel, linear_bound(problem, multipliers), dual, stats=stats)

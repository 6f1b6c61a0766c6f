"""The linear programs over channels: the least distortion within bounds on ratios, and the least maximal leakage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.distortion_privacy._space import Space

FEASIBLE = 1e-10
"""Tolerance asked of HiGHS, for rows and for reduced costs; it takes no smaller one."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A program's answer.

    ``matrix`` has shape (n_w, n_y); ``multipliers`` one list a release, >= 0; ``cost`` is the value.
    """

    matrix: Floats
    multipliers: Floats
    cost: float
    iterations: int


class OutOfTime(Exception):
    """The program did not end before the deadline."""


def least_distortion(space: Space, ratios: LocalInformationPrivacy, budget: Budget) -> Optimum:
    """The least distortion above that of the best reproduction, within bounds on ratios.

    One block of rows G (P(w) Q(w, y)) <= 0 a release; see :mod:`privopt.problems.local_information_privacy.polytope`.
    """
    from scipy.sparse import csr_array

    rows = posterior_rows(ratios)[:, space.seen] * space.weights
    cells, outputs = space.excess.size, space.excess.shape[1]
    blocks = _blocks([rows] * outputs) if len(rows) else csr_array((0, cells))
    every = np.ones(space.open.shape, dtype=bool)
    best = _solve(every, space.excess.T.ravel(), blocks, np.zeros(len(rows) * outputs), budget)
    return replace(best, multipliers=best.multipliers.reshape(outputs, len(rows)))


def least_guess(space: Space, limit: float | None, budget: Budget) -> Optimum:
    """Maximal leakage: the least sum of t(y) >= P(y | s) within the room, or the least distortion at sum <= limit.

    The multipliers of t(y) >= P(y | s), which sum to 1 (or to the price of the limit) over s, are distributions of S.
    """
    from scipy.sparse import csr_array, hstack, vstack

    outputs, secrets = space.excess.shape[1], len(space.prior)
    conditional = _blocks([space.table / space.prior[:, None]] * outputs)
    tops = _blocks([-np.ones((secrets, 1))] * outputs)
    distortion = np.concatenate([space.excess.T.ravel(), np.zeros(outputs)])
    guess = np.concatenate([np.zeros(space.excess.size), np.ones(outputs)])
    objective, last, right = (guess, distortion, space.room) if limit is None else (distortion, guess, limit)
    rows = csr_array(vstack([hstack([conditional, tops]), csr_array(last[None, :])]))
    best = _solve(space.open, objective, rows, np.append(np.zeros(outputs * secrets), right), budget)
    return replace(best, multipliers=best.multipliers[:-1].reshape(outputs, secrets))


def _solve(open_cells: NDArray[np.bool_], cost: Floats, rows: Any, right: Floats, budget: Budget) -> Optimum:
    """Minimise over channels; columns are release by release, then any extra variables >= 0."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    seen, outputs = open_cells.shape
    cells = np.arange(seen * outputs)
    upper = np.concatenate([open_cells.T.ravel(), np.full(len(cost) - cells.size, np.inf)])
    sums: Any = csr_array((np.ones(cells.size), (cells % seen, cells)), shape=(seen, len(cost)))
    solved = linprog(
        cost,
        A_ub=rows,
        b_ub=right,
        A_eq=sums,
        b_eq=np.ones(seen),
        bounds=[(0.0, top) for top in upper.tolist()],
        method="highs",
        options={
            "time_limit": max(0.01, min(budget.remaining, 1e9)),
            "primal_feasibility_tolerance": FEASIBLE,
            "dual_feasibility_tolerance": FEASIBLE,
        },
    )
    if solved.x is None or solved.fun is None or solved.ineqlin.marginals is None:
        raise OutOfTime(str(solved.message))
    matrix = np.clip(np.asarray(solved.x)[: cells.size].reshape(outputs, seen).T, 0.0, 1.0)
    prices = np.maximum(-np.asarray(solved.ineqlin.marginals), 0.0)
    return Optimum(matrix, prices, float(solved.fun), int(solved.nit))


def _blocks(parts: list[Floats]) -> Any:
    """A sparse block diagonal matrix."""
    from scipy.sparse import block_diag, coo_array, csr_array

    return csr_array(block_diag([coo_array(part) for part in parts]))

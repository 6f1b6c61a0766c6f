"""Linear programmes of distortion under bounds on ratios, or on maximal leakage, by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.rows import posterior_rows
from privopt.solvers.distortion_privacy._space import Space

FEASIBLE = 1e-10
"""Tolerance asked of HiGHS, for rows and for reduced costs; it takes no smaller one."""


@dataclass(frozen=True, eq=False)
class Found:
    """A programme's answer.

    ``matrix`` has shape (n_w, n_y); ``multipliers`` one list a release, >= 0; ``cost`` is the value.
    """

    matrix: Floats
    multipliers: Floats
    cost: float
    iterations: int


class OutOfTime(Exception):
    """The programme did not end before the deadline."""


def least_distortion(space: Space, ratios: LocalInformationPrivacy, budget: Budget) -> Found:
    """The least distortion above that of the best reproduction, within bounds on ratios.

    One block of rows G (P(w) Q(w, y)) <= 0 a release; see :mod:`privopt.problems.local_information_privacy.rows`.
    """
    from scipy.sparse import csr_array

    rows = posterior_rows(ratios)[:, space.seen] * space.weights
    cells = space.excess.size
    outputs = space.excess.shape[1]
    blocks = _blocks([rows] * outputs) if len(rows) else csr_array((0, cells))
    every = np.ones(space.open.shape, dtype=bool)
    solved = _solve(every, space.excess.T.ravel(), blocks, np.zeros(len(rows) * outputs), budget)
    multipliers = solved.prices.reshape(outputs, len(rows))
    return Found(solved.matrix, multipliers, solved.value, solved.iterations)


def least_guess(space: Space, limit: float | None, budget: Budget) -> Found:
    """Maximal leakage: the least sum of t(y) >= P(y | s) within the room, or the least distortion at sum <= limit.

    The multipliers of t(y) >= P(y | s), which sum to 1 (or to the price of the limit) over s, are laws over S.
    """
    from scipy.sparse import csr_array, hstack, vstack

    outputs, secrets = space.excess.shape[1], len(space.prior)
    given = _blocks([space.table / space.prior[:, None]] * outputs)
    tops = _blocks([-np.ones((secrets, 1))] * outputs)
    cost, ones = space.excess.T.ravel(), np.ones(outputs)
    free = np.zeros(outputs)
    if limit is None:
        last, right, objective = np.concatenate([cost, free]), space.room, np.concatenate([0 * cost, ones])
    else:
        last, right, objective = np.concatenate([0 * cost, ones]), limit, np.concatenate([cost, free])
    rows = csr_array(vstack([hstack([given, tops]), csr_array(last[None, :])]))
    bound = np.append(np.zeros(outputs * secrets), right)
    solved = _solve(space.open, objective, rows, bound, budget)
    laws = solved.prices[:-1].reshape(outputs, secrets)
    return Found(solved.matrix, laws, solved.value, solved.iterations)


@dataclass(frozen=True, eq=False)
class _Solved:
    matrix: Floats
    prices: Floats
    value: float
    iterations: int


def _solve(open_cells: NDArray[np.bool_], cost: Floats, rows: Any, right: Floats, budget: Budget) -> _Solved:
    """Minimise over channels; columns are release by release, then any extra variables >= 0."""
    from scipy.optimize import linprog

    seen, outputs = open_cells.shape
    cells = seen * outputs
    upper = np.concatenate([open_cells.T.ravel().astype(np.float64), np.full(len(cost) - cells, np.inf)])
    found = linprog(
        cost,
        A_ub=rows,
        b_ub=right,
        A_eq=_stochastic(seen, outputs, len(cost)),
        b_eq=np.ones(seen),
        bounds=[(0.0, top) for top in upper.tolist()],
        method="highs",
        options={
            "time_limit": max(0.01, min(budget.remaining, 1e9)),
            "primal_feasibility_tolerance": FEASIBLE,
            "dual_feasibility_tolerance": FEASIBLE,
        },
    )
    if found.x is None or found.fun is None or found.ineqlin.marginals is None:
        raise OutOfTime(str(found.message))
    matrix = np.asarray(found.x)[:cells].reshape(outputs, seen).T
    prices = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
    return _Solved(np.clip(matrix, 0.0, 1.0), prices, float(found.fun), int(found.nit))


def _stochastic(seen: int, outputs: int, columns: int) -> Any:
    """One row an observation: its cells sum to 1."""
    from scipy.sparse import csr_array

    cells = np.arange(seen * outputs)
    return csr_array((np.ones(cells.size), (cells % seen, cells)), shape=(seen, columns))


def _blocks(parts: list[Floats]) -> Any:
    """A sparse block diagonal matrix."""
    from scipy.sparse import block_diag, csr_array

    return csr_array(block_diag(parts))

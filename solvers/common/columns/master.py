"""The restricted master programme: how often each posterior is used, and at what prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats

ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-8), ("highs-ipm", 1e-8))
"""Methods of HiGHS with their tolerances on rows and on reduced costs; columns that are almost equal can defeat one."""


@dataclass(frozen=True, eq=False)
class Master:
    """An optimal basic solution.

    Parameters
    ----------
    weights : array (m,)
    prices : array (n,)
        Duals of the n equations.
    dual : float
        Of the row, >= 0; 0 if there is none. ``costs - columns @ prices + dual * row >= 0``.
    value : float
    """

    weights: Floats
    prices: Floats
    dual: float
    value: float


def solve_master(
    columns: Floats, costs: Floats, law: Floats, row: Floats | None = None, limit: float = 0.0
) -> Master:
    """Minimise costs . w over w >= 0 with sum w v = law and row . w <= limit.

    Parameters
    ----------
    columns : array (m, n)
        A posterior a row.
    costs : array (m,)
    law : array (n,)
    row : array (m,), optional
    limit : float

    Raises
    ------
    ArithmeticError
        If HiGHS finds no optimum, with its words.

    Examples
    --------
    >>> found = solve_master(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), np.array([1.0, 2.0, 1.0]), np.array([0.5, 0.5]))
    >>> found.weights.tolist(), found.value
    ([0.0, 0.0, 1.0], 1.0)
    """
    message = ""
    for method, tolerance in ATTEMPTS:
        found = _solved(columns, costs, law, row, limit, method, tolerance)
        if found.status == 0:
            dual = 0.0 if row is None else max(0.0, -float(found.ineqlin.marginals[0]))
            weights = np.maximum(np.asarray(found.x), 0.0)
            return Master(weights, np.asarray(found.eqlin.marginals), dual, float(costs @ weights))
        message = str(found.message)
    raise ArithmeticError(f"the master programme ended so: {message}")


def _solved(
    columns: Floats,
    costs: Floats,
    law: Floats,
    row: Floats | None,
    limit: float,
    method: str,
    tolerance: float,
) -> Any:
    from scipy import optimize

    solver: Any = optimize.linprog  # its stubs want one literal method a call
    return solver(
        costs,
        A_eq=columns.T,
        b_eq=law,
        A_ub=None if row is None else row[None],
        b_ub=None if row is None else [limit],
        method=method,
        options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
    )

"""A linear program in HiGHS whose costs, bounds and rows change between runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import silent_highs
from privopt.core.solver import Budget

TOLERANCE = 1e-8
"""Asked of HiGHS, for rows and for reduced costs."""


class Linear:
    """Minimise cost . x over lower <= x <= upper and row_lower <= table x <= row_upper; later runs begin at the last vertex.

    Parameters
    ----------
    cost, lower, upper : float arrays (n,)
    table : sparse matrix (r, n)
    row_lower, row_upper : float arrays (r,)
    tolerance : float

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> program = Linear(np.array([1.0, 2.0]), np.zeros(2), np.ones(2), csr_array([[1.0, 1.0]]), np.ones(1), np.ones(1))
    >>> program.run(Budget()), abs(program.x).tolist(), program.value
    ('optimal', [1.0, 0.0], 1.0)
    >>> program.add(csr_array([[-1.0, 1.0]]), np.array([0.5]), np.array([np.inf]))
    >>> program.run(Budget()), program.x.tolist()
    ('optimal', [0.25, 0.75])
    """

    def __init__(
        self,
        cost: Floats,
        lower: Floats,
        upper: Floats,
        table: Any,
        row_lower: Floats,
        row_upper: Floats,
        tolerance: float = TOLERANCE,
    ) -> None:
        import highspy

        columns = table.tocsc()
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(cost), columns.shape[0]
        program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
        program.row_lower_, program.row_upper_ = row_lower, row_upper
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_, program.a_matrix_.index_ = columns.indptr, columns.indices
        program.a_matrix_.value_ = columns.data
        self.x, self.row_dual, self.reduced = np.zeros(len(cost)), np.zeros(0), np.zeros(len(cost))
        self.value, self.iterations = np.inf, 0
        self._every: Any = np.arange(len(cost), dtype=np.int32)
        self._highs: Any = silent_highs(
            {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        )
        self._highs.passModel(program)

    def add(self, table: Any, row_lower: Floats, row_upper: Floats) -> None:
        """More rows."""
        rows = table.tocsr()
        self._highs.addRows(
            rows.shape[0],
            row_lower,
            row_upper,
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data,
        )

    def bound(self, lower: Floats, upper: Floats) -> None:
        """Other bounds of the variables."""
        self._highs.changeColsBounds(len(lower), self._every, lower, upper)

    def price(self, cost: Floats) -> None:
        """Other costs."""
        self._highs.changeColsCost(len(cost), self._every, cost)

    def run(self, budget: Budget) -> str:
        """Solve: ``"optimal"``, ``"infeasible"``, or ``"stopped"`` where the time ends or the method gives up."""
        import highspy

        highs = self._highs
        for fresh in (False, True):
            if budget.remaining <= 0:
                return "stopped"
            if fresh:
                highs.clearSolver()  # the last vertex was a bad start
            highs.setOptionValue("time_limit", float(highs.getRunTime() + min(budget.remaining, 1e7)))
            highs.run()
            self.iterations += int(max(highs.getInfo().simplex_iteration_count, 0))
            if highs.getModelStatus() != highspy.HighsModelStatus.kUnknown:
                break
        status = highs.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return "infeasible"
        if status != highspy.HighsModelStatus.kOptimal:
            return "stopped"
        solution = highs.getSolution()
        self.x, self.row_dual = np.array(solution.col_value), np.array(solution.row_dual)
        self.reduced, self.value = (
            np.array(solution.col_dual),
            float(highs.getInfo().objective_function_value),
        )
        return "optimal"

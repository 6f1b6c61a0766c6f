"""The master programme over the posteriors found so far, solved again from its last basis when more come."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Floats


class Restricted:
    """min costs . w over sum_i w_i v_i = p, w >= 0, with columns that are added as they are found.

    Parameters
    ----------
    p : array (n,)
    """

    def __init__(self, p: Floats) -> None:
        import highspy

        self.p = p
        self.columns, self.costs = np.zeros((0, len(p))), np.zeros(0)
        engine: Any = highspy.Highs
        self._highs = engine()
        for name, value in (("output_flag", False), ("presolve", "off"), ("threads", 1)):
            self._highs.setOptionValue(name, value)
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(name, 1e-10)
        self._highs.setOptionValue("simplex_strategy", 4)  # primal: the last basis stays feasible
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = 0, len(p)
        lp.row_lower_ = lp.row_upper_ = p
        self._highs.passModel(lp)

    def add(self, columns: Floats, costs: Floats) -> None:
        """More posteriors, a row each, with their costs."""
        used = columns > 0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))[:-1]]).astype(np.int32)
        index = np.nonzero(used)[1].astype(np.int32)
        m = len(columns)
        self._highs.addCols(
            m, costs, np.zeros(m), np.full(m, np.inf), len(index), starts, index, columns[used]
        )
        self.columns = np.concatenate([self.columns, columns])
        self.costs = np.concatenate([self.costs, costs])

    def solve(self) -> tuple[Floats, Floats, float]:
        """Weights, prices and value of an optimal basis.

        Raises
        ------
        ArithmeticError
            If HiGHS finds no optimum.
        """
        import highspy

        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._highs.clearSolver()
            self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError(
                f"the master programme ended as {self._highs.modelStatusToString(status)!r}"
            )
        found = self._highs.getSolution()
        weights, prices = np.array(found.col_value), np.array(found.row_dual)
        return weights, prices, float(self.costs @ weights)

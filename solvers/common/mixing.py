"""Mixtures of columns with a given mean: the linear program to which columns are added one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.highs import FINEST, silent_highs

Basis = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Positions of the basic columns, and of the rows whose price is free."""


class Restricted:
    """min costs . w over sum_i w_i v_i = p, w >= 0, with columns that may be added one after the other.

    Parameters
    ----------
    p : array (n,)
    seconds : float, optional
        Limit on the time of HiGHS, where it is to solve the program once; else the last basis is kept for the next time.
    """

    def __init__(self, p: Floats, seconds: float | None = None) -> None:
        import highspy

        self.p, self._again = p, seconds is None
        self.columns, self.costs = np.zeros((0, len(p))), np.zeros(0)
        tolerances = {f"{kind}_feasibility_tolerance": FINEST for kind in ("primal", "dual")}
        self._highs = silent_highs({"presolve": "off" if seconds is None else "choose", **tolerances})
        if seconds is None:
            self._highs.setOptionValue("simplex_strategy", 4)  # primal: the last basis stays feasible
        else:
            self._highs.setOptionValue("time_limit", min(seconds, 1e8))
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

    def aim(self, p: Floats) -> None:
        """Ask for another mean."""
        self.p = p
        self._highs.changeRowsBounds(len(p), np.arange(len(p), dtype=np.int32), p, p)

    def solve(self) -> tuple[Floats, Floats, float]:
        """Weights, prices and value of an optimal basis.

        Raises
        ------
        ArithmeticError
            If HiGHS finds no optimum.
        """
        import highspy

        self._highs.run()
        if self._again and self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._highs.clearSolver()
            self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError(f"the master program ended as {self._highs.modelStatusToString(status)!r}")
        solution = self._highs.getSolution()
        weights, prices = np.array(solution.col_value), np.array(solution.row_dual)
        return weights, prices, float(self.costs @ weights)

    def begin(self, basis: Basis) -> None:
        """Begin from a basis, as :meth:`basis` returns it."""
        import highspy

        inside, below = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
        columns, rows = np.full(len(self.columns), below), np.full(len(self.p), inside)
        columns[basis[0]], rows[basis[1]] = inside, below
        start = highspy.HighsBasis()
        start.valid, start.alien = True, False  # one that may be singular is factorised twice
        start.col_status, start.row_status = columns.tolist(), rows.tolist()
        self._highs.setBasis(start)

    def basis(self) -> Basis:
        """Positions of the basic columns, and of the rows whose price is free."""
        import highspy

        basis, inside = self._highs.getBasis(), highspy.HighsBasisStatus.kBasic
        basic = np.flatnonzero([status == inside for status in basis.col_status])
        return basic, np.flatnonzero([status != inside for status in basis.row_status])

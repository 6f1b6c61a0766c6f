"""Linear programmes over the allowed posteriors in a box, solved one after the other from the last basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.problems.local_information_privacy.tree import Pricing
from privopt.solvers.local_information_privacy._boxes import rounded


@dataclass(frozen=True)
class Optimum:
    """Where a linear cost is least, shape (n,), and the multipliers of all rows that say so.

    The point is None if the box is empty; the multipliers are then a ray, or 0 if there is none.
    """

    point: Floats | None
    multipliers: Floats


class BoxLP:
    """Minimise cost . v over {v >= 0, sum v = 1, G v <= 0, low <= B v <= high}.

    Parameters
    ----------
    pricing : Pricing
        G, and B (None: the identity, whose box becomes bounds of the variables).
    """

    def __init__(self, pricing: Pricing) -> None:
        self.pricing = pricing
        self._scale = np.maximum(np.abs(pricing.rows).max(axis=1, initial=0.0), 1e-300)
        self._highs = self._model()
        self._columns = np.arange(pricing.size, dtype=np.int32)
        self._first = len(pricing.rows) + 1
        self._seen = np.arange(self._first, self._first + pricing.coordinates, dtype=np.int32)
        self.solved = 0

    def _model(self) -> Any:
        import highspy

        rows, n = self.pricing.rows, self.pricing.size
        matrix = [rows / self._scale[:, None], np.ones((1, n))]
        if self.pricing.matrix is not None:
            matrix.append(self.pricing.matrix)
        dense = np.concatenate(matrix)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = n, len(dense)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.zeros(n), np.zeros(n), np.ones(n)
        lower, upper = np.full(len(dense), -highspy.kHighsInf), np.zeros(len(dense))
        lower[len(rows)] = 1.0
        upper[len(rows) :] = 1.0
        lp.row_lower_, lp.row_upper_ = lower, upper
        used = dense != 0
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        lp.a_matrix_.index_, lp.a_matrix_.value_ = np.nonzero(used)[1], dense[used]
        engine: Any = highspy.Highs
        highs = engine()
        for name, value in (("output_flag", False), ("presolve", "off"), ("threads", 1)):
            highs.setOptionValue(name, value)
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(name, 1e-10)
        highs.passModel(lp)
        return highs

    def solve(self, cost: Floats, low: Floats | None = None, high: Floats | None = None) -> Optimum:
        """The optimum over one box, or over all allowed posteriors."""
        import highspy

        highs, pricing = self._highs, self.pricing
        if low is None or high is None:  # nothing else may hold a variable: basis() counts on it
            low, high = np.zeros(pricing.coordinates), np.full(pricing.coordinates, np.inf)
        highs.changeColsCost(pricing.size, self._columns, cost)
        if pricing.matrix is None:
            highs.changeColsBounds(pricing.size, self._columns, low, high)
        else:
            highs.changeRowsBounds(pricing.coordinates, self._seen, low, high)
        highs.run()
        self.solved += 1
        status = highs.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            found = highs.getSolution()
            point = np.maximum(np.array(found.col_value), 0.0)  # entries are off by the tolerance
            return Optimum(point / point.sum(), self._multipliers(-np.array(found.row_dual)))
        if status == highspy.HighsModelStatus.kInfeasible:
            ray = highs.getDualRay()
            if ray[1]:
                return Optimum(None, self._multipliers(-np.asarray(ray[2])))
        highs.clearSolver()
        return Optimum(None, np.zeros(len(pricing.rows) + 2 * pricing.coordinates))

    def basis(self) -> NDArray[np.int64] | None:
        """The last basis in the columns of v and then of the slacks of G; None where the box holds it elsewhere."""
        import highspy

        found, n, r = self._highs.getBasis(), self.pricing.size, len(self._scale)
        inside = highspy.HighsBasisStatus.kBasic
        basic = [j for j, status in enumerate(found.col_status) if status == inside]
        basic += [n + i for i, status in enumerate(found.row_status[:r]) if status == inside]
        return np.array(basic) if len(basic) == r + 1 else None

    def face(self, cost: Floats, free: NDArray[np.bool_], tight: NDArray[np.bool_]) -> Floats | None:
        """The best vertex with entries 0 where not ``free`` and equality in the ``tight`` rows of G."""
        highs = self._highs
        which = np.flatnonzero(tight).astype(np.int32)
        low, high = np.zeros(self.pricing.coordinates), np.full(self.pricing.coordinates, np.inf)
        if self.pricing.matrix is None:
            high = np.where(free, np.inf, 0.0)
        else:
            highs.changeColsBounds(self.pricing.size, self._columns, np.zeros(len(free)), free.astype(float))
        zeros = np.zeros(len(which))
        highs.changeRowsBounds(len(which), which, zeros, zeros)
        found = self.solve(cost, low, high).point
        highs.changeRowsBounds(len(which), which, np.full(len(which), -np.inf), zeros)
        if self.pricing.matrix is not None:
            highs.changeColsBounds(self.pricing.size, self._columns, np.zeros(len(free)), np.ones(len(free)))
        return found

    def _multipliers(self, duals: Floats) -> Floats:
        """Those of G and of the two sides of the box from the duals of the rows, with the sign of upper bounds."""
        r, k = len(self._scale), self.pricing.coordinates
        full = np.zeros(r + 2 * k)
        full[:r] = np.maximum(duals[:r], 0.0) / self._scale
        if self.pricing.matrix is not None:
            full[r : r + k] = np.maximum(duals[self._first :], 0.0)
            full[r + k :] = np.maximum(-duals[self._first :], 0.0)
        return rounded(full)

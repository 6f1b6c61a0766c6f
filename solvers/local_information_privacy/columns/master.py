"""The master program of the vertex form: which posteriors to use, how often, at what prices."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.solvers.local_information_privacy.columns.program import engine

CLOSE = 1e-9
"""A refined solution counts if it is at most so much worse than what HiGHS returned."""


Basis = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Positions of the basic columns, and of the rows whose price is free."""


@dataclass(frozen=True, eq=False)
class Master:
    """An optimal basic solution.

    Parameters
    ----------
    weights : array (m,)
        How often each posterior is used; at most n are positive.
    prices : array (n,)
        Duals of the n equations; ``prices . p`` equals ``value``.
    value : float
        The least expected cost.
    basis : array of int
        Positions of the basic posteriors, at most n; all that are used, and perhaps some of weight 0.
    fixed : array of int
        Positions of the equations whose price is free, as many; empty where they are not known.
    """

    weights: Floats
    prices: Floats
    value: float
    basis: NDArray[np.intp]
    fixed: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))


def master(
    columns: Floats, costs: Floats, p: Floats, seconds: float = math.inf, start: Basis | None = None
) -> Master:
    """Solve the master program with HiGHS, and its basis again to the last digits.

    Parameters
    ----------
    columns : array (m, n)
        A posterior a row.
    costs : array (m,)
    p : array (n,)
        The distribution that the posteriors must average to; it must lie in their convex hull.
    seconds : float
        Limit on the time of HiGHS.
    start : two arrays of int, optional
        A basis of this program to begin from, feasible: that of fewer columns, say. It is then not limited in time.

    Raises
    ------
    ArithmeticError
        If HiGHS finds no optimum, with its status: p is outside the hull, or time ran out.

    Examples
    --------
    >>> best = master(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), np.array([1.0, 2.0, 1.0]), np.array([0.5, 0.5]))
    >>> best.weights.tolist(), best.value
    ([0.0, 0.0, 1.0], 1.0)
    """
    restricted = Restricted(p, seconds if start is None else None)
    restricted.add(columns, costs)
    if start is not None:
        restricted.begin(start)
    weights, prices, _ = restricted.solve()
    basis = restricted.basis()
    weights, prices = _refined(columns, costs, p, (weights, prices), basis)
    return Master(weights, prices, math.fsum((costs * weights).tolist()), *basis)


def _refined(
    columns: Floats,
    costs: Floats,
    p: Floats,
    rough: tuple[Floats, Floats],
    basis: Basis,
) -> tuple[Floats, Floats]:
    """The basic solution and its prices in float64, where the basis is square and regular; else as they came."""
    basic, fixed = basis
    if len(basic) != len(fixed) or not len(basic):
        return rough
    square = columns[basic][:, fixed]
    try:
        part = np.linalg.solve(square.T, p[fixed])
        price = np.linalg.solve(square, costs[basic])
    except np.linalg.LinAlgError:
        return rough
    weights, prices = np.zeros(len(costs)), np.zeros(len(p))
    weights[basic], prices[fixed] = np.maximum(part, 0.0), price
    before, after = _faults(columns, costs, p, *rough), _faults(columns, costs, p, weights, prices)
    return (
        weights if after[0] <= before[0] + 1e-15 else rough[0],
        prices if after[1] <= before[1] + CLOSE * 1e-3 else rough[1],
    )


def _faults(
    columns: Floats, costs: Floats, p: Floats, weights: Floats, prices: Floats
) -> tuple[float, float]:
    """By how much the equations are missed, and the worst negative reduced cost."""
    used = weights > 0
    missed = float(np.abs(weights[used] @ columns[used] - p).max())
    return missed, float(-(costs - columns @ prices).min(initial=0.0))


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
        self._highs = engine("off" if seconds is None else "choose")
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

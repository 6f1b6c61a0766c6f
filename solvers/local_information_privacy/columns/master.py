"""The master program of the vertex form: which posteriors to use, how often, at what prices."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.solvers.common.mixing import Basis, Restricted

CLOSE = 1e-9
"""A refined solution counts if it is at most so much worse than what HiGHS returned."""


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

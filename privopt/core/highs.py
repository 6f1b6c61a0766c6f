"""HiGHS without its banner, which some versions print once a process, and linear programs by it.

A program takes HiGHS as its own package has it: the optimisers of SciPy, which bring it along too, are loaded for half a second.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats, Ints

FINEST = 1e-10
"""The least tolerance that HiGHS takes, for rows and for reduced costs."""
Method: TypeAlias = Literal["simplex", "ipm"]
"""The simplex method, or interior points."""
SOLVED = "solved to optimality"
"""Why a program with an answer stopped, in the statistics of solvers."""

_ALONE = threading.Lock()


def silent_highs(options: Mapping[str, str | float]) -> Any:
    """A HiGHS object on one thread that prints nothing; its package has no types.

    Parameters
    ----------
    options : mapping
        Options of HiGHS, by name.
    """
    import highspy

    with _ALONE:
        _banner()
    make: Any = highspy.Highs
    highs = make()
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        highs.setOptionValue(name, value)
    return highs


@cache
def _banner() -> None:
    """Let the first object print what it has to say where nobody reads it."""
    import highspy

    make: Any = highspy.Highs
    try:
        kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # there is no standard output
        make()
        return
    if sys.stdout is not None:
        sys.stdout.flush()
    flush = ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush
    flush(None)
    os.dup2(nowhere, 1)
    try:
        make()
        flush(None)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


@dataclass(frozen=True, eq=False)
class Rows:
    """Sparse rows with their right sides: row i has ``values[ends[i]:ends[i + 1]]`` in ``columns`` of the same places."""

    values: Floats
    columns: Ints
    ends: Ints
    right: Floats

    @classmethod
    def none(cls) -> Rows:
        """No rows at all."""
        return cls(np.zeros(0), np.zeros(0, dtype=np.intp), np.zeros(1, dtype=np.intp), np.zeros(0))

    @classmethod
    def dense(cls, matrix: Floats, right: ArrayLike) -> Rows:
        """The rows of a matrix, shape (r, n).

        Examples
        --------
        >>> Rows.dense(np.array([[0.0, 2.0], [1.0, 0.0]]), 0.0).columns.tolist()
        [1, 0]
        """
        used = matrix != 0
        ends = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        right = np.broadcast_to(np.asarray(right, dtype=np.float64), len(matrix))
        return cls(matrix[used], np.nonzero(used)[1], ends, right)

    @classmethod
    def sparse(cls, matrix: Any, right: ArrayLike) -> Rows:
        """The rows of a sparse matrix of SciPy."""
        rows = matrix.tocsr()
        right = np.broadcast_to(np.asarray(right, dtype=np.float64), rows.shape[0])
        return cls(rows.data, rows.indices, rows.indptr, right)

    @classmethod
    def cells(cls, rows: Ints, columns: Ints, values: Floats, right: Floats) -> Rows:
        """From coordinates, none of which comes twice.

        Examples
        --------
        >>> Rows.cells(np.array([1, 0]), np.array([0, 1]), np.array([3.0, 4.0]), np.zeros(2)).values.tolist()
        [4.0, 3.0]
        """
        order = np.argsort(rows, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(right)))])
        return cls(values[order], columns[order], ends, right)

    def with_column(self, place: int, values: Floats) -> Rows:
        """One more unknown, at a place beyond all others; values has shape (r,).

        Examples
        --------
        >>> rows = Rows.dense(np.array([[1.0], [2.0]]), 0.0).with_column(1, np.array([0.0, 5.0]))
        >>> rows.values.tolist(), rows.columns.tolist()
        ([1.0, 2.0, 5.0], [0, 0, 1])
        """
        used = np.flatnonzero(values)
        return Rows.cells(
            np.concatenate([np.repeat(np.arange(len(self)), np.diff(self.ends)), used]),
            np.concatenate([self.columns, np.full(len(used), place)]),
            np.concatenate([self.values, values[used]]),
            self.right,
        )

    def times(self, point: Floats) -> Floats:
        """The value of each row at a point, which may leave out the last unknowns where they are 0.

        Examples
        --------
        >>> Rows.dense(np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 3.0]]), 0.0).times(np.array([5.0])).tolist()
        [5.0, 0.0, 0.0]
        """
        known = self.columns < len(point)
        rows = np.repeat(np.arange(len(self)), np.diff(self.ends))[known]
        terms = self.values[known] * point[self.columns[known]]
        return np.bincount(rows, weights=terms, minlength=len(self)).astype(np.float64)

    def __len__(self) -> int:
        return len(self.right)


@dataclass(frozen=True, eq=False)
class Least:
    """The optimum of a linear program.

    ``multipliers`` are those of the inequalities, >= 0; ``prices`` those of the equations: by how much the value rises with
    the right side.
    """

    point: Floats
    value: float
    multipliers: Floats
    prices: Floats
    iterations: int
    whole: bool = True
    """Whether no unknown was left out that could lower the value."""


def minimise(
    cost: Floats,
    below: Rows,
    equal: Rows,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = math.inf,
    tolerance: float = 1e-7,
    seconds: float = math.inf,
    method: Method = "simplex",
) -> Least | None:
    """Minimise cost . x over ``below`` x <= right, ``equal`` x = right and lower <= x <= upper, at a vertex.

    Parameters
    ----------
    cost : array (n,)
    below, equal : Rows
    lower, upper : array (n,) or float
    tolerance : float
        On rows and on reduced costs, at least ``FINEST``.
    seconds : float
        From now on, with writing the program down.
    method : "simplex" or "ipm"
        The simplex method, or interior points with a crossover to a vertex.

    Returns
    -------
    Least, or None where HiGHS ended without an optimum.

    Examples
    --------
    >>> best = minimise(np.array([2.0, 1.0]), Rows.none(), Rows.dense(np.ones((1, 2)), 1.0), upper=0.75)
    >>> None if best is None else (best.point.tolist(), best.value, best.prices.tolist())
    ([0.25, 0.75], 1.25, [2.0])
    """
    import highspy

    until = time.monotonic() + seconds
    highs = silent_highs(
        {
            "solver": method,
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
        }
    )
    highs.passModel(_written(cost, below, equal, lower, upper))
    highs.setOptionValue("time_limit", min(max(until - time.monotonic(), 0.01), 1e9))
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return _least(highs, len(below))


def _least(highs: Any, below: int) -> Least:
    """The optimum that was found, of a program with so many inequalities."""
    solution, info = highs.getSolution(), highs.getInfo()
    duals = np.array(solution.row_dual, dtype=np.float64)
    return Least(
        np.array(solution.col_value, dtype=np.float64),
        float(info.objective_function_value),
        np.maximum(-duals[:below], 0.0),
        duals[below:],
        int(info.simplex_iteration_count),
    )


def sifted(
    cost: Floats,
    below: Rows,
    equal: Rows,
    start: Ints,
    *,
    each: int,
    tolerance: float = 1e-7,
    seconds: float = math.inf,
) -> Least | None:
    """Minimise cost . x over ``below`` x <= right, ``equal`` x = right and x >= 0, first over some unknowns, then with those that lower it.

    For programs with many more unknowns than rows: most never take part. What is found when the time ends is a point of
    the whole program, with prices of the unknowns that took part (Bixby, Gregory, Lustig, Marsten, Shanno, "Very
    large-scale linear programming: A case study in combining interior point and simplex methods", for the name).

    Parameters
    ----------
    cost : array (n,)
    below, equal : Rows
    start : int array
        The first unknowns; there must be a point that is 0 elsewhere.
    each : int
        How many join at a time, at most.
    tolerance : float
        On rows and on reduced costs, at least ``FINEST``.
    seconds : float

    Returns
    -------
    Least, or None where no point was found over the first unknowns.

    Examples
    --------
    >>> rows = Rows.dense(np.ones((1, 3)), 1.0)
    >>> best = sifted(np.array([2.0, 1.0, 3.0]), Rows.none(), rows, np.array([0]), each=1)
    >>> None if best is None else (best.point.tolist(), best.value, best.whole)
    ([0.0, 1.0, 0.0], 1.0, True)
    """
    until = time.monotonic() + seconds
    growing = _Growing.of(cost, below, equal, tolerance)
    found, iterations, joining = None, 0, start
    while len(joining):
        growing.add(joining)
        best = growing.solved(until - time.monotonic())
        if best is None:
            return None if found is None else replace(found, whole=False)
        iterations += best.iterations
        found = replace(best, iterations=iterations)
        reduced = growing.reduced(best)
        joining = np.flatnonzero(reduced < -tolerance)
        if len(joining) > each:
            joining = joining[np.argpartition(reduced[joining], each)[:each]]
    return found


@dataclass(eq=False)
class _Growing:
    """A program with some of its unknowns, and HiGHS, which begins each time where it ended."""

    cost: Floats
    matrix: Any
    below: int
    highs: Any
    used: Ints

    @classmethod
    def of(cls, cost: Floats, below: Rows, equal: Rows, tolerance: float) -> _Growing:
        """Of none of them yet."""
        from scipy.sparse import csr_array

        values = np.concatenate([below.values, equal.values])
        columns = np.concatenate([below.columns, equal.columns])
        ends = np.concatenate([below.ends, below.ends[-1] + equal.ends[1:]])
        right = np.concatenate([below.right, equal.right])
        lower = np.concatenate([np.full(len(below), -math.inf), equal.right])
        tolerances = {f"{kind}_feasibility_tolerance": tolerance for kind in ("primal", "dual")}
        highs = silent_highs({"solver": "simplex", "presolve": "off", **tolerances})
        nothing = np.zeros(0, dtype=np.int32)
        highs.addRows(len(right), lower, right, 0, nothing, nothing, np.zeros(0))
        matrix = csr_array((values, columns, ends), shape=(len(right), len(cost))).tocsc()
        return cls(cost, matrix, len(below), highs, np.zeros(0, dtype=np.intp))

    def add(self, chosen: Ints) -> None:
        """More of them."""
        part, count = self.matrix[:, chosen], len(chosen)
        bounds = (np.zeros(count), np.full(count, math.inf))
        starts, places = part.indptr[:-1].astype(np.int32), part.indices.astype(np.int32)
        self.highs.addCols(count, self.cost[chosen], *bounds, part.nnz, starts, places, part.data)
        self.used = np.concatenate([self.used, chosen])

    def solved(self, seconds: float) -> Least | None:
        """The optimum over those so far, with 0 for all others; None where HiGHS ended without one."""
        import highspy

        self.highs.setOptionValue("time_limit", min(self.highs.getRunTime() + max(seconds, 0.01), 1e9))
        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        best, point = _least(self.highs, self.below), np.zeros(len(self.cost))
        point[self.used] = best.point
        return replace(best, point=point)

    def reduced(self, best: Least) -> Floats:
        """What a unit of each unknown costs beyond the prices of rows; 0 for those that are in already."""
        reduced = np.asarray(self.cost - self.matrix.T @ np.concatenate([-best.multipliers, best.prices]))
        reduced[self.used] = 0.0
        return reduced


def sums_of_rows(rows: int, columns: int, right: Floats) -> Rows:
    """For a table of unknowns, row by row, that each row has a sum.

    Examples
    --------
    >>> sums_of_rows(2, 2, np.array([0.25, 0.75])).columns.tolist()
    [0, 1, 2, 3]
    """
    cells = rows * columns
    return Rows(np.ones(cells), np.arange(cells), np.arange(rows + 1) * columns, right)


class Joining:
    """A linear program that rows join, and HiGHS, which begins each time where it ended.

    It minimises cost . x over x >= 0 with ``equal`` x = right and rows . x <= right for those that joined.

    Parameters
    ----------
    cost : array (n,)
    equal : Rows
    tolerance : float
        On rows and on reduced costs, at least ``FINEST``.

    Examples
    --------
    >>> both = Joining(np.array([2.0, 1.0]), Rows.dense(np.ones((1, 2)), 1.0), 1e-9)
    >>> both.join(Rows.dense(np.array([[0.0, 1.0]]), 0.75))
    >>> best = both.minimise()
    >>> None if best is None else (best.point.tolist(), best.value, best.multipliers.tolist())
    ([0.25, 0.75], 1.25, [1.0])
    """

    def __init__(self, cost: Floats, equal: Rows, tolerance: float) -> None:
        tolerances = {f"{kind}_feasibility_tolerance": tolerance for kind in ("primal", "dual")}
        self._equal, self._highs = len(equal), silent_highs({"presolve": "off", **tolerances})
        self._highs.passModel(_written(cost, Rows.none(), equal, 0.0, math.inf))

    def join(self, rows: Rows) -> None:
        """More rows, at most their right sides."""
        lower, starts = np.full(len(rows), -math.inf), rows.ends[:-1].astype(np.int32)
        places = rows.columns.astype(np.int32)
        self._highs.addRows(len(rows), lower, rows.right, len(places), starts, places, rows.values)

    def minimise(self, seconds: float = math.inf) -> Least | None:
        """The optimum with the rows so far; None where HiGHS ended without one."""
        import highspy

        highs = self._highs
        highs.setOptionValue("time_limit", min(highs.getRunTime() + max(seconds, 0.01), 1e9))
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        best = _least(highs, 0)
        prices, joined = best.prices[: self._equal], best.prices[self._equal :]
        return replace(best, multipliers=np.maximum(-joined, 0.0), prices=prices)


def whole(
    cost: Floats, below: Rows, equal: Rows, *, start: Floats | None = None, seconds: float = math.inf
) -> Floats | None:
    """The cheapest point of zeros and ones that keeps ``below`` x <= right and ``equal`` x = right, as far as time allows.

    Parameters
    ----------
    cost : array (n,)
    below, equal : Rows
    start : array (n,), optional
        A point to begin with.
    seconds : float

    Returns
    -------
    array (n,) of zeros and ones, or None where none was found.

    Examples
    --------
    >>> rows = Rows.dense(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), 1.0)
    >>> point = whole(np.array([1.0, 3.0, 1.0]), Rows.none(), rows)
    >>> None if point is None else point.tolist()
    [1.0, 0.0, 1.0]
    """
    import highspy

    exactly = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.0, "primal_feasibility_tolerance": FINEST}
    highs = silent_highs({"time_limit": min(max(seconds, 0.01), 1e9), **exactly})
    program = _written(cost, below, equal, 0.0, 1.0)
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(cost)
    highs.passModel(program)
    if start is not None:
        begin: Any = highspy.HighsSolution()
        begin.col_value = start.tolist()
        highs.setSolution(begin)
    highs.run()
    if highs.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    return np.where(np.array(highs.getSolution().col_value, dtype=np.float64) > 0.5, 1.0, 0.0)


def _written(cost: Floats, below: Rows, equal: Rows, lower: ArrayLike, upper: ArrayLike) -> Any:
    """The program as HiGHS reads it: the rows of ``below``, then those of ``equal``."""
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(below) + len(equal)
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = (np.broadcast_to(np.asarray(x, float), len(cost)) for x in (lower, upper))
    lp.row_lower_ = np.concatenate([np.full(len(below), -math.inf), equal.right])
    lp.row_upper_ = np.concatenate([below.right, equal.right])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.concatenate([below.ends, below.ends[-1] + equal.ends[1:]]).astype(np.int32)
    lp.a_matrix_.index_ = np.concatenate([below.columns, equal.columns]).astype(np.int32)
    lp.a_matrix_.value_ = np.concatenate([below.values, equal.values])
    return lp

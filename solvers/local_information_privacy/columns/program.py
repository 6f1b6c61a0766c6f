"""Linear programs over the allowed posteriors in a box, solved one after the other from the last basis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.highs import silent_highs
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

ALLOWANCE = 1e-13
"""What a search in floats takes off every box, relative to max(1, the size of its terms); no proof rests on it."""

SLACK = 1e-12
"""A search in floats takes a box as empty only if it misses the simplex by more than this."""

TINY = 1e-300
"""Keeps the logarithm of 0 finite."""


@dataclass(frozen=True)
class Pricing:
    """The polytope of posteriors on the support of W, and the matrix B of P(x | w) (None: the identity), in floats."""

    rows: Floats
    matrix: Floats | None

    @property
    def size(self) -> int:
        """Number of observations."""
        return int(self.rows.shape[1])

    @cached_property
    def coordinates(self) -> int:
        """Number of coordinates of t."""
        return self.size if self.matrix is None else len(self.matrix)

    def first_box(self) -> tuple[Floats, Floats]:
        """A box that holds B v for every allowed v.

        For B = 1 a row with one positive entry a and all others at least -c bounds it: v <= c / (a + c).
        """
        if self.matrix is not None:
            return self.matrix.min(axis=1), self.matrix.max(axis=1)
        top = np.ones(self.size)
        for row in self.rows:
            c = -float(row.min())
            if c > 0:
                over = row > 0
                top[over] = np.minimum(top[over], c / (row[over] + c) * (1 + 1e-15))
        return np.zeros(self.size), top

    def secants(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Constants (m,) and slopes (m, k) such that a + b . t <= sum phi(t) on the boxes (m, k)."""
        foot, width = phi(low), high - low
        slopes = np.where(width > 0, (phi(high) - foot) / np.where(width > 0, width, 1.0), 0.0)
        return (foot - slopes * low).sum(axis=-1), slopes

    def leaf_bounds(
        self, prices: Floats, box: tuple[Floats, Floats], secants: tuple[Floats, Floats], full: Floats
    ) -> Floats:
        """Lower bounds on cost(v) - prices . v over boxes (m, k), inf where a box is empty.

        Parameters
        ----------
        prices : array (n,)
        box : lows and highs (m, k)
        secants : as of the boxes
        full : array (m, rows + 2 k)
            Multipliers >= 0 of the rows of G, of B v <= high and of -B v <= -low.
        """
        low, high = box
        constant, slopes = secants
        r, k = len(self.rows), self.coordinates
        tilt = slopes + full[:, r : r + k] - full[:, r + k :]
        across = tilt if self.matrix is None else tilt @ self.matrix
        linear = across - prices + full[:, :r] @ self.rows
        fixed = constant - (full[:, r : r + k] * high).sum(axis=1) + (full[:, r + k :] * low).sum(axis=1)
        inner = linear.min(axis=1) if self.matrix is not None else knapsacks(linear, low, high)
        size = np.maximum(np.maximum(1.0, np.abs(constant)), np.abs(linear).max(axis=1))
        return np.asarray(fixed + inner - ALLOWANCE * np.maximum(size, full.sum(axis=1)))


def phi(t: Floats) -> Floats:
    """-t ln t, 0 at 0."""
    return np.asarray(-t * np.log(np.maximum(t, TINY)))


def knapsacks(cost: Floats, low: Floats, high: Floats) -> Floats:
    """Minima of cost . v over low <= v <= high with sum 1, a row each: the cheapest first; inf if there is no such v."""
    room, left = high - low, 1.0 - low.sum(axis=1)
    empty = (left < -SLACK) | (room.sum(axis=1) < left - SLACK)
    order = np.argsort(cost, axis=1)
    room, sorted_cost = np.take_along_axis(room, order, axis=1), np.take_along_axis(cost, order, axis=1)
    before = np.cumsum(room, axis=1) - room
    taken = np.minimum(np.maximum(left[:, None] - before, 0.0), room)
    return np.where(empty, math.inf, (cost * low).sum(axis=1) + (sorted_cost * taken).sum(axis=1))


def pricing_of(problem: LocalInformationPrivacy) -> Pricing:
    """The polytope and the cost of a problem with mutual information."""
    observed = problem.observation
    support = observed.support
    matrix = None if observed.useful is None else observed.x_given_w[:, support]
    return Pricing(posterior_rows(problem)[:, support], matrix)


DIGITS = 12
"""Significant digits of the multipliers in a proof."""


def rounded(values: Floats) -> Floats:
    """Values >= 0 to DIGITS significant digits."""
    positive = values > 0
    power = np.floor(np.log10(np.where(positive, values, 1.0)))
    scale = 10.0 ** (DIGITS - 1 - power)
    return np.where(positive, np.round(values * scale) / scale, 0.0)


FEASIBILITY = 1e-10
"""Tolerance of HiGHS on rows and on reduced costs."""


def engine(presolve: str) -> Any:
    """A silent HiGHS on one thread."""
    return silent_highs(
        {
            "presolve": presolve,
            "primal_feasibility_tolerance": FEASIBILITY,
            "dual_feasibility_tolerance": FEASIBILITY,
        }
    )


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
        highs = engine(presolve="off")
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
            solution = highs.getSolution()
            point = np.maximum(np.array(solution.col_value), 0.0)  # entries are off by the tolerance
            return Optimum(point / point.sum(), self._multipliers(-np.array(solution.row_dual)))
        if status == highspy.HighsModelStatus.kInfeasible:
            ray = highs.getDualRay()
            if ray[1]:
                return Optimum(None, self._multipliers(-np.asarray(ray[2])))
        highs.clearSolver()
        return Optimum(None, np.zeros(len(pricing.rows) + 2 * pricing.coordinates))

    def basis(self) -> NDArray[np.int64] | None:
        """The last basis in the columns of v and then of the slacks of G; None where the box holds it elsewhere."""
        import highspy

        state, n, r = self._highs.getBasis(), self.pricing.size, len(self._scale)
        inside = highspy.HighsBasisStatus.kBasic
        basic = [j for j, status in enumerate(state.col_status) if status == inside]
        basic += [n + i for i, status in enumerate(state.row_status[:r]) if status == inside]
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
        vertex = self.solve(cost, low, high).point
        highs.changeRowsBounds(len(which), which, np.full(len(which), -np.inf), zeros)
        if self.pricing.matrix is not None:
            highs.changeColsBounds(self.pricing.size, self._columns, np.zeros(len(free)), np.ones(len(free)))
        return vertex

    def _multipliers(self, duals: Floats) -> Floats:
        """Those of G and of the two sides of the box from the duals of the rows, with the sign of upper bounds."""
        r, k = len(self._scale), self.pricing.coordinates
        full = np.zeros(r + 2 * k)
        full[:r] = np.maximum(duals[:r], 0.0) / self._scale
        if self.pricing.matrix is not None:
            full[r : r + k] = np.maximum(duals[self._first :], 0.0)
            full[r + k :] = np.maximum(-duals[self._first :], 0.0)
        return rounded(full)


FLOOR = 1e-4
"""Entries below this count as this in the slope -ln t, which would be infinite at 0."""

STEPS = 30
"""Most programs for one start; a descent takes about four."""


def entropies(pricing: Pricing, posteriors: Floats) -> Floats:
    """Entropy of X at posteriors of W, the last axis."""
    seen = posteriors if pricing.matrix is None else posteriors @ pricing.matrix.T
    return np.asarray(phi(np.clip(seen, 0.0, 1.0)).sum(axis=-1))


def slopes(pricing: Pricing, posterior: Floats, floor: float = FLOOR) -> Floats:
    """Derivative of the entropy, shape (n,), but for a constant."""
    if pricing.matrix is None:
        return -np.log(np.maximum(posterior, floor))
    return np.asarray(-np.log(np.maximum(pricing.matrix @ posterior, floor)) @ pricing.matrix)


def descend(lp: BoxLP, prices: Floats, start: Floats) -> tuple[float, Floats] | None:
    """The last vertex on the way down from a start, and its reduced cost.

    The entropy is concave, so the vertex that is best for its tangent at the present point is no worse than it.
    """
    best, point = np.inf, start
    last: Floats | None = None
    for _ in range(STEPS):
        vertex = lp.solve(slopes(lp.pricing, point) - prices).point
        if vertex is None:
            break
        reduced = float(entropies(lp.pricing, vertex) - prices @ vertex)
        if reduced >= best - 1e-12:
            break
        best, point, last = reduced, vertex, vertex
    return None if last is None else (best, last)

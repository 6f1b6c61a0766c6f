"""Linear programs of boxes of posteriors, for the proof by layers; see :mod:`privopt.problems.local_information_privacy.layers`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import silent_highs
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.layers import SPAN, Cells, Layers
from privopt.solvers.local_information_privacy.columns.program import phi, rounded

ALIKE = 1e-9
"""Values of m nearer than this are one in a program."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The program of a box: how likely each symbol has each of the values of m between which costs are concave.

    Attributes
    ----------
    symbols, values : array (v,)
        Each symbol with each of its values, in order.
    rows : array (r,)
        The rows that say something, by their place among all.
    table : array (v, r)
        What each value adds to them; in expectation they are at most ``most``, shape (r,).
    extremes : pairs of arrays (v, k) and (k,)
        Numbers below hi and above lo of each value of the secret: what each value adds, and a constant.
    """

    symbols: Ints
    values: Floats
    rows: Ints
    table: Floats
    most: Floats
    extremes: Sequence[tuple[Floats, Floats]]

    @classmethod
    def of(cls, layers: Layers, cell: Cells) -> Relaxed:
        """Of one box, in floats."""
        ends, stop = cell.ends[0], cell.stop[0]
        atoms = cell.atoms[0].T
        symbols, places = np.nonzero(np.diff(atoms, axis=1, prepend=-1.0) > ALIKE)
        values = atoms[symbols, places]
        cover = np.clip(values[:, None] - ends, 0.0, stop - ends)
        least, width = layers.least.mid.T[symbols], layers.width.mid.T[symbols]
        lengths = np.append(np.diff(ends), 0.0)
        extremes = [
            (least * values[:, None] + width * (cover @ slopes), lengths @ constants)
            for constants, slopes in lines(layers, cell)
        ]
        above, below = layers.above.mid, layers.below.mid
        bounds = extremes[0][0] @ above.T - extremes[1][0] @ below.T
        own, allowed = _own(layers, cell, symbols, values)
        counts = np.flatnonzero(own.any(axis=0))
        fixed = below @ extremes[1][1] - above @ extremes[0][1]
        return cls(
            symbols, values, np.concatenate([np.arange(len(above)), len(above) + counts]),
            np.concatenate([bounds, own[:, counts]], axis=1), np.concatenate([fixed, allowed[counts]]), extremes,
        )  # fmt: skip

    def costs(self, layers: Layers, prices: Floats) -> Floats:
        """The entropy less its price of every value."""
        masses = layers.p.mid[self.symbols] * self.values
        return np.asarray(phi(masses) - prices[self.symbols] * masses)


def lines(layers: Layers, cell: Cells) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """What :meth:`Layers.lines` says of one box, in floats: shapes (e, k)."""
    start, stop = cell.ends[0][:, None], cell.stop[0][:, None]
    left, total = layers.left.mid, layers.total.mid
    rest, width = total - left, layers.width.mid.T
    (d, c, u), (a, b) = (
        [(float(end[0][0]), float(end[1][0])) for end in (cell.d, cell.c, cell.u)],
        [(end[0][0], end[1][0]) for end in (cell.a, cell.b)],
    )
    low = (cell.low[0] >= stop).astype(float) @ width
    high = (cell.high[0] > start).astype(float) @ width
    for least, at in (
        (total - layers.most.mid, u[0]), (total - layers.half.mid, c[0]), (left, a[0]), (rest, b[0])
    ):  # fmt: skip
        low = np.maximum(low, np.where(stop <= at, least, 0.0))
    for most, at in ((layers.most.mid, d[1]), (layers.half.mid, c[1]), (left, a[1]), (rest, b[1])):
        high = np.minimum(high, np.where(start >= at, most, math.inf))
    high = np.maximum(high, low)
    wide, span = high - low > SPAN, np.maximum(high - low, SPAN)
    below, above = (
        [np.minimum(w, left) for w in (low, high)],
        [np.maximum(w - rest, 0.0) for w in (low, high)],
    )
    rise = np.where(wide, (below[1] - below[0]) / span, high <= left)
    climb = np.where(wide, (above[1] - above[0]) / span, low >= rest)
    under = np.minimum(below[0] - low * rise, below[1] - high * rise)
    over = np.maximum(above[0] - low * climb, above[1] - high * climb)
    gone, there = (start >= a[1], stop <= a[0]), (start >= b[1], stop <= b[0])
    return (
        (np.where(gone[0], 0.0, np.where(gone[1], left, under)), np.where(gone[0], 1.0, np.where(gone[1], 0.0, rise))),
        (np.where(there[0], 0.0, np.where(there[1], -rest, over)), np.where(there[0], 0.0, np.where(there[1], 1.0, climb))),
    )  # fmt: skip


def _own(layers: Layers, cell: Cells, symbols: Ints, values: Floats) -> tuple[Floats, Floats]:
    """What each value adds to the rows on d, u, c, a and b, shape (v, rows), and what these allow."""
    theta, at = layers.theta, values[:, None]
    (d0, d1), (c0, c1), (u0, u1) = ((float(e[0][0]), float(e[1][0])) for e in (cell.d, cell.c, cell.u))
    counted = [values > u1, values < d0, values < u0, values > d1, values > c1, values < c0]
    sides = [at > cell.a[1], at < cell.a[0], at > cell.b[1], at < cell.b[0]]
    p, width = layers.p.mid[symbols], layers.width.mid.T[symbols]
    table = [np.array(counted).T * p[:, None], *[side * width for side in sides]]
    allowed = [theta, theta, 1 - theta, 1 - theta, 0.5, 0.5]
    return np.concatenate(table, axis=1), np.concatenate([allowed, *[room.mid for room in layers.rooms]])


@dataclass(frozen=True, eq=False)
class Solved:
    """An optimum: its value, the shares of the values (v,), multipliers of all rows and of the sum."""

    value: float
    shares: Floats
    full: Floats
    nu: float
    program: Relaxed

    def totals(self, amounts: Floats, n: int) -> Floats:
        """Expected amounts of each symbol, shape (n,)."""
        return np.bincount(self.program.symbols, self.shares * amounts, n).astype(np.float64)

    def posterior(self, p: Floats) -> Floats:
        """The expected one."""
        mass = p * self.totals(self.program.values, len(p))
        return np.asarray(mass / mass.sum())


@dataclass(frozen=True, eq=False)
class Mixed:
    """What the expected distribution of m makes of the bounds on ratios if the branches of all layers are known.

    Attributes
    ----------
    mean : array (n,)
        Expected m.
    multipliers, broken : array (rows,)
        Those of the bounds on ratios, and by how much each is exceeded.
    rise, fall : array (rows, k)
        By how much the program has hi too low and lo too high, for each value of the secret as each bound counts them.
    upper, lower : array (k,)
        Where the branch of hi and of lo changes.
    left_open : float
        What the multipliers would gain.
    """

    mean: Floats
    multipliers: Floats
    broken: Floats
    rise: Floats
    fall: Floats
    upper: Floats
    lower: Floats
    left_open: float

    @classmethod
    def of(cls, solved: Solved, layers: Layers) -> Mixed:
        """Of the optimum of a program."""
        program, above, below = solved.program, layers.above.mid, layers.below.mid
        left, total = layers.left.mid, layers.total.mid
        order = np.argsort(program.values, kind="stable")
        values = program.values[order]
        masses = layers.width.mid[:, program.symbols[order]] * solved.shares[order]
        reached = np.cumsum(masses, axis=1)
        upper, lower = (
            values[np.minimum((reached < share[:, None] - 1e-9).sum(axis=1), len(values) - 1)]
            for share in (total - left, left)
        )
        mean = solved.totals(program.values, len(layers.p.mid))
        base = layers.least.mid @ mean
        high = base + left * upper + (masses * np.maximum(values - upper[:, None], 0.0)).sum(axis=1)
        low = base + left * lower - (masses * np.maximum(lower[:, None] - values, 0.0)).sum(axis=1)
        stated = [solved.shares @ part + fixed for part, fixed in program.extremes]
        used, broken = solved.full[: len(above)], above @ high - below @ low
        gained = float(used @ (broken - above @ stated[0] + below @ stated[1]))
        return cls(
            mean, used, broken, above * (high - stated[0]), below * (stated[1] - low), upper, lower, gained
        )

    def quantile(self, solved: Solved, weights: Floats, share: float) -> float:
        """The quantile of the expected distribution of m under weights of symbols."""
        program = solved.program
        order = np.argsort(program.values, kind="stable")
        mass = np.cumsum((solved.shares * weights[program.symbols])[order])
        place = min(int(np.searchsorted(mass, share - 1e-9)), len(mass) - 1)
        return float(program.values[order[place]])


class Programs:
    """Linear programs of boxes, one after the other."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self._highs = silent_highs({"presolve": "off"})
        self.solved = 0

    def solve(self, cell: Cells, prices: Floats) -> Solved | Floats | None:
        """The optimum of a box; a ray of multipliers (rows, then the sum) where it is empty; None where neither is known."""
        program = Relaxed.of(self.layers, cell)
        self._highs.passModel(self._model(program, program.costs(self.layers, prices)))
        return self._run(program)

    def _run(self, program: Relaxed) -> Solved | Floats | None:
        import highspy

        highs, n = self._highs, self.layers.p.shape[0]
        status = self._status()
        if status == highspy.HighsModelStatus.kOptimal:
            solution = highs.getSolution()
            shares, duals = np.maximum(np.array(solution.col_value), 0.0), np.array(solution.row_dual)
            full = np.zeros(self.layers.count)
            full[program.rows] = rounded(np.maximum(-duals[n + 1 :], 0.0))
            return Solved(highs.getInfo().objective_function_value, shares, full, float(duals[n]), program)
        if status == highspy.HighsModelStatus.kInfeasible and (ray := highs.getDualRay())[1]:
            values, full = -np.asarray(ray[2]), np.zeros(self.layers.count + 1)
            full[program.rows], full[-1] = np.maximum(values[n + 1 :], 0.0), -values[n]
            return full
        highs.clearSolver()
        return None

    def _status(self) -> Any:
        """How the program ends; where it is left undecided it is tried once more, with the primal simplex method."""
        import highspy

        highs = self._highs
        self.solved += 1
        highs.run()
        status = highs.getModelStatus()
        if status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible):
            return status
        highs.clearSolver()
        highs.setOptionValue("simplex_strategy", 4)
        highs.run()
        highs.setOptionValue("simplex_strategy", 1)
        return highs.getModelStatus()

    def _model(self, program: Relaxed, costs: Floats) -> Any:
        import highspy

        n, count, r = self.layers.p.shape[0], len(costs), len(program.most)
        masses = self.layers.p.mid[program.symbols] * program.values
        dense = np.concatenate([masses[:, None], program.table], axis=1)
        columns, rows = np.nonzero(dense)
        starts = np.concatenate([[0], np.cumsum(1 + np.bincount(columns, minlength=count))])
        index, value = np.empty(starts[-1], dtype=np.int32), np.ones(starts[-1])
        places = np.arange(len(columns)) + columns + 1
        index[starts[:-1]], index[places], value[places] = program.symbols, n + rows, dense[columns, rows]
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = count, n + 1 + r
        lp.col_cost_ = costs
        lp.col_lower_, lp.col_upper_ = np.zeros(count), np.full(count, np.inf)
        lp.row_lower_ = np.concatenate([np.ones(n + 1), np.full(r, -np.inf)])
        lp.row_upper_ = np.concatenate([np.ones(n + 1), program.most])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = starts, index, value
        return lp

    def largest(self, cell: Cells, budget: Budget) -> list[tuple[float, Floats]]:
        """The largest m of a box, with the multipliers (rows, then the sum) that say so, for the first symbols for which time allows; none if it is empty."""
        program, n = Relaxed.of(self.layers, cell), self.layers.p.shape[0]
        count = len(program.values)
        self._highs.passModel(self._model(program, np.zeros(count)))
        places = np.arange(count, dtype=np.int32)
        found: list[tuple[float, Floats]] = []
        for w in range(n):
            costs = np.where(program.symbols == w, -program.values, 0.0)
            self._highs.changeColsCost(count, places, costs)
            optimum = self._run(program) if budget.remaining > 0 else None
            if not isinstance(optimum, Solved):
                break
            found.append((-optimum.value, np.append(optimum.full, optimum.nu)))
        return found

    def joint_prices(self, cells: Sequence[Cells], seconds: float) -> Floats | None:
        """Prices at which the least cost over all boxes is largest; None if none are found."""
        import highspy

        n = self.layers.p.shape[0]
        lp = self._joint([Relaxed.of(self.layers, cell) for cell in cells])
        highs = silent_highs({"solver": "ipm", "run_crossover": "off", "time_limit": max(0.1, seconds)})
        highs.passModel(lp)
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(highs.getSolution().row_dual)[:n]

    def _joint(self, programs: Sequence[Relaxed]) -> Any:
        """The program of all boxes, each used to an amount; they average to P(w)."""
        import highspy

        n = self.layers.p.shape[0]
        starts, index, values, costs = [np.zeros(1, dtype=np.int64)], [], [], []
        first = n
        for program in programs:
            count, r = program.table.shape
            masses, symbols = self.layers.p.mid[program.symbols] * program.values, program.symbols
            dense = np.column_stack([masses, np.ones(count), masses, program.table])
            rest = np.tile(np.arange(r) + first + n + 1, (count, 1))
            where = np.column_stack([symbols, first + symbols, np.full(count, first + n), rest])
            index += [where.ravel(), first + np.arange(n + 1 + r)]
            values += [dense.ravel(), np.concatenate([np.full(n + 1, -1.0), -program.most])]
            starts.append(starts[-1][-1] + np.cumsum(np.append(np.full(count, r + 3), n + 1 + r)))
            costs.append(np.append(program.costs(self.layers, np.zeros(n)), 0.0))
            first += n + 1 + r
        lp = highspy.HighsLp()
        lp.col_cost_ = np.concatenate(costs)
        lp.num_col_, lp.num_row_ = len(lp.col_cost_), first
        lp.col_lower_, lp.col_upper_ = np.zeros(lp.num_col_), np.full(lp.num_col_, np.inf)
        lower = [np.append(np.zeros(n + 1), np.full(len(program.most), -np.inf)) for program in programs]
        lp.row_lower_ = np.concatenate([self.layers.p.mid, *lower])
        lp.row_upper_ = np.concatenate([self.layers.p.mid, np.zeros(first - n)])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.concatenate(starts)
        lp.a_matrix_.index_, lp.a_matrix_.value_ = np.concatenate(index), np.concatenate(values)
        return lp

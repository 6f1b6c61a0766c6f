"""The linear program of metric privacy: one part for each component, with pairs of points that are added as they are broken."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.highs import FINEST, silent_highs
from privopt.core.solver import Budget
from privopt.solvers.metric_privacy._inside import solve_inside
from privopt.solvers.metric_privacy._parts import Answer, Part, alone

NEAREST = 6
"""Pairs to the nearest points with which programs begin."""

WHOLE = 2.0
"""Times the nearest pairs up to which programs begin with all pairs."""

SIMPLEX_ROWS = 60_000
"""Programs of at most so many rows are solved by the simplex method, which ends at a vertex."""

BROKEN = 1e-10
"""Violations above this, relative to the scale of a row, are added to the program."""


ROUNDS = 40


def solve_part(part: Part, answer: Answer, budget: Budget) -> bool:
    """Solve the program of a part and enter what it gives; whether it was solved to the end."""
    if not len(part.first):
        none = np.zeros(0, dtype=np.int64)
        answer.take(part, alone(part), none, none, np.zeros(0))
        return True
    if solve_inside(part, answer, budget):
        return True
    program = _Program(part)
    solved = False
    for _ in range(ROUNDS):
        if not program.solve(budget):
            break
        answer.rounds += 1
        solved = not program.add_broken()
        if solved:
            break
    answer.iterations += program.iterations
    if program.matrix is None:
        return False
    answer.take(part, program.matrix, program.pairs, program.outputs, program.multipliers)
    return solved


def _nearest(part: Part) -> Bools:
    """Which ordered pairs join a point with one of its nearest, or the other way round."""
    order = np.lexsort((part.growth, part.first))
    starts = np.searchsorted(part.first[order], np.arange(len(part.points)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - starts[part.first[order]]
    near = rank < NEAREST
    half = len(order) // 2
    both = near[:half] | near[half:]
    return np.concatenate([both, both])


class _Program:
    """The program of a part in HiGHS: rows are pairs at an output, columns are points by outputs."""

    def __init__(self, part: Part) -> None:
        self.part = part
        n, m = part.cost.shape
        self.unit = float(np.abs(part.cost - part.cost.min(axis=1, keepdims=True)).mean()) or 1.0
        near = _nearest(part)
        if len(near) <= WHOLE * near.sum():
            near = np.ones(len(near), dtype=bool)
        self.active = np.repeat(near[:, None], m, axis=1)
        self.pairs, self.outputs = np.nonzero(self.active)
        self.matrix: Floats | None = None
        self.multipliers = np.zeros(0)
        self.iterations = 0
        self._highs = self._build(n, m)

    def _build(self, n: int, m: int) -> Any:
        import highspy
        from scipy.sparse import csr_array, vstack

        sums = csr_array((np.ones(n * m), (np.repeat(np.arange(n), m), np.arange(n * m))), shape=(n, n * m))
        table: Any = vstack([sums, self._rows(self.pairs, self.outputs)]).tocsc()
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = n * m, table.shape[0]
        least = self.part.cost.min(axis=1, keepdims=True)
        program.col_cost_ = ((self.part.cost - least) / self.unit).ravel()
        program.col_lower_, program.col_upper_ = np.zeros(n * m), np.full(n * m, np.inf)
        below = np.full(len(self.pairs), -np.inf)
        program.row_lower_ = np.concatenate([np.ones(n), below])
        program.row_upper_ = np.concatenate([np.ones(n), np.zeros(len(self.pairs))])
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_, program.a_matrix_.index_ = table.indptr, table.indices
        program.a_matrix_.value_ = table.data
        highs = silent_highs(
            {
                "primal_feasibility_tolerance": FINEST,
                "dual_feasibility_tolerance": FINEST,
                "ipm_optimality_tolerance": FINEST,
                "run_crossover": "off",
            }
        )
        highs.passModel(program)
        return highs

    def _rows(self, pairs: Ints, outputs: Ints) -> Any:
        """Rows (M[first] - growth M[second]) scaling <= 0."""
        from scipy.sparse import csr_array

        part, m = self.part, self.part.cost.shape[1]
        scale = part.scaling[pairs]
        rows = np.arange(len(pairs))
        entries = np.concatenate([scale, -part.growth[pairs] * scale])
        columns = np.concatenate([part.first[pairs] * m + outputs, part.second[pairs] * m + outputs])
        return csr_array(
            (entries, (np.concatenate([rows, rows]), columns)), shape=(len(pairs), part.cost.size)
        )

    def solve(self, budget: Budget) -> bool:
        """Solve, and keep what comes out; False where the time ends first."""
        import highspy

        highs, (n, m) = self._highs, self.part.cost.shape
        if budget.remaining <= 0:
            return False
        method = "simplex" if len(self.pairs) <= SIMPLEX_ROWS else "ipm"
        highs.setOptionValue("solver", method)
        highs.setOptionValue("time_limit", float(highs.getRunTime() + min(budget.remaining, 1e7)))
        highs.run()
        info = highs.getInfo()
        self.iterations += int(max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0))
        ended = highs.getModelStatus() in (
            highspy.HighsModelStatus.kOptimal,
            highspy.HighsModelStatus.kUnknown,
        )
        if not ended:
            return False
        solution = highs.getSolution()
        matrix = np.array(solution.col_value).reshape(n, m)
        duals = np.array(solution.row_dual)
        if not (np.isfinite(matrix).all() and np.isfinite(duals).all()):
            return False
        self.matrix = matrix
        self.multipliers = np.maximum(-duals[n:], 0.0) * self.part.scaling[self.pairs] * self.unit
        return True

    def add_broken(self) -> bool:
        """Add the rows that the last answer breaks; whether there were any."""
        assert self.matrix is not None
        part = self.part
        if self.active.all():
            return False
        excess = (self.matrix[part.first] - part.growth[:, None] * self.matrix[part.second]) * part.scaling[
            :, None
        ]
        pairs, outputs = np.nonzero((excess > BROKEN) & ~self.active)
        if not len(pairs):
            return False
        rows = self._rows(pairs, outputs)
        self._highs.addRows(
            len(pairs),
            np.full(len(pairs), -np.inf),
            np.zeros(len(pairs)),
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data,
        )
        self.active[pairs, outputs] = True
        self.pairs = np.concatenate([self.pairs, pairs])
        self.outputs = np.concatenate([self.outputs, outputs])
        return True

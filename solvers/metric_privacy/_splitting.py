"""Alternating directions for the program of one component: all outputs share one sparse factorisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.measures.compiling import compiled, compiling_pays
from privopt.solvers.metric_privacy._parts import Part

Halves: TypeAlias = NDArray[np.float32]
"""Half as long as floats: the tables of rows by outputs are what a step reads and writes."""

RELAXATION = 1.7
"""Over-relaxation of the step of the rows, in (0, 2)."""

LOOKED = 50
"""Steps between two readings of the residuals and the bound."""

BALANCE = 3.0
"""Ratio of the residuals beyond which the penalty moves."""

REGULAR = 1e-10
"""Added to the diagonal that is factorised: where nothing may be told, constant columns have no curvature."""

STEPS = 1000
"""About as many steps are made: so often is a loop over all rows by outputs run."""


@dataclass
class Splitting:
    """The state of alternating directions: minimise cost . M with slack Z = A M >= 0 and rows of M that sum to 1.

    The step in M solves the same sparse system for every output, with right sides that are centred over the outputs:
    rows then sum to 1 exactly. The step in Z clips at 0. Where Z is positive its multiplier is 0, so that one table holds
    both: its positive part is Z, its negative part the scaled multiplier, which proves a bound after every step. The
    loops over rows by outputs are machine code where numba is installed.

    Parameters
    ----------
    part : Part
    matrix : array (n, m), optional
        Where to begin.
    """

    part: Part
    matrix: Floats
    steps: int = 0
    bound: float = -np.inf
    gap: float = np.inf

    def __init__(self, part: Part, matrix: Floats | None = None) -> None:
        from scipy.sparse import csr_array

        n, m = part.cost.shape
        self.part = part
        self.matrix = np.full((n, m), 1.0 / m) if matrix is None else matrix
        count = len(part.first)
        rows = np.arange(count)
        entries = np.concatenate([part.growth * part.scaling, -part.scaling])
        where = np.concatenate([rows, rows]), np.concatenate([part.second, part.first])
        self._table: Any = csr_array((entries, where), shape=(count, n))
        self._back: Any = self._table.T.tocsr()
        least = part.cost.min(axis=1, keepdims=True)
        self._cost = part.cost - least
        self._least = float(least.sum())
        self._state: Halves = np.maximum(self._table @ self.matrix, 0.0).astype(np.float32)
        self._penalty = 0.3 * float(self._cost.mean()) * m or 1.0
        self._best: Halves = np.zeros((0, m), dtype=np.float32)
        self._rows = _Rows(part, self._table, self._back, compiling_pays(STEPS * count * m))

    def run(self, budget: Budget, tolerance: float, most: int) -> None:
        """Step until the bound is within a share of the cost, the time is spent, or so many steps are made."""
        m = self.part.cost.shape[1]
        pushed = self._rows.back(np.abs(self._state))
        for _ in range(most):
            right = pushed - self._cost / self._penalty
            right -= right.mean(axis=1, keepdims=True)
            self.matrix = self._rows.solve(right) + 1.0 / m
            self.steps += 1
            late = budget.remaining <= 0
            looks = late or self.steps % LOOKED == 0
            before = np.maximum(self._state, 0.0) if looks else None
            pushed = self._rows.step(self.matrix, self._state)
            if before is not None and self._look(before):
                pushed = self._rows.back(np.abs(self._state))
            if late or self.gap <= tolerance:
                break

    def _look(self, before: Halves) -> bool:
        """Read the bound and the residuals, and balance them; whether the state was changed."""
        slack, dual = np.maximum(self._state, 0.0), np.minimum(self._state, 0.0)
        bound = float((self._cost + self._penalty * self._rows.back(dual)).min(axis=1).sum()) + self._least
        cost = float((self.matrix * self.part.cost).sum())
        if bound > self.bound:
            self.bound, self._best = bound, -np.float32(self._penalty) * dual
        image = (self._table @ self.matrix).astype(np.float32)
        primal = float(np.linalg.norm(image - slack)) / max(1e-300, float(np.linalg.norm(image)))
        change = self._penalty * float(np.linalg.norm(self._rows.back(slack - before)))
        moved = change / max(1e-300, float(np.linalg.norm(self._cost)))
        self.gap = max(abs(cost - self.bound) / max(1e-300, abs(cost)), primal)
        if 1.0 / BALANCE < primal / max(1e-300, moved) < BALANCE:
            return False
        factor = float(np.clip(np.sqrt(primal / max(1e-300, moved)), 0.2, 5.0))
        self._penalty *= factor
        self._state = np.asarray(slack + dual / np.float32(factor), dtype=np.float32)
        return True

    @property
    def multipliers(self) -> Floats:
        """The multipliers that prove the best bound, shape (pairs, outputs)."""
        count, m = len(self.part.first), self.part.cost.shape[1]
        best = self._best if self._best.size else np.zeros((count, m), dtype=np.float32)
        return np.asarray(best * self.part.scaling[:, None])


class _Rows:
    """The rows of pairs by outputs, and the factorisation of their normal matrix, as arrays or as compiled loops."""

    def __init__(self, part: Part, table: Any, back: Any, fast: bool) -> None:
        from scipy.sparse import identity
        from scipy.sparse.linalg import splu

        n = part.cost.shape[0]
        square: Any = (back @ table + REGULAR * identity(n)).tocsc()
        options = {"SymmetricMode": True}
        self._factor: Any = splu(square, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        self._table, self._back, self._fast = table, back, fast
        if fast:
            lower, upper, narrow = self._factor.L.tocsc(), self._factor.U.tocsc(), np.float32
            self._triangles = (
                lower.indptr,
                lower.indices,
                lower.data,
                upper.indptr,
                upper.indices,
                upper.data,
            )
            self._order = self._factor.perm_r.astype(np.int64), self._factor.perm_c.astype(np.int64)
            self._pairs = part.first.astype(np.int32), part.second.astype(np.int32)
            self._weights = (part.growth * part.scaling).astype(narrow), part.scaling.astype(narrow)

    def solve(self, right: Floats) -> Floats:
        """The normal matrix divided into right sides, shape (n, m)."""
        if not self._fast:
            return np.asarray(self._factor.solve(right))
        made = np.empty(right.shape)
        made[self._order[0]] = right
        compiled(_substitute)(*self._triangles, made)
        return np.asarray(made[self._order[1]])

    def step(self, matrix: Floats, state: Halves) -> Floats:
        """Step in the slack, in place, and return what its absolute value gives back to the points."""
        if self._fast:
            pushed = np.zeros(matrix.shape, dtype=np.float32)
            narrow = matrix.astype(np.float32), np.float32(RELAXATION)
            compiled(_sweep)(*self._pairs, *self._weights, *narrow, state, pushed)
            return pushed.astype(np.float64)
        slack = np.maximum(state, 0.0)
        state += RELAXATION * ((self._table @ matrix).astype(np.float32) - slack)
        return self.back(np.abs(state))

    def back(self, values: Halves) -> Floats:
        """What values of the rows give back to the points, shape (n, m)."""
        return np.asarray(self._back @ values, dtype=np.float64)


def _sweep(
    first: Any, second: Any, grown: Any, scale: Any, matrix: Any, relaxation: Any, state: Any, pushed: Any
) -> None:
    """For each row and output: state + relaxation (image - slack), and its absolute value given back."""
    for k in range(len(first)):
        i, j = first[k], second[k]
        u, v = grown[k], scale[k]
        for y in range(matrix.shape[1]):
            old = state[k, y]
            slack = old if old > 0 else old - old
            new = old + relaxation * (u * matrix[j, y] - v * matrix[i, y] - slack)
            state[k, y] = new
            size = abs(new)
            pushed[j, y] += u * size
            pushed[i, y] -= v * size


def _substitute(down: Any, below: Any, lower: Any, across: Any, above: Any, upper: Any, values: Any) -> None:
    """Divide a unit lower and an upper triangle, stored by columns, into the columns of a table, in place."""
    n, m = values.shape
    for j in range(n):
        for q in range(down[j], down[j + 1]):
            i, factor = below[q], lower[q]
            if i > j:
                for y in range(m):
                    values[i, y] -= factor * values[j, y]
    for j in range(n - 1, -1, -1):
        pivot = 1.0
        for q in range(across[j], across[j + 1]):
            if above[q] == j:
                pivot = upper[q]
        for y in range(m):
            values[j, y] /= pivot
        for q in range(across[j], across[j + 1]):
            i, factor = above[q], upper[q]
            if i < j:
                for y in range(m):
                    values[i, y] -= factor * values[j, y]

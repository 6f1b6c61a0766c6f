"""Alternating directions for the program of one component: all outputs share one sparse factorisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.solvers.metric_privacy._program import Part

RELAXATION = 1.7
"""Over-relaxation of the step of the rows, in (0, 2)."""

LOOKED = 50
"""Steps between two readings of the residuals and the bound."""

BALANCE = 3.0
"""Ratio of the residuals beyond which the penalty moves."""

REGULAR = 1e-10
"""Added to the diagonal that is factorised: where nothing may be told, constant columns have no curvature."""


@dataclass
class Splitting:
    """The state of alternating directions: minimise cost . M with slack Z = A M >= 0 and rows of M that sum to 1.

    The step in M solves the same sparse system for every output, with right sides that are centred over the outputs:
    rows then sum to 1 exactly. The step in Z clips at 0. Multipliers of the slack prove a bound after every step.

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
        from scipy.sparse import csr_array, identity
        from scipy.sparse.linalg import splu

        n, m = part.cost.shape
        self.part = part
        self.matrix = np.full((n, m), 1.0 / m) if matrix is None else matrix
        count = len(part.first)
        rows = np.arange(count)
        entries = np.concatenate([part.growth * part.scaling, -part.scaling])
        where = np.concatenate([rows, rows]), np.concatenate([part.second, part.first])
        self._table: Any = csr_array((entries, where), shape=(count, n))
        self._back: Any = self._table.T.tocsr()
        square: Any = (self._back @ self._table + REGULAR * identity(n)).tocsc()
        self._factor: Any = splu(
            square, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        least = part.cost.min(axis=1, keepdims=True)
        self._cost = part.cost - least
        self._least = float(least.sum())
        self._slack: Floats = np.maximum(self._table @ self.matrix, 0.0)
        self._dual: Floats = np.zeros_like(self._slack)
        self._penalty = 0.3 * float(self._cost.mean()) * m or 1.0
        self._best: Floats = np.zeros(0)

    def run(self, budget: Budget, tolerance: float, most: int) -> None:
        """Step until the bound is within a share of the cost, the time is spent, or so many steps are made."""
        m = self.part.cost.shape[1]
        for _ in range(most):
            right = self._back @ (self._slack - self._dual) - self._cost / self._penalty
            right -= right.mean(axis=1, keepdims=True)
            self.matrix = self._factor.solve(right) + 1.0 / m
            image = self._table @ self.matrix
            target = RELAXATION * image + (1.0 - RELAXATION) * self._slack + self._dual
            before = self._slack
            self._slack = np.maximum(target, 0.0)
            self._dual = np.minimum(target, 0.0)
            self.steps += 1
            late = budget.remaining <= 0
            if late or self.steps % LOOKED == 0:
                self._look(image, before)
            if late or self.gap <= tolerance:
                break

    def _look(self, image: Floats, before: Floats) -> None:
        """Read the bound and the residuals, and balance them."""
        priced = self._cost + self._penalty * (self._back @ self._dual)
        bound = float(priced.min(axis=1).sum()) + self._least
        cost = float((self.matrix * self.part.cost).sum())
        if bound > self.bound:
            self.bound, self._best = bound, -self._penalty * self._dual
        primal = float(np.linalg.norm(image - self._slack)) / max(1e-300, float(np.linalg.norm(image)))
        change = self._penalty * float(np.linalg.norm(self._back @ (self._slack - before)))
        dual = change / max(1e-300, float(np.linalg.norm(self._cost)))
        self.gap = max(abs(cost - self.bound) / max(1e-300, abs(cost)), primal)
        if not 1.0 / BALANCE < primal / max(1e-300, dual) < BALANCE:
            factor = float(np.clip(np.sqrt(primal / max(1e-300, dual)), 0.2, 5.0))
            self._penalty *= factor
            self._dual = self._dual / factor

    @property
    def multipliers(self) -> Floats:
        """The multipliers that prove the best bound, shape (pairs, outputs)."""
        count, m = len(self.part.first), self.part.cost.shape[1]
        best = self._best if self._best.size else np.zeros((count, m))
        return np.asarray(best * self.part.scaling[:, None])

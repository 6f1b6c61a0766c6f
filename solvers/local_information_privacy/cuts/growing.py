"""The linear program of a distortion over rows that join: each for the releases that break it, and on from the last basis."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import FINEST, Joining, Rows, sums_of_rows
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy.direct_lp import Program

BROKEN = 1e-10
"""By how much a row must be broken to join for a release, relative to its largest entry."""


class Growing:
    """min cost . q over q >= 0 with ``q.sum(axis=1) == marginal`` and those of ``rows q[:, y] <= 0`` that were broken so far.

    Most rows are broken by few releases. The program with all of them has as many as rows times releases; this one has those
    that matter, and goes on from its last basis when others join.

    Parameters
    ----------
    lp : Program
        Its rows may be the first ones only; see :meth:`solve`.

    Attributes
    ----------
    q : array (k, m)
        The last optimum; at first the cheapest release after each observation.
    value : float
        Its cost.
    """

    def __init__(self, lp: Program) -> None:
        self._lp, (k, m) = lp, lp.cost.shape
        self.q = np.zeros((k, m))
        self.q[np.arange(k), lp.cost.argmin(axis=1)] = lp.marginal
        self.value = float((self.q * lp.cost).sum())
        self._program = Joining(lp.cost.ravel(), sums_of_rows(k, m, lp.marginal), FINEST)
        self._joined = np.zeros((0, m), dtype=np.bool_)
        self._pairs: list[tuple[int, int]] = []
        self._duals: Floats = np.zeros(0)

    def solve(self, rows: Floats, budget: Budget) -> bool:
        """Whether the optimum with all these rows, (r, k), of which the first ones are those of before, was found in time."""
        scaled = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0.0), 1e-300)
        more = np.zeros((len(rows) - len(self._joined), self.q.shape[1]), dtype=np.bool_)
        self._joined = np.concatenate([self._joined, more])
        while budget.remaining > 0:
            broken = np.argwhere((scaled @ self.q > BROKEN) & ~self._joined)
            if len(broken) == 0 and len(self._duals) == len(self._pairs):
                return True
            self._join(scaled, broken)
            if not self._run(budget.remaining):
                return False
        return False

    def _join(self, scaled: Floats, broken: Ints) -> None:
        """Add rows for the releases that break them."""
        k, m = self.q.shape
        count = len(broken)
        columns = (np.arange(k) * m + broken[:, 1:]).ravel()
        values, ends = scaled[broken[:, 0]].ravel(), np.arange(count + 1) * k
        self._program.join(Rows(values, columns, ends, np.zeros(count)))
        self._joined[broken[:, 0], broken[:, 1]] = True
        self._pairs += [(int(r), int(y)) for r, y in broken]

    def _run(self, seconds: float) -> bool:
        best = self._program.minimise(seconds)
        if best is None:
            return False
        self.q, self.value, self._duals = best.point.reshape(self.q.shape), best.value, best.multipliers
        return True

    def multipliers(self, rows: Floats) -> Floats:
        """Those of all rows for each release in the last optimum, (m, r); 0 where a row did not join."""
        found = np.zeros((self.q.shape[1], len(rows)))
        largest = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1e-300)
        for (r, y), dual in zip(self._pairs, self._duals.tolist(), strict=False):
            found[y, r] = dual / largest[r]
        return found

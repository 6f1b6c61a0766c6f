"""Posteriors of low cost that keep the bounds at every joint of a set whose rows vary in intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.layers import Layers
from privopt.solvers.common.highs import silent_highs
from privopt.solvers.local_information_privacy.columns.program import phi
from privopt.solvers.local_information_privacy.cuts.mixtures import Mixtures

FLOOR = 1e-4
"""Entries below this count as this in the slope -ln t."""

STEPS = 12
"""Most programs for one start."""

PEAKS = 10
"""Starts of a round that are high at a few symbols and level elsewhere."""

MOST = 3
"""Symbols at which such a start is high, at most."""

NEAR = 3
"""Starts of a round beside a posterior met before, and as many half way between two."""

SPREAD = (0.3, 1.7)
"""Factors of the entries of a start beside a posterior."""

STALL = 1e-4
"""A round counts as fruitless if it gains less, relatively."""

PATIENCE = 25
"""Fruitless rounds in a row after which the search ends."""


class Allowed:
    """Minimise c . v over the posteriors whose columns keep the bounds on ratios at all rows of the set, at one prior each.

    hi is the least of L.m + r a + W . (m - a)_+ over numbers a, and lo the largest of L.m + r b - W . (b - m)_+
    (linear programming duality), so that a and b and the positive parts are further variables.
    """

    def __init__(self, layers: Layers) -> None:
        self.p = layers.p.mid
        self._highs = silent_highs({})
        self._highs.passModel(_model(layers))
        self._places = np.arange(len(self.p), dtype=np.int32)

    def least(self, cost: Floats) -> Floats | None:
        """The posterior that costs least; None where the program fails."""
        import highspy

        n = len(self.p)
        self._highs.changeColsCost(n, self._places, cost * self.p)
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._highs.clearSolver()
            return None
        mass = np.maximum(np.array(self._highs.getSolution().col_value)[:n], 0.0) * self.p
        return np.asarray(mass / mass.sum())

    def descend(self, prices: Floats, start: Floats, budget: Budget) -> list[Floats]:
        """The vertices on the way down from a start: the entropy is concave, so each tangent leads no higher."""
        best, point, path = np.inf, start, list[Floats]()
        for _ in range(STEPS):
            vertex = self.least(-np.log(np.maximum(point, FLOOR)) - prices) if budget.remaining > 0 else None
            if vertex is None:
                break
            reduced = float(phi(vertex).sum() - prices @ vertex)
            if reduced >= best - 1e-9:
                break
            best, point = reduced, vertex
            path.append(vertex)
        return path


class Descents:
    """Rounds of descents at the prices of the best mixture so far, which what they meet then improves.

    Parameters
    ----------
    allowed : Allowed
    mixtures : Mixtures
        Take the posteriors.
    seed : int
    """

    def __init__(self, allowed: Allowed, mixtures: Mixtures, seed: int) -> None:
        self.allowed, self.mixtures = allowed, mixtures
        self._rng = np.random.default_rng(seed)

    def run(self, until: Budget) -> None:
        """Go on until time is spent or rounds no longer gain."""
        fruitless = 0
        while until.remaining > 0 and fruitless < PATIENCE:
            before, prices = self.mixtures.value, self.mixtures.prices
            points = [v for start in self._starts() for v in self.allowed.descend(prices, start, until)]
            if points:
                self.mixtures.mix(np.array(points))
            fruitless = 0 if self.mixtures.value < before * (1.0 - STALL) else fruitless + 1

    def _starts(self) -> list[Floats]:
        rng, p, pool = self._rng, self.allowed.p, self.mixtures.pool
        starts = []
        for _ in range(PEAKS):
            chosen = rng.choice(len(p), min(len(p), int(rng.integers(1, MOST + 1))), replace=False)
            start = 0.5 * p
            start[chosen] += rng.random(len(chosen))
            starts.append(start)
        for one, two in rng.integers(len(pool), size=(NEAR, 2)).tolist():
            starts += [pool[one] * rng.uniform(*SPREAD, len(p)), pool[one] + pool[two]]
        return [start / start.sum() for start in starts]


def _model(layers: Layers) -> Any:
    """Variables m (n,), a and b (k,), the positive parts of m - a and of b - m (k n,) each."""
    import highspy

    least, width = layers.least.mid, layers.width.mid
    above, below, (k, n) = layers.above.mid, layers.below.mid, least.shape
    left = 1.0 - least.sum(axis=1)
    bounds = np.concatenate(
        [
            (above - below) @ least,
            above * left,
            -below * left,
            (above[:, :, None] * width).reshape(len(above), -1),
            (below[:, :, None] * width).reshape(len(above), -1),
        ],
        axis=1,
    )
    columns, rows = bounds.shape[1], len(bounds)
    s, w = (part.ravel() for part in np.meshgrid(np.arange(k), np.arange(n), indexing="ij"))
    part = n + 2 * k + s * n + w
    rises = np.column_stack([w, n + s, part]), np.array([-1.0, 1.0, 1.0])
    falls = np.column_stack([w, n + k + s, part + k * n]), np.array([1.0, -1.0, 1.0])
    places = [np.arange(n), *[np.flatnonzero(row) for row in bounds]]
    values = [layers.p.mid, *[row[row != 0] for row in bounds]]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, 1 + rows + 2 * k * n
    lp.col_cost_, lp.col_lower_ = np.zeros(columns), np.zeros(columns)
    lp.col_upper_ = np.full(columns, np.inf)
    lp.row_lower_ = np.concatenate([[1.0], np.full(rows, -np.inf), np.zeros(2 * k * n)])
    lp.row_upper_ = np.concatenate([[1.0], np.zeros(rows), np.full(2 * k * n, np.inf)])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    sizes = np.concatenate([[len(place) for place in places], np.full(2 * k * n, 3)])
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(sizes)])
    lp.a_matrix_.index_ = np.concatenate([*places, rises[0].ravel(), falls[0].ravel()])
    lp.a_matrix_.value_ = np.concatenate([*values, np.tile(rises[1], k * n), np.tile(falls[1], k * n)])
    return lp

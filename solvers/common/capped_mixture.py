"""Mixtures of releases of which an average over a set of joints is capped: a linear program with a row for each joint met, and columns that improve it.

What a release says of a secret at most over a set is bounded as in :mod:`privopt.problems.robust_information`: for lines above t ln t
and a distribution r of the release, by an expectation at the worst joint. With r(y) = rho . m_y for a distribution rho of what is observed,
the part of each column m_y grows in proportion to the column. So over columns c_k with weights x_k >= 0

    maximise sum_k x_k gain(c_k)   where   sum_k x_k c_k = 1,   sum_k x_k told_j(c_k) <= cap   for each joint j of the set

is a linear program; the joint at which its answer says most is the next row. The mixture of joints by the prices of the rows is the next rho.
Columns with the largest gain at the prices of the program are sought among those that differ little from the ones in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import Least, Rows, minimise
from privopt.core.solver import Budget
from privopt.problems.robust_information import read, secants
from privopt.problems.robust_reading import SetReader

JOINTS = 40
"""Rows that a program gets, at most, before columns are sought."""

ENOUGH, SPARE = 1e-6, 2e-6
"""How far above the cap a joint must be for a row, and what is left free of the cap, relatively."""

BETTER = 1e-9
"""Gain beyond its price with which a column joins, relative to the value of the program."""

MOST = 60
"""Columns that join at a time."""

IDLE, NEAR = 5, 1e-5
"""Programs in a row that better little, relatively, after which it ends."""

STEPS = (0.0, 0.5, 0.9, 1.1, 2.0)
"""By what the entries of a column are multiplied, one by one."""

ENTRANTS = (0.25, 1.0)
"""What an entry that is 0 becomes, as a share of the largest."""

CELLS = 2_000_000
"""Entries of the columns that are looked at together, about: what each joint says of them takes a few times the memory."""

LEAST = 1e-10
"""Weight of a column that counts."""

TINY = 1e-300

Joint = tuple[Floats, Floats]
"""A prior and the rows of a joint."""

Gains = Callable[[Floats], Floats]
"""Of columns P(y | x), shape (n, k): what each adds to the utility, in proportion to the column, shape (k,)."""


@dataclass
class CappedMixture:
    """The program over the columns so far.

    Parameters
    ----------
    reader : SetReader
    gains : callable
    cap : float
        Nats.
    start : array (n,)
        The first rho: how what is observed is distributed at the nominal joint.
    """

    reader: SetReader
    gains: Gains
    cap: float
    start: Floats
    columns: Floats = field(init=False)
    rho: Floats = field(init=False)
    _joints: list[Joint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cap *= 1.0 - SPARE
        self._rng = np.random.default_rng(0)
        self.rho = self.start / self.start.sum()
        n = len(self.rho)
        self.columns = np.concatenate([np.ones((n, 1)), np.eye(n)], axis=1)

    def take(self, matrices: Sequence[Floats]) -> None:
        """Add the columns of some channels."""
        for matrix in matrices:
            self._add(matrix[:, (matrix > 0).any(axis=0)])

    def run(self, budget: Budget) -> Floats | None:
        """The matrix of the best mixture whose bound over the set keeps the cap, with a release for each column.

        Where none was found in time, one beyond the cap is mixed with its own output distribution: divergences are convex. None without any.
        """
        best: Floats | None = None
        beyond: Floats | None = None
        most, idle = -np.inf, 0
        while budget.remaining > 0 and idle < IDLE:
            solved = self._solved(budget)
            if solved is None:
                break
            matrix = self.columns[:, solved.point > LEAST] * solved.point[solved.point > LEAST]
            matrix = matrix / matrix.sum(axis=1, keepdims=True)
            value = float(self.gains(matrix).sum())
            grown = self._improve(solved, budget)
            idle = 0 if grown and value > most + NEAR * abs(most) else idle + 1
            if value > most:
                told = read(self.reader, matrix).bound
                if told <= self.cap:
                    best, most = matrix, value
                else:
                    share = self.cap / told
                    beyond = share * matrix + (1.0 - share) * (self.start @ matrix / self.start.sum())
            self.rho = 0.5 * (self.rho + self._mixture(solved.multipliers))
        return beyond if best is None else best

    def _add(self, columns: Floats) -> None:
        scaled = (columns / columns.max(axis=0)).round(12).T
        new = {row.tobytes(): row for row in scaled}
        for row in self.columns.T:
            new.pop(row.tobytes(), None)
        if new:
            self.columns = np.concatenate([self.columns, np.array(list(new.values())).T], axis=1)

    def _mixture(self, multipliers: Floats) -> Floats:
        """How what is observed is distributed at the mixture of joints by their prices."""
        if not multipliers.sum() > 0:
            return self.rho
        rows = [prior @ rows for prior, rows in self._joints]
        mixed = np.maximum(multipliers @ np.array(rows), TINY)
        return np.asarray(mixed / mixed.sum())

    def _parts(self, columns: Floats) -> tuple[Floats, Floats, Floats]:
        """Slopes and feet of the lines of each value of the secret, and logarithms of r, of columns."""
        low, high = (np.maximum(ends, 0.0) for ends in self.reader.extremes(columns))
        slopes, feet = secants(low, high)
        return slopes, feet, np.log(np.maximum(self.rho @ columns, TINY))

    def _solved(self, budget: Budget) -> Least | None:
        """The program, with rows for joints until none is above the cap."""
        n, gains = len(self.rho), self.gains(self.columns)
        slopes, feet, logs = parts = self._parts(self.columns)
        told, whole = _told(self._joints, self.columns, parts), Rows.dense(self.columns, np.ones(n))
        most = len(self._joints) + JOINTS
        while True:
            solved = minimise(
                -gains, Rows.dense(told, self.cap), whole, tolerance=1e-9, seconds=budget.remaining
            )
            if solved is None or budget.remaining <= 0:
                return solved
            values = (self.columns * solved.point) @ (slopes - logs).T
            rows = np.array([row.farthest(values[:, s]) for s, row in enumerate(self.reader.rows)])
            of_s = (rows * values.T).sum(axis=1) + feet @ solved.point
            prior = self.reader.prior.farthest(np.where(self.reader.possible, of_s, 0.0))
            if prior @ of_s <= self.cap * (1 + ENOUGH) or len(self._joints) >= most:
                return solved
            self._joints.append((prior, rows))
            told = np.vstack([told, _told(self._joints[-1:], self.columns, parts)])

    def _improve(self, solved: Least, budget: Budget) -> bool:
        """Add the neighbours of the columns in use that gain most at the prices; whether there are any."""
        used = self.columns[:, solved.point > 0]
        tried = _neighbours(used, self._rng)
        excess = self.gains(tried) + tried.T @ solved.prices
        priced = np.flatnonzero(solved.multipliers)
        if len(priced):
            joints = [self._joints[j] for j in priced.tolist()]
            excess = excess - solved.multipliers[priced] @ _told(joints, tried, self._parts(tried))
        order = np.argsort(-excess)[:MOST]
        order = order[excess[order] > BETTER * max(abs(solved.value), 1e-12)]
        if not len(order) or budget.remaining <= 0:
            return False
        self._add(tried[:, order])
        return True


def _told(joints: list[Joint], columns: Floats, parts: tuple[Floats, Floats, Floats]) -> Floats:
    """What each column says at each of some joints, shape (joints, k)."""
    slopes, feet, logs = parts
    told = np.empty((len(joints), columns.shape[1]))
    for j, (prior, rows) in enumerate(joints):
        told[j] = prior @ ((rows @ columns) * (slopes - logs) + feet)
    return told


def _neighbours(columns: Floats, rng: np.random.Generator) -> Floats:
    """Columns with one entry changed, and the sums of two of them; some of them at random where they are many."""
    n, k = columns.shape
    most, found, count = max(n, CELLS // n), list[Floats](), 0
    one, other = np.triu_indices(k, 1)
    pairs = rng.permutation(len(one))[: most // 2]
    for x in rng.permutation(n).tolist():
        if count >= most // 2:
            break
        positive = columns[x] > 0
        for factor in STEPS:
            moved = columns[:, positive].copy()
            moved[x] *= factor
            found.append(moved)
        for entrant in ENTRANTS:
            moved = columns[:, ~positive].copy()
            moved[x] = entrant
            found.append(moved)
        count += len(STEPS) * int(positive.sum()) + len(ENTRANTS) * int((~positive).sum())
    found.append(columns[:, one[pairs]] + columns[:, other[pairs]])
    every = np.concatenate(found, axis=1)
    every = every[:, (every > 0).any(axis=0)]
    return np.asarray(every / every.max(axis=0))

"""Maximal leakage over a set of joints: a linear program whose rows are the distributions at which a release is most telling."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import Least, Rows, minimise
from privopt.core.solver import Budget
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.local_information_privacy.members import Demand, farthest
from privopt.problems.robust_reading import SetReader

FREE = 1e-7
"""Share of e to the budget that is left free: rows that are broken by less are not added, and nothing is to be repaired."""

BROKEN = 2e-8
"""By how much a row must be broken to be added."""

PRECISE = 1e-9
"""Tolerance of the programs."""

SCALE = 2**40
"""Distortions are rounded to integers of this size where the joint of the largest one is sought."""


@dataclass
class GuessCuts:
    """The program: over channels K and numbers t(y) that are at least every expectation of K(y | .) at a distribution met.

    Parameters
    ----------
    problem : DistortionPrivacy
        With maximal leakage, whose bound over the set is ln sum_y max_s max_q sum_w q(w) K(y | w), q in the set of P(w | s).
    ambiguity : JointAmbiguity
    reader : SetReader
    """

    problem: DistortionPrivacy
    ambiguity: JointAmbiguity
    reader: SetReader
    _rows: list[tuple[int, Floats]] = field(default_factory=list)
    """Releases with the distributions at which they were most telling."""
    _joints: list[Floats] = field(default_factory=list)
    """Distributions of what is observed at which the distortion was largest."""

    @property
    def stats(self) -> dict[str, int | float | str]:
        """How many distributions and joints were met."""
        return {"distributions": len(self._rows), "joints": len(self._joints)}

    def run(self, budget: Budget) -> Floats | None:
        """The matrix of the best channel, whose rows sum to 1; the last one met where the time is too short, None without any."""
        observed, outputs = self.problem.matrix.shape
        self._rows, self._joints = [], [self.problem.observation.p_w]
        self._separate(self.problem.constant().matrix, np.full(outputs, -1.0))
        self._separate(self.problem.reproduction().matrix, np.zeros(outputs))
        matrix = None
        while budget.remaining > 0:
            solved = self._solved(budget)
            if solved is None:
                break
            matrix = solved.point[: observed * outputs].reshape(observed, outputs).clip(0.0)
            matrix = matrix / matrix.sum(axis=1, keepdims=True)
            if not self._separate(matrix, solved.point[observed * outputs :]):
                break
        return matrix

    def _solved(self, budget: Budget) -> Least | None:
        """The program over channel and t, with the rows so far."""
        from scipy import sparse

        (observed, outputs), problem = self.problem.matrix.shape, self.problem
        costs = (problem.observation.p_w[:, None] * problem.matrix).ravel()
        cells, nothing = observed * outputs, np.zeros(outputs)
        told = sparse.lil_matrix((len(self._rows), cells + outputs))
        for i, (y, row) in enumerate(self._rows):
            told[i, np.arange(observed) * outputs + y] = row
            told[i, cells + y] = -1.0
        if problem.max_leakage is not None:
            cost = np.concatenate([costs, nothing])
            limit = np.concatenate([np.zeros(cells), np.ones(outputs)])[None]
            right = np.array([math.exp(problem.budget) * (1.0 - FREE)])
        else:
            cost = np.concatenate([np.zeros(cells), np.ones(outputs)])
            spent = [(p[:, None] * problem.matrix * problem.magnitude).ravel() for p in self._joints]
            limit = np.stack([np.concatenate([each, nothing]) for each in spent])
            right = np.full(len(spent), float(problem.floor) * (1.0 - FREE))
        below = sparse.vstack([told.tocsr(), sparse.csr_matrix(limit)])
        whole = sparse.hstack([
            sparse.kron(sparse.eye(observed), np.ones((1, outputs))),
            sparse.csr_matrix((observed, outputs)),
        ])  # fmt: skip
        return minimise(
            cost,
            Rows.sparse(below, np.concatenate([np.zeros(len(self._rows)), right])),
            Rows.sparse(whole, 1.0),
            tolerance=PRECISE,
            seconds=budget.remaining,
        )

    def _separate(self, matrix: Floats, most: Floats) -> bool:
        """Add the rows that a channel breaks; whether there are any."""
        before = len(self._rows) + len(self._joints)
        _, high = self.reader.extremes(matrix)
        for s in np.flatnonzero(self.reader.possible).tolist():
            for y in np.flatnonzero(high[s] > most + BROKEN * (1.0 + most)).tolist():
                row = self.reader.rows[s].farthest(matrix[:, y])
                if row @ matrix[:, y] > most[y] + BROKEN * (1.0 + most[y]):
                    self._rows.append((y, row))
        if self.problem.max_leakage is None:
            p = observed_at(most_distorted(self.problem, self.ambiguity, matrix))
            spent = (matrix * self.problem.matrix * self.problem.magnitude).sum(axis=1)
            if p @ spent > float(self.problem.floor):
                self._joints.append(p)
        return len(self._rows) + len(self._joints) > before


def most_distorted(problem: DistortionPrivacy, ambiguity: JointAmbiguity, matrix: Floats) -> Demand:
    """The joint of a set at which the expected distortion of a channel is largest."""
    spent = (matrix * problem.matrix).sum(axis=1)
    unit = float(np.abs(spent).max()) or 1.0
    return farthest(ambiguity, [round(v / unit * SCALE) for v in spent.tolist()])


def observed_at(joint: Demand) -> Floats:
    """P(w) at a joint."""
    prior, *rows = (np.array([v / sum(row) for v in row]) for row in (joint.prior, *joint.rows) if row)
    return np.asarray(prior @ np.array(rows))

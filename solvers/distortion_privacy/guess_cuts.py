"""Maximal leakage over a set of joints: a linear program whose rows are the distributions at which a release is most telling."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import Joining, Rows, sums_of_rows
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
        cells = observed * outputs
        self._rows, self._joints, self._program = [], [], self._begun()
        if self.problem.max_leakage is not None:
            total = math.exp(self.problem.budget) * (1.0 - FREE)
            self._ask(np.arange(cells, cells + outputs), np.ones(outputs), total)
        self._spend(self.problem.observation.p_w)
        self._separate(self.problem.constant().matrix, np.full(outputs, -1.0))
        self._separate(self.problem.reproduction().matrix, np.zeros(outputs))
        matrix = None
        while budget.remaining > 0:
            solved = self._program.minimise(budget.remaining)
            if solved is None:
                break
            matrix = solved.point[:cells].reshape(observed, outputs).clip(0.0)
            matrix = matrix / matrix.sum(axis=1, keepdims=True)
            if not self._separate(matrix, solved.point[cells:]):
                break
        return matrix

    def _begun(self) -> Joining:
        """The program of all channels and of t, with what either leaks or distorts for the cost, and no bound on the other."""
        observed, outputs = self.problem.matrix.shape
        cells = observed * outputs
        spent = (self.problem.observation.p_w[:, None] * self.problem.matrix).ravel()
        capped = self.problem.max_leakage is not None
        cost = np.append(spent, np.zeros(outputs)) if capped else np.append(np.zeros(cells), np.ones(outputs))
        return Joining(cost, sums_of_rows(observed, outputs, np.ones(observed)), PRECISE)

    def _ask(self, columns: Ints, values: Floats, most: float) -> None:
        """Bound a sum of unknowns."""
        used = values != 0
        self._program.join(Rows(values[used], columns[used], np.array([0, used.sum()]), np.array([most])))

    def _separate(self, matrix: Floats, most: Floats) -> bool:
        """Add the rows that a channel breaks; whether there are any."""
        before = len(self._rows) + len(self._joints)
        (observed, outputs), cells = matrix.shape, matrix.size
        _, high = self.reader.extremes(matrix)
        for s in np.flatnonzero(self.reader.possible).tolist():
            for y in np.flatnonzero(high[s] > most + BROKEN * (1.0 + most)).tolist():
                row = self.reader.rows[s].farthest(matrix[:, y])
                if row @ matrix[:, y] > most[y] + BROKEN * (1.0 + most[y]):
                    self._rows.append((y, row))
                    places = np.append(np.arange(observed) * outputs, cells) + y
                    self._ask(places, np.append(row, -1.0), 0.0)
        if self.problem.max_leakage is None:
            p = observed_at(most_distorted(self.problem, self.ambiguity, matrix))
            spent = (matrix * self.problem.matrix * self.problem.magnitude).sum(axis=1)
            if p @ spent > float(self.problem.floor):
                self._spend(p)
        return len(self._rows) + len(self._joints) > before

    def _spend(self, p: Floats) -> None:
        """Bound the distortion at a distribution of what is observed, where it is not the objective."""
        self._joints.append(p)
        if self.problem.max_leakage is None:
            spent = (p[:, None] * self.problem.matrix * self.problem.magnitude).ravel()
            self._ask(np.arange(spent.size), spent, float(self.problem.floor) * (1.0 - FREE))


def most_distorted(problem: DistortionPrivacy, ambiguity: JointAmbiguity, matrix: Floats) -> Demand:
    """The joint of a set at which the expected distortion of a channel is largest."""
    spent = (matrix * problem.matrix).sum(axis=1)
    unit = float(np.abs(spent).max()) or 1.0
    return farthest(ambiguity, [round(v / unit * SCALE) for v in spent.tolist()])


def observed_at(joint: Demand) -> Floats:
    """P(w) at a joint."""
    prior, *rows = (np.array([v / sum(row) for v in row]) for row in (joint.prior, *joint.rows) if row)
    return np.asarray(prior @ np.array(rows))

"""A bound for a cap on mutual information over a set of joints: cutting planes at some of its joints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import silent_highs
from privopt.core.solver import Budget
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.problems.distortion_privacy.bound import scores
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.local_information_privacy.members import Demand, cells, farthest_of_each, written
from privopt.problems.robust_reading import SetReader

ROUNDS = 150
"""Programs at most."""

CLIMBS = 6
"""Steps to a joint of the set at which a channel leaks much."""

OVER = 1e-6
"""A joint asks for a plane where the cap is exceeded by this, relatively."""

HALVINGS = 40
"""Steps to the border on the way to a channel that leaks too much."""

LEAST = 1e-9
"""Share of the uniform release in the channel whose posteriors make a plane."""

SCALE = 2**40
"""Functions of X are rounded to integers of this size where a joint is sought."""


@dataclass(frozen=True, eq=False)
class Plane:
    """A bound on the information at a member, linear in the channel: posteriors (n_y, n_s) and what they make of it (n_w, n_y)."""

    member: int
    posteriors: Floats
    slopes: Floats


@dataclass
class MembersBound:
    """The least distortion of channels whose information is within the cap at some joints of the set.

    At each joint of the set the information is convex in the channel. Where the best channel so far exceeds the cap at some
    joint, the tangent on the border of what is allowed, between this channel and one that is allowed, is added as a row of a
    linear program (Veinott, "The supporting hyperplane method for unimodal programming"); its multipliers are the dual.

    Parameters
    ----------
    problem : DistortionPrivacy
        With a cap on mutual information over a set.
    ambiguity : JointAmbiguity
        The set.
    inside : array (n_w, n_y)
        A channel that keeps the cap at every joint of the set.
    """

    problem: DistortionPrivacy
    ambiguity: JointAmbiguity
    inside: Floats
    demands: list[Demand] = field(default_factory=list)
    joints: list[Floats] = field(default_factory=list)
    planes: list[Plane] = field(default_factory=list)

    def run(self, budget: Budget) -> dict[str, object] | None:
        """The dual; None where no program was solved in time."""
        highs, shape = self._model(), self.inside.shape
        reader, prices = SetReader.of(self.ambiguity), np.zeros(0)
        entries = np.arange(self.inside.size, dtype=np.int32)
        for _ in range(ROUNDS):
            solved = _solved(highs) if budget.remaining > 0 else None
            if solved is None:
                break
            best, prices = solved[0].reshape(shape), np.maximum(-solved[1][shape[0] :], 0.0)
            self._meet(reader, best)
            new = self._broken(best)
            if not new:
                break
            for plane in new:
                highs.addRow(-np.inf, self.problem.budget, len(entries), entries, plane.slopes.ravel())
            self.planes += new
        return self._dual(prices) if prices.any() else None

    def _model(self) -> Any:
        import highspy

        (n, outputs), highs = self.inside.shape, silent_highs({})
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = n * outputs, n
        lp.col_cost_ = self.problem.costs.excess.ravel()
        lp.col_lower_, lp.col_upper_ = np.zeros(n * outputs), np.ones(n * outputs)
        lp.row_lower_ = lp.row_upper_ = np.ones(n)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = outputs * np.arange(n + 1)
        lp.a_matrix_.index_, lp.a_matrix_.value_ = np.arange(n * outputs), np.ones(n * outputs)
        highs.passModel(lp)
        return highs

    def _meet(self, reader: SetReader, matrix: Floats) -> None:
        """Note a joint of the set at which a channel leaks much: rows climb, as the information is convex in them."""
        matrix = (1 - LEAST) * matrix + LEAST / matrix.shape[1]
        joint = self.problem.observation.leaking.table
        values = np.zeros((len(reader.rows), len(matrix)))
        for _ in range(CLIMBS):
            of_y = joint @ matrix
            prior = np.maximum(of_y.sum(axis=1, keepdims=True), LEAST)
            values = np.log(np.maximum(of_y / prior, LEAST) / of_y.sum(axis=0)) @ matrix.T
            rows = np.array([row.farthest(v) for row, v in zip(reader.rows, values, strict=True)])
            of_s = np.where(reader.possible, (rows * values).sum(axis=1), 0.0)
            joint = reader.prior.farthest(of_s)[:, None] * rows
        demand = farthest_of_each(
            self.ambiguity, [[round(v * SCALE) for v in row] for row in values.tolist()]
        )
        found = cells(demand)
        if found is not None and demand not in self.demands:
            self.demands.append(demand)
            self.joints.append(np.array([[v / found[1] for v in row] for row in found[0]]))

    def _broken(self, matrix: Floats) -> list[Plane]:
        """Planes of the joints at which a channel exceeds the cap."""
        most = self.problem.budget * (1 + OVER)
        return [
            self._plane(k, joint, matrix)
            for k, joint in enumerate(self.joints)
            if _information(joint @ matrix) > most
        ]

    def _plane(self, k: int, joint: Floats, matrix: Floats) -> Plane:
        """The tangent where the way from the channel inside leaves what is allowed."""
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            at = _information(joint @ (self.inside + middle * (matrix - self.inside)))
            low, high = (middle, high) if at <= self.problem.budget else (low, middle)
        border = self.inside + high * (matrix - self.inside)
        border = (1 - LEAST) * border + LEAST / matrix.shape[1]
        seen = joint[joint.sum(axis=1) > 0]
        shares = (seen @ border).T
        posteriors = shares / shares.sum(axis=1, keepdims=True)
        slopes = seen.T @ scores(posteriors, seen.sum(axis=1), 1.0).T
        return Plane(k, posteriors, slopes)

    def _dual(self, prices: Floats) -> dict[str, object]:
        used = [
            (price, plane) for price, plane in zip(prices.tolist(), self.planes, strict=False) if price > 0
        ]
        places: dict[str, Any] = written([], [(0.0, demand) for demand in self.demands])
        numbers = [number for _, number in places.pop("weighing")]
        return {
            "kind": "averages",
            "pool": places["pool"],
            "members": places["members"],
            "prices": [[price, numbers[plane.member], plane.posteriors.tolist()] for price, plane in used],
        }


def _solved(highs: Any) -> tuple[Floats, Floats] | None:
    """The point and the duals of rows; None where there is no optimum."""
    import highspy

    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = highs.getSolution()
    return np.clip(np.array(solution.col_value), 0.0, 1.0), np.array(solution.row_dual)


def _information(of_y: Floats) -> float:
    """I(S;Y) of P(s, y), in floats."""
    expected = of_y.sum(axis=1, keepdims=True) * of_y.sum(axis=0)
    used = of_y > 0
    return float((of_y[used] * np.log(of_y[used] / expected[used])).sum())

"""One side of a sequential redaction: release one label early, then everything from the first release on.

While nothing is released the chance of it and both rows of the transfer matrix shrink by the same
controls q, so the expected number of hidden records and the log-ratio that a full release would show are
polynomials in q, with gradients by one sweep back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.solvers.common.slsqp import minimise
from privopt.solvers.redaction._arms import Arm
from privopt.solvers.redaction._one_side import Plan

PATIENCE = 3
"""A search over the number of partial records ends after so many that brought nothing."""


@dataclass(frozen=True, eq=False)
class SequentialArm:
    """One branch of one side, with the law of the private record in its labels."""

    arm: Arm
    prior: Floats

    def step(self, distance: int) -> Floats:
        """The step into a distance, (2, 2)."""
        walk, i = self.arm.walk, self.arm.walk.index(distance)
        a, b = float(walk.cross[i]), float(walk.back[i])
        return np.array([[1 - a, a], [b, 1 - b]])

    def weight(self, distance: int) -> float:
        """Weight of the record at a distance."""
        return float(self.arm.walk.weights[self.arm.walk.index(distance)].sum())

    def best(self, first: int, budget: float, remaining: Callable[[], float]) -> Plan:
        """The cheapest plan found whose first release is at a distance, within a budget of the other direction."""
        length, best, worse = self.arm.walk.length, None, 0
        start = np.empty(0)
        for last in range(first - 1, length + 1):
            problem = _Controls(self, first, last, budget)
            plan, start = problem.solve(start)
            if plan is not None and (best is None or plan.cost < best.cost - 1e-12):
                best, worse = plan, 0
            elif best is not None:
                worse += 1
            if best is not None and (worse >= PATIENCE or not best.probabilities or remaining() <= 0):
                break
        return best if best is not None else Plan(self.arm.walk.total, length + 1)


class _Controls:
    """Controls q of the distances first .. last; everything is released from last + 1 on."""

    def __init__(self, side: SequentialArm, first: int, last: int, budget: float) -> None:
        self.first, self.last, self.budget = first, last, budget
        length = side.arm.walk.length
        known = side.arm.known
        i = first - 1
        plain = (
            np.array(
                [[1 - known.cross[i - 1], known.cross[i - 1]], [known.back[i - 1], 1 - known.back[i - 1]]]
            )
            if i
            else np.eye(2)
        )
        self.rows, self.alive = plain, side.prior @ plain
        self.spent = float(known.spent[first - 1])
        self.steps = [side.step(d) for d in range(first, last + 1)]
        self.weights = [side.weight(d) for d in range(first, last + 1)]
        self.end = side.step(last + 1)[:, 1] if last < length else np.ones(2)

    def sweep(self, q: Floats) -> tuple[float, Floats, float, Floats]:
        """Cost and log-ratio of the first full release, with their gradients."""
        alive, rows = [self.alive], [self.rows]
        before: list[tuple[Floats, Floats]] = []
        for step, x in zip(self.steps, q, strict=True):
            before.append((alive[-1] @ step, rows[-1] @ step))
            control = np.array([x, 1.0])
            alive.append(before[-1][0] * control)
            rows.append(before[-1][1] * control)
        last = rows[-1] @ self.end
        cost = self.spent + sum(w * float(a.sum()) for w, a in zip(self.weights, alive[1:], strict=True))
        with np.errstate(divide="ignore"):
            level = float(np.log(last[1]) - np.log(last[0]))
        to_cost, to_end = np.zeros(2), self.end
        d_cost, d_level = np.empty(len(q)), np.empty(len(q))
        for i in range(len(q) - 1, -1, -1):
            to_cost = to_cost + self.weights[i]
            d_cost[i] = before[i][0][0] * to_cost[0]
            d_level[i] = (before[i][1][1, 0] / last[1] - before[i][1][0, 0] / last[0]) * to_end[0]
            control = np.array([q[i], 1.0])
            to_cost, to_end = self.steps[i] @ (control * to_cost), self.steps[i] @ (control * to_end)
        return cost, d_cost, level, d_level

    def solve(self, start: Floats) -> tuple[Plan | None, Floats]:
        """The best controls found, from the shorter plan's; None where none fits the budget."""
        count = self.last - self.first + 1
        if self.sweep(np.ones(count))[2] > self.budget:
            return None, start  # controls of 1 show the least
        if count == 0:
            return Plan(self.spent, self.first), start
        padded = np.full(count, start[-1] if len(start) else 0.5)
        padded[: len(start)] = start
        return self._search(padded)

    def _search(self, start: Floats) -> tuple[Plan | None, Floats]:
        def cost(q: Floats) -> tuple[float, Floats]:
            return self.sweep(q)[:2]

        def slack(q: Floats) -> tuple[Floats, Floats]:
            _, _, level, slope = self.sweep(q)
            return np.array([self.budget - level]), -slope[None]

        q = minimise(cost, slack, start, 1e-9, 1.0)
        total, _, level, _ = self.sweep(q)
        if level > self.budget + 1e-9:
            return None, start
        return Plan(total, self.first, tuple(q.tolist())), q

"""One redaction probability a side for all medium records, as small as the exact leakage allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt._registry import register
from privopt._solver import Budget, Guarantee, Proposal, Solver
from privopt.problems._redaction_side import Floats
from privopt.problems.redaction import Redaction
from privopt.solvers.redaction._constant import Arm
from privopt.solvers.redaction._golden import golden_minimum
from privopt.solvers.redaction._reach import both_sides, influences, possible_values

NEGLIGIBLE = 1e-9
"""Share of epsilon below which an influence is not followed any farther."""
_GRID = np.append(np.linspace(0.0, 1.0 - 1e-9, 32), 1.0)
_REFINED, _SECTIONS = 6, np.linspace(0.0, 1.0, 33)


@register
@dataclass(frozen=True)
class ConstantSearch(Solver[Redaction]):
    """The numerically optimised 3R mechanism: constants against the exact leakage, every region tried.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section V,
    search the constant on a grid; leakage falls as it rises, so it is bisected here. Regions jump with
    the budget and a larger one can be worse, so those of all smaller budgets are tried on both sides,
    whose leakages are added by direction. Any number of states.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "constant-search"
    interruptible: ClassVar[bool] = True

    def guarantee(self, problem: Redaction) -> Guarantee:
        """Feasible: it bounds nothing outside its family."""
        return Guarantee.FEASIBLE

    def cost(self, problem: Redaction) -> float:
        """Some dozen regions a side, each walked for some dozen constants."""
        return 0.05 + 2e-3 * min(problem.length, 500) * problem.chain.k

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse several private records and mechanisms that are not local."""
        if len(problem.private) > 1:
            return f"it protects one private record, this problem has {len(problem.private)}"
        if problem.form != "local":
            return f"it searches local mechanisms, this problem asks for form {problem.form!r}"
        return None

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best constants found."""
        (p,) = problem.private
        table, possible = np.zeros((problem.length, problem.chain.k)), possible_values(problem, p)
        if len(possible) < 2:
            return Proposal(problem.answer(table))
        table[p] = 1.0
        law = problem.chain.marginals(problem.length) * problem.record_weights[:, None]
        views, arms = [], list[Arm]()
        for steps, again, rows, weights in zip(
            both_sides(problem, p),
            both_sides(problem, p),
            (table[:p][::-1], table[p + 1 :]),
            (law[:p][::-1], law[p + 1 :]),
            strict=True,
        ):
            if len(rows):
                told = influences(again, possible, NEGLIGIBLE * problem.epsilon)
                views.append(rows)
                arms.append(Arm.of(steps, told, weights, possible))
        search = _Search(arms, problem.epsilon, budget)
        for arm, rows, (threshold, constant) in zip(arms, views, search.best(), strict=True):
            rows[: len(arm.told)] = arm.rows(threshold, constant)
            rows[len(arm.told) :] = float(threshold < 0)
        return Proposal(problem.answer(table), stats={"pairs of regions": search.pairs})


Choice = tuple[float, float]
"""Threshold and constant of one side."""


@dataclass
class _Search:
    arms: list[Arm]
    epsilon: float
    budget: Budget
    pairs: int = 0

    def best(self) -> list[Choice]:
        """The cheapest choice of each side."""
        if not self.arms:
            return []
        if len(self.arms) == 1:
            (arm,) = self.arms
            options = [(t, self._least(arm, t, 0.0)) for t in arm.thresholds(self.epsilon)]
            self.pairs = len(options)
            return [min(options, key=lambda o: self._cost(arm, *o))]
        found = [self._refined(*cell) for cell in self._cells() if self.budget.remaining > 0]
        return min(found, key=lambda item: item[0])[1] if found else [(-1.0, 1.0), (-1.0, 1.0)]

    def _cells(self) -> list[tuple[float, float, int]]:
        """The pairs of regions that look best on a grid, with the left constant's place on it."""
        left, right = self.arms
        beyond = [(t, right.costs(t, _GRID), right.leaks(t, _GRID)) for t in right.thresholds(self.epsilon)]
        costs, leaks = np.array([b[1] for b in beyond]), np.array([b[2] for b in beyond])
        cells: list[tuple[float, float, float, int]] = []
        for threshold in left.thresholds(self.epsilon):
            if self.budget.remaining == 0:
                break
            self.pairs += len(beyond)
            here, cost = left.leaks(threshold, _GRID), left.costs(threshold, _GRID)
            for i in range(len(_GRID)):
                fits = (leaks + here[i] <= self.epsilon).all(axis=(2, 3))
                total = np.where(fits, costs, np.inf).min(axis=1) + cost[i]
                cells += [(float(total[j]), threshold, beyond[j][0], i) for j in range(len(beyond))]
        best: dict[tuple[float, float], tuple[float, int]] = {}
        for value, one, other, i in cells:
            best[one, other] = min(best.get((one, other), (math.inf, 0)), (value, i))
        order = sorted(best.items(), key=lambda item: item[1])[:_REFINED]
        return [(one, other, i) for (one, other), (value, i) in order if value < math.inf]

    def _refined(self, one: float, other: float, place: int) -> tuple[float, list[Choice]]:
        """The best constants of a pair of regions near a place of the grid."""
        left, right = self.arms

        def choices(constant: float) -> tuple[float, list[Choice]]:
            leak = left.leaks(one, np.array([constant]))[0]
            rest = self._least(right, other, leak)
            cost = self._cost(left, one, constant) + self._cost(right, other, rest)
            return cost, [(one, constant), (other, rest)]

        low, high = float(_GRID[max(place - 1, 0)]), float(_GRID[min(place + 1, len(_GRID) - 2)])
        tried = [float(_GRID[place]), 1.0]
        if low < high:
            tried.append(golden_minimum(lambda q: choices(q)[0], low, high, 1e-10))
        return min((choices(q) for q in tried), key=lambda item: item[0])

    def _cost(self, arm: Arm, threshold: float, constant: float) -> float:
        return float(arm.costs(threshold, np.array([constant]))[0]) if constant <= 1 else math.inf

    def _least(self, arm: Arm, threshold: float, spent: Floats | float) -> float:
        """The smallest constant that leaks what is left, inf if none: leakage falls as it rises."""

        def fits(constants: Floats) -> Floats:
            return (arm.leaks(threshold, constants) + spent <= self.epsilon).all(axis=(1, 2))

        low, high = 0.0, 1.0 - 1e-12
        ends = fits(np.array([low, high, 1.0]))
        if not ends[1]:
            return 1.0 if ends[2] else math.inf
        while not ends[0] and high - low > 1e-15:
            points = low + (high - low) * _SECTIONS
            inside = int(np.argmax(fits(points[1:-1]))) if fits(points[1:-1]).any() else len(points) - 2
            low, high = float(points[inside]), float(points[inside + 1])
        return 0.0 if ends[0] else high

"""The best constants of both sides together, over every pair of their regions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.solvers.redaction._constant import Arm
from privopt.solvers.redaction._golden import golden_minimum

_GRID = np.append(np.linspace(0.0, 1.0 - 1e-9, 32), 1.0)
_REFINED, _SECTIONS = 6, np.linspace(0.0, 1.0, 33)

Choice = tuple[float, float]
"""Threshold and constant of one side."""


@dataclass
class PairSearch:
    arms: list[Arm]
    epsilon: float
    budget: Budget
    all_regions: bool
    pairs: int = 0

    def best(self) -> list[Choice]:
        """The cheapest choice of each side."""
        if not self.arms:
            return []
        if len(self.arms) == 1:
            (arm,) = self.arms
            options = [(t, self._least(arm, t, 0.0)) for t in self._thresholds(arm)]
            self.pairs = len(options)
            return [min(options, key=lambda o: self._cost(arm, *o))]
        found = [self._refined(*cell) for cell in self._cells() if self.budget.remaining > 0]
        return min(found, key=lambda item: item[0])[1] if found else [(-1.0, 1.0), (-1.0, 1.0)]

    def _thresholds(self, arm: Arm) -> list[float]:
        if self.all_regions:
            return arm.thresholds(self.epsilon)
        return arm.thresholds(self.epsilon / len(self.arms))[:1]

    def _cells(self) -> list[tuple[float, float, int]]:
        """The pairs of regions that look best on a grid, with the left constant's place on it."""
        left, right = self.arms
        beyond = [(t, right.costs(t, _GRID), right.leaks(t, _GRID)) for t in self._thresholds(right)]
        costs, leaks = np.array([b[1] for b in beyond]), np.array([b[2] for b in beyond])
        cells: list[tuple[float, float, float, int]] = []
        for threshold in self._thresholds(left):
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

        def fits(constants: Floats) -> NDArray[np.bool_]:
            return np.asarray((arm.leaks(threshold, constants) + spent <= self.epsilon).all(axis=(1, 2)))

        low, high = 0.0, 1.0 - 1e-12
        ends = fits(np.array([low, high, 1.0]))
        if not ends[1]:
            return 1.0 if ends[2] else math.inf
        while not ends[0] and high - low > 1e-15:
            points = low + (high - low) * _SECTIONS
            # The last point fits, so the search for the first one that does always ends.
            inside = int(np.argmax(np.append(fits(points[1:-1]), True)))
            low, high = float(points[inside]), float(points[inside + 1])
        return 0.0 if ends[0] else high

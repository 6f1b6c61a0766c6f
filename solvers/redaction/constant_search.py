"""One redaction probability a side for all medium records, as small as the exact leakage allows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._golden import golden_minimum
from privopt.solvers.redaction._reach import both_sides, influences, misses_side_information, possible_values
from privopt.solvers.redaction.windows import Windows

MAX_REGIONS = 96
"""Most thresholds followed on one side, the largest first."""


@dataclass(frozen=True, eq=False)
class Arm:
    """Records of one side, nearest first, as far as they tell anything.

    Parameters
    ----------
    steps
        Steps away from the private record, one a row of ``told``.
    told
        ``(m, k)``: influence of each value.
    weights
        ``(m, k)``: weight of the record times the probability of the value.
    tail
        Weight of the records beyond, released unless everything is hidden.
    possible
        Values that the private record can have.
    """

    steps: list[Floats]
    told: Floats
    weights: Floats
    tail: float
    possible: NDArray[np.intp]

    @classmethod
    def of(cls, steps: Iterable[Floats], told: Floats, weights: Floats, possible: NDArray[np.intp]) -> Arm:
        """An arm that ends with the rows of ``told``."""
        kept = list(itertools.islice(steps, len(told)))
        return cls(kept, told, weights[: len(told)], float(weights[len(told) :].sum()), possible)

    def thresholds(self, budget: float) -> list[float]:
        """Budgets at which a region changes, up to the one given, largest first; then -1, hide all."""
        least = float(self.told[-1].max()) if self.tail else 0.0
        values = np.unique(self.told[(self.told <= budget) & (self.told >= least)])
        return [*values[::-1][:MAX_REGIONS].tolist(), -1.0]

    def rows(self, threshold: float, constant: float) -> Floats:
        """Redaction probabilities by distance; a constant of 1 hides what is not released whole."""
        released = self.told <= threshold
        rows = np.where(released, constant, 1.0)
        rows[self._small(released) :] = 0.0
        return rows

    def costs(self, threshold: float, constants: Floats) -> Floats:
        """Expected weight hidden, one a constant."""
        released = self.told <= threshold
        medium = self.weights[: self._small(released)]
        early = float(medium[released[: len(medium)]].sum())
        beyond = self.tail if threshold < 0 else 0.0
        return float(medium.sum()) - early + beyond + early * constants

    def leaks(self, threshold: float, constants: Floats) -> Floats:
        """Largest log-ratio of the side's outputs for each pair of values: [constant, x, x']."""
        released = self.told <= threshold
        small, k = self._small(released), self.told.shape[1]
        table = np.broadcast_to(np.eye(k)[self.possible], (len(constants), len(self.possible), k))
        found = np.zeros((len(constants), len(self.possible), len(self.possible)))
        shown = np.asarray(constants) < 1
        for d, step in enumerate(self.steps):
            table = table @ step
            if d == small:
                return np.maximum(found, _log_ratios(table))
            if released[d].any() and shown.any():
                found[shown] = np.maximum(found[shown], _log_ratios(table[shown][:, :, released[d]]))
            table = table * np.where(released[d], constants[:, None], 1.0)[:, None, :]
            table = table / table.max(axis=(1, 2), keepdims=True)
        return np.maximum(found, _log_ratios(table.sum(axis=2, keepdims=True)))

    def _small(self, released: NDArray[np.bool_]) -> int:
        whole = released.all(axis=1)
        return int(np.argmax(whole)) if whole.any() else len(released)


def _log_ratios(table: Floats) -> Floats:
    """The largest over values v of log table[., x, v] / table[., x', v]; v that no x allows is left out."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(table)
        ratios = logs[:, :, None, :] - logs[:, None, :, :]
    largest: Floats = np.nan_to_num(ratios, nan=-np.inf, posinf=np.inf, neginf=-np.inf).max(axis=3)
    return largest


_GRID = np.append(np.linspace(0.0, 1.0 - 1e-9, 32), 1.0)
_REFINED, _SECTIONS = 6, np.linspace(0.0, 1.0, 33)

Choice = tuple[float, float]
"""Threshold and constant of one side."""


@dataclass
class PairSearch:
    """Pairs of shared levels, searched around the best of a grid."""

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


NOISE = 1e-13
"""Budget below which differences of logarithms mean nothing, and the best window is proposed."""
NEGLIGIBLE = 1e-9
"""Share of epsilon below which an influence is not followed any farther."""


@register
@dataclass(frozen=True)
class ConstantSearch(Solver[Redaction]):
    """The numerically optimised 3R mechanism: constants against the exact leakage, every region tried.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section V,
    search the constant on a grid; leakage falls as it rises, so it is bisected here. Regions jump with
    the budget and a larger one can be worse, so those of all smaller budgets are tried on both sides,
    whose leakages are added by direction. Any number of states.

    Parameters
    ----------
    all_regions : bool
        False keeps the published regions: those of epsilon where the private record is at an end of the
        chain, otherwise those of half of it on each side.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "constant-search"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: it bounds nothing outside its family."""

    all_regions: bool = True

    def cost(self, problem: Redaction) -> float:
        """Some dozen regions a side, each walked for some dozen constants."""
        return 0.05 + 2e-3 * min(problem.length, 500) * problem.chain.k

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse several private records and mechanisms that are not local."""
        if len(problem.private) > 1:
            return f"it protects one private record, this problem has {len(problem.private)}"
        if problem.form != "local":
            return f"it searches local mechanisms, this problem asks for form {problem.form!r}"
        return misses_side_information(problem)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best constants found."""
        if problem.epsilon < NOISE:
            return Windows().run(problem, budget)
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
        search = PairSearch(arms, problem.epsilon, budget, self.all_regions)
        for arm, rows, (threshold, constant) in zip(arms, views, search.best(), strict=True):
            rows[: len(arm.told)] = arm.rows(threshold, constant)
            rows[len(arm.told) :] = float(threshold < 0)
        return Proposal(problem.answer(table), stats={"pairs of regions": search.pairs})

"""3R with one redaction probability a side for all medium records: the published closed form, and a search.

The search makes the constants as small as the exact leakage allows, over all regions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.redaction.leakage import steps_away
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction.reach import NEGLIGIBLE, NOISE, first, influences, refusal, walked
from privopt.solvers.redaction.windows import Windows

MAX_REACH = 4000
"""Records that may tell of the private one."""
MAX_REGIONS = 96
"""Most thresholds followed on one side, the largest first."""
_GRID = np.append(np.linspace(0.0, 1.0 - 1e-9, 32), 1.0)
_CACHED = 1 << 16
"""Ratios that are compared at a time: they stay near the processor."""
_REFINED, _SECTIONS = 6, np.linspace(0.0, 1.0, 33)

ROOM = 2.0**-40
"""Part of epsilon that is left to rounding."""

Choice: TypeAlias = tuple[float, float]
"""Threshold and constant of one side."""


@register
@dataclass(frozen=True)
class ConstantClosedForm(Solver[Redaction]):
    """The published closed form of 3R: one redaction probability for all medium records of a side.

    Release far records, hide near ones, and between them hide the less influential values with probability q.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section
    IV-B: q is the largest of exp(-(e - delta_i) / i), delta_i being what the first release beyond the
    i-th medium record can tell and e the budget of the side. It is private, and never better than
    ``relaxation``. Any number of states, and chains that change from step to step.

    Parameters
    ----------
    share : float
        Part of epsilon that the left side may use, in [0, 1]; a private record at an end leaves all of
        it to the only side.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "constant-closed-form"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    share: float = 0.5

    def cost(self, problem: Redaction) -> float:
        """One walk to where the influence fades."""
        k, reach = problem.chain.k, walked(problem, NEGLIGIBLE * min(problem.epsilon, 1.0))
        return 5e-4 + reach * (1e-5 + 1e-8 * k**3) + 1e-8 * problem.length * k

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse several private records, and a share that is none."""
        if not 0 <= self.share <= 1:
            return f"share must be a part of the budget in 0 .. 1, got {self.share}"
        return refusal(problem, one_private=True)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the constants."""
        (p,) = problem.private
        table = np.zeros((problem.length, problem.chain.k))
        if len(problem.possible_values(p)) < 2:
            return Proposal(problem.answer(table))
        table[p] = 1.0
        share = self.share if 0 < p < problem.length - 1 else float(p > 0)
        stats: dict[str, float | int | str] = {}
        for side, (name, view) in enumerate((("q_left", table[:p][::-1]), ("q_right", table[p + 1 :]))):
            if len(view):
                part = (share, 1 - share)[side]
                part = part * problem.epsilon if part else 0.0
                influence = influences(problem, p, side, NEGLIGIBLE * part)
                constant = stats[name] = closed_form(influence, part)
                released = influence <= part
                view[: len(influence)] = _rows(released, constant)
                view[len(influence) :] = 0.0 if released[-1].all() else 1.0
        return Proposal(problem.answer(table), stats=stats)


def closed_form(influence: Floats, budget: float) -> float:
    """The constant of one side, 1 if no record is medium; ``influence`` is the influence ``(m, k)``."""
    released = influence <= budget
    small = first(released.all(axis=1))
    medium = np.cumsum(released[:small].any(axis=1))
    if not medium.any():
        return 1.0
    later = np.append(np.where(released, influence, 0.0).max(axis=1), 0.0)[1 : small + 1]
    exponents = (budget - later[medium > 0]) / medium[medium > 0]
    return float(np.exp(-exponents.min()))


def _rows(released: Bools, constant: float) -> Floats:
    """Redaction probabilities by distance: 0 from the first record released whole on."""
    rows = np.where(released, constant, 1.0)
    rows[first(released.all(axis=1)) :] = 0.0
    return rows


@dataclass(frozen=True, eq=False)
class Arm:
    """Records of one side, nearest first, as far as they have any influence.

    Parameters
    ----------
    steps
        Steps away from the private record, one a row of ``influence``.
    influence
        ``(m, k)``: influence of each value.
    weights
        ``(m, k)``: weight of the record times the probability of the value.
    tail
        Weight of the records beyond, released unless everything is hidden.
    possible
        Values that the private record can have.
    """

    steps: list[Floats]
    influence: Floats
    weights: Floats
    tail: float
    possible: NDArray[np.intp]

    @classmethod
    def of(
        cls, steps: Iterable[Floats], influence: Floats, weights: Floats, possible: NDArray[np.intp]
    ) -> Arm:
        """An arm that ends with the rows of ``influence``."""
        kept = list(itertools.islice(steps, len(influence)))
        return cls(
            kept, influence, weights[: len(influence)], float(weights[len(influence) :].sum()), possible
        )

    def thresholds(self, budget: float) -> list[float]:
        """Budgets at which a region changes, up to this one, largest first; then -1, hide all."""
        least = float(self.influence[-1].max()) if self.tail else 0.0
        values = np.unique(self.influence[(self.influence <= budget) & (self.influence >= least)])
        return [*values[::-1][:MAX_REGIONS].tolist(), -1.0]

    def rows(self, threshold: float, constant: float) -> Floats:
        """Redaction probabilities by distance; a constant of 1 hides what is not released whole."""
        return _rows(self.influence <= threshold, constant)

    def costs(self, threshold: float, constants: Floats) -> Floats:
        """Expected weight hidden, one a constant."""
        released = self.influence <= threshold
        medium = self.weights[: first(released.all(axis=1))]
        early = float(medium[released[: len(medium)]].sum())
        beyond = self.tail if threshold < 0 else 0.0
        return float(medium.sum()) - early + beyond + early * constants

    def leaks(self, threshold: float, constants: Floats) -> Floats:
        """Largest log-ratio of the side's outputs for each pair of values: [constant, x, x']."""
        released = self.influence <= threshold
        small, k = first(released.all(axis=1)), self.influence.shape[1]
        table = np.broadcast_to(np.eye(k)[self.possible], (len(constants), len(self.possible), k))
        most = np.zeros((len(constants), len(self.possible), len(self.possible)))
        shown = np.asarray(constants) < 1
        for d, step in enumerate(self.steps):
            table = table @ step
            if d == small:
                return np.maximum(most, _log_ratios(table))
            if released[d].any() and shown.any():
                most[shown] = np.maximum(most[shown], _log_ratios(table[shown][:, :, released[d]]))
            table = table * np.where(released[d], constants[:, None], 1.0)[:, None, :]
            largest = table.max(axis=(1, 2), keepdims=True)
            table = table / np.where(largest > 0, largest, 1.0)  # 0 where all that may come is released
        return np.maximum(most, _log_ratios(table.sum(axis=2, keepdims=True)))


def _log_ratios(table: Floats) -> Floats:
    """The largest over values v of log table[., x, v] / table[., x', v]; v that no x allows is left out."""
    count, size, values = table.shape
    largest = np.empty((count, size, size))
    block = max(1, _CACHED // (size * size * values))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.ascontiguousarray(np.log(table).transpose(0, 2, 1))
        for begin in range(0, count, block):
            some = logs[begin : begin + block]
            np.fmax.reduce(
                some[..., :, None] - some[..., None, :], axis=1, out=largest[begin : begin + block]
            )
    largest[np.isnan(largest)] = -np.inf
    return largest


def _spread(thresholds: list[float], most: int) -> list[float]:
    """At most some thresholds, evenly spread."""
    if len(thresholds) <= most:
        return thresholds
    places = np.unique(np.linspace(0, len(thresholds) - 1, most).round().astype(np.intp))
    return [thresholds[i] for i in places.tolist()]


@dataclass
class PairSearch:
    """Pairs of shared levels, searched around the best of a grid."""

    arms: list[Arm]
    epsilon: float
    budget: Budget
    all_regions: bool
    pairs: int = 0

    @property
    def limit(self) -> float:
        """What may leak: a little less than epsilon, for a repair of rounding reads the leakage many times."""
        return self.epsilon * (1 - ROOM)

    def best(self) -> list[Choice]:
        """The cheapest choice of each side."""
        if not self.arms:
            return []
        if len(self.arms) == 1:
            (arm,) = self.arms
            options = [(-1.0, 1.0)]
            for threshold in self._thresholds(arm):
                if self.budget.remaining > 0:
                    options.append((threshold, self._least(arm, threshold, 0.0)))
            self.pairs = len(options)
            return [min(options, key=lambda o: self._cost(arm, *o))]
        refined: dict[tuple[float, float], tuple[float, list[Choice]]] = {}
        for cells in self._rounds():
            for one, other, place in cells:
                if not refined or ((one, other) not in refined and self.budget.remaining > 0):
                    refined[one, other] = self._refined(one, other, place)
        hidden = math.inf, [(-1.0, 1.0), (-1.0, 1.0)]
        return min(refined.values(), key=lambda item: item[0], default=hidden)[1]

    def _rounds(self) -> Iterator[list[tuple[float, float, int]]]:
        """The most promising pairs of some regions, then of twice as many, until all were compared or the time is spent."""
        left, right = self.arms
        some = self._thresholds(right)[0]
        begun = self.budget.remaining
        beyond = {some: (right.costs(some, _GRID), right.leaks(some, _GRID))}
        one = max(begun - self.budget.remaining, 1e-6)
        every = max(len(self._thresholds(arm)) for arm in (left, right))
        most = max(2, int(min(0.2 * self.budget.remaining / one, every)))
        while True:
            yield self._cells(most, beyond)
            if most >= every or self.budget.remaining <= 0:
                return
            most *= 2

    def _thresholds(self, arm: Arm) -> list[float]:
        if self.all_regions:
            return arm.thresholds(self.epsilon)
        return arm.thresholds(self.epsilon / len(self.arms))[:1]

    def _cells(self, most: int, known: dict[float, tuple[Floats, Floats]]) -> list[tuple[float, float, int]]:
        """The pairs of at most so many regions a side that look best on a grid, with the left constant's place on it.

        ``known`` keeps the costs and leaks of the right regions.
        """
        left, right = self.arms
        begun = self.budget.remaining
        for t in _spread(self._thresholds(right)[1:], most):
            if t not in known:
                known[t] = right.costs(t, _GRID), right.leaks(t, _GRID)
        beyond = [(t, *known[t]) for t in known]
        costs, leaks = np.array([b[1] for b in beyond]), np.array([b[2] for b in beyond])
        cells: list[tuple[float, float, float, int]] = []
        for threshold in _spread(self._thresholds(left), most):
            if cells and self.budget.remaining < begun / 3:
                break
            self.pairs += len(beyond)
            here, cost = left.leaks(threshold, _GRID), left.costs(threshold, _GRID)
            for i in range(len(_GRID)):
                total = self._cheapest(costs, leaks, here[i]) + cost[i]
                cells += [(float(total[j]), threshold, beyond[j][0], i) for j in range(len(beyond))]
        best: dict[tuple[float, float], tuple[float, int]] = {}
        for value, one, other, i in cells:
            best[one, other] = min(best.get((one, other), (math.inf, 0)), (value, i))
        order = sorted(best.items(), key=lambda item: item[1])[:_REFINED]
        return [(one, other, i) for (one, other), (value, i) in order if value < math.inf]

    def _cheapest(self, costs: Floats, leaks: Floats, spent: Floats) -> Floats:
        """For each region the cost of the first constant of the grid that fits, inf where none does: leakage falls as it rises."""
        regions = np.arange(len(costs))
        low, high = np.zeros(len(costs), dtype=np.intp), np.full(len(costs), len(_GRID))
        while (open_ := low < high).any():
            middle = (low + high) // 2
            tried = leaks[regions[open_], middle[open_]]
            fits = (tried + spent <= self.limit).all(axis=(1, 2))
            high[open_] = np.where(fits, middle[open_], high[open_])
            low[open_] = np.where(fits, low[open_], middle[open_] + 1)
        return np.asarray(np.append(costs, np.full((len(costs), 1), np.inf), axis=1)[regions, low])

    def _refined(self, one: float, other: float, place: int) -> tuple[float, list[Choice]]:
        """The best constants of a pair of regions near a place of the grid."""
        from scipy.optimize import minimize_scalar

        left, right = self.arms

        def choices(constant: float) -> tuple[float, list[Choice]]:
            leak = left.leaks(one, np.array([constant]))[0]
            rest = self._least(right, other, leak)
            cost = self._cost(left, one, constant) + self._cost(right, other, rest)
            return cost, [(one, constant), (other, rest)]

        hidden = float(left.weights.sum() + left.tail + right.weights.sum() + right.tail)
        low, high = float(_GRID[max(place - 1, 0)]), float(_GRID[min(place + 1, len(_GRID) - 2)])
        tried = [choices(float(_GRID[place]))]
        if self.budget.remaining > 0:
            tried.append(choices(1.0))
        if low < high:

            def cost(constant: float) -> float:
                if self.budget.remaining <= 0:
                    return hidden
                tried.append(choices(constant))
                return min(tried[-1][0], hidden)  # finite, for parabolas are laid through it

            minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
        return min(tried, key=lambda item: item[0])

    def _cost(self, arm: Arm, threshold: float, constant: float) -> float:
        return float(arm.costs(threshold, np.array([constant]))[0]) if constant <= 1 else math.inf

    def _least(self, arm: Arm, threshold: float, spent: Floats | float) -> float:
        """The smallest constant that leaks what is left, inf if none: leakage falls as it rises."""

        def fits(constants: Floats) -> NDArray[np.bool_]:
            return np.asarray((arm.leaks(threshold, constants) + spent <= self.limit).all(axis=(1, 2)))

        low, high = 0.0, 1.0 - 1e-12
        ends = fits(np.array([low, high, 1.0]))
        if not ends[1]:
            return 1.0 if ends[2] else math.inf
        while not ends[0] and high - low > 1e-15 and (high > 0.999 or self.budget.remaining > 0):
            points = low + (high - low) * _SECTIONS
            # The last point fits, so the search for the first one that does always ends.
            inside = int(np.argmax(np.append(fits(points[1:-1]), True)))
            low, high = float(points[inside]), float(points[inside + 1])
        return 0.0 if ends[0] else high


@register
@dataclass(frozen=True)
class ConstantSearch(Solver[Redaction]):
    """One redaction probability a side for all medium records, as small as the exact leakage allows.

    The numerically optimised 3R mechanism: constants against the exact leakage, every region tried.

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
        """Some dozen regions a side, each walked for some dozen constants; fewer regions where that takes long."""
        k = problem.chain.k
        reach = walked(problem, NEGLIGIBLE * min(problem.epsilon, 1.0))
        sides = min(problem.private[0], 1) + min(problem.length - 1 - problem.private[0], 1)
        return 0.05 + 600 * sides * reach * (1.5e-5 + 1e-9 * 33 * k**3) + 1e-8 * problem.length * k

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse several private records, mechanisms that are not local, and chains that forget slowly."""
        if (reason := refusal(problem, local="it searches local mechanisms", one_private=True)) is not None:
            return reason
        if walked(problem, 1e-3) > MAX_REACH:
            return f"more than {MAX_REACH} records tell of the private one: it walks them thousands of times"
        return None

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best constants."""
        if problem.epsilon < NOISE:
            return Windows().run(problem, budget)
        (p,) = problem.private
        table, possible = np.zeros((problem.length, problem.chain.k)), problem.possible_values(p)
        if len(possible) < 2:
            return Proposal(problem.answer(table))
        table[p] = 1.0
        weights, views, arms = problem.weighted_marginals, list[Floats](), list[Arm]()
        for side, (view, part) in enumerate(
            ((table[:p][::-1], weights[:p][::-1]), (table[p + 1 :], weights[p + 1 :]))
        ):
            if len(view):
                influence = influences(
                    problem, p, side, NEGLIGIBLE * problem.epsilon, lambda: budget.remaining
                )
                views.append(view)
                steps = steps_away(problem.chain, p, problem.length)[side]
                arms.append(Arm.of(steps, influence, part, possible))
        search = PairSearch(arms, problem.epsilon, budget, self.all_regions)
        for arm, view, (threshold, constant) in zip(arms, views, search.best(), strict=True):
            view[: len(arm.influence)] = arm.rows(threshold, constant)
            view[len(arm.influence) :] = float(threshold < 0)
        return Proposal(problem.answer(table), stats={"pairs of regions": search.pairs})

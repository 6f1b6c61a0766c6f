"""The published convex relaxation of 3R, solved exactly by pooling adjacent violators, with the budget's split searched.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV-B and
Appendix A. On one side with budget e, the medium records are those that release only some of their values. Record i
of them releases with probability ``1 - q_i`` and the relaxation asks ``-sum_{j<=i} log q_j <= B_i = e - delta_i``,
delta_i being what the first release beyond can tell. With ``u = -log q`` it minimises ``sum w_i exp(-u_i)`` under
upper bounds on prefix sums.

For equal weights u is the isotonic regression of the increments of B: prefix sums then form the greatest convex
minorant of B, and ``mu_i = exp(-u_i) - exp(-u_{i+1}) >= 0`` (last: ``exp(-u_m)``) are multipliers, zero off its kinks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction.reach import NEGLIGIBLE, first, influences, refusal, walked

Sides: TypeAlias = tuple[Floats, Floats]
"""Something of the left side and the same of the right one."""

Choice: TypeAlias = Callable[[Sides, Sides], Sides]
"""From influences and weights of both sides to the redaction probabilities of each."""

Program: TypeAlias = Callable[[Floats, Floats], Floats]
"""From bounds on prefix sums and weights to the ``u`` that minimises ``sum weights exp(-u)``."""

_GRID, _JUMPS, _REFINED = 33, 48, 3
_PATIENCE = 12  # thresholds tried in a row that brought nothing
ENOUGH = 1e-9
"""Relative to the cost: less is no improvement."""


@register
@dataclass(frozen=True)
class Relaxation(Solver[Redaction]):
    """Redact near, release far, and in between release only the values of little influence.

    Massny, Bitar, Ye, El Rouayheb, Section IV-B and Appendix A: their upper bound on the leakage makes
    the problem convex, and its solution is an isotonic regression. Any number of states, weighted
    records, and chains that change from step to step. For several private records the record-wise
    maximum of the single solutions is private for each of them (Footnote 1), though it can cost much.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "relaxation"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: the relaxation bounds the leakage from above, so it says nothing of the optimum."""

    def cost(self, problem: Redaction) -> float:
        """Some dozen shares of the budget per private record, some dozen isotonic regressions each."""
        k, reach = problem.chain.k, walked(problem, NEGLIGIBLE * min(problem.epsilon, 1.0))
        walk = reach * (2e-5 + 1e-8 * k**3)
        search = 500 * (6e-5 + 2e-8 * reach * k)
        return len(problem.private) * (0.02 + walk + search) + 2e-8 * problem.length * k

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse an adversary who knows other records."""
        return refusal(problem)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the record-wise maximum over the private records."""
        table, count = np.zeros((problem.length, problem.chain.k)), len(problem.private)
        for i, p in enumerate(problem.private):
            clock = _Share(budget, count - i)

            def choose(near: Sides, weights: Sides, clock: _Share = clock) -> Sides:
                left, right, _ = best_split(near, weights, problem.epsilon, clock)
                return left.redaction, right.redaction

            table = np.maximum(table, protect(problem, p, choose, clock.half))
            budget.progress((i + 1) / len(problem.private), f"private record {p}")
        return Proposal(problem.answer(table))


@dataclass
class _Share:
    """Seconds left of one private record's equal share of the time that is left."""

    budget: Budget
    waiting: int

    def __post_init__(self) -> None:
        self.seconds = self.budget.remaining
        self.rest = self.seconds * (1 - 0.95 / self.waiting)

    def __call__(self) -> float:
        return self.budget.remaining - self.rest if self.seconds < math.inf else math.inf

    def half(self) -> float:
        """Seconds left of the first half."""
        return self() - 0.5 * (self.seconds - self.rest) if self.seconds < math.inf else math.inf


def protect(
    problem: Redaction, private: int, choose: Choice, remaining: Callable[[], float] = lambda: math.inf
) -> Floats:
    """Redaction probabilities that protect one private record, sides chosen from what nearer records tell.

    ``choose`` gets the influences and the weights of both sides, as far as they are not negligible, and
    returns the redaction probabilities of each.
    """
    marginals = problem.weighted_marginals
    if len(problem.possible_values(private)) < 2 or math.isinf(problem.epsilon):
        return np.zeros_like(marginals)
    table = np.ones_like(marginals)
    left, right = (
        influences(problem, private, side, NEGLIGIBLE * problem.epsilon, remaining) for side in (0, 1)
    )
    weights = marginals[:private][::-1][: len(left)], marginals[private + 1 :][: len(right)]
    views = table[:private][::-1], table[private + 1 :]
    for side, view in zip(choose((left, right), weights), views, strict=True):
        view[: len(side)] = side
        # Beyond the records followed, release only if the last of them is released whole.
        view[len(side) :] = 0.0 if len(side) and not side[-1].any() else 1.0
    return table


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Redaction probabilities by distance and value, and their expected weight."""

    redaction: Floats
    cost: float
    threshold: float = -1.0
    """The largest influence that may be released; below 0 nothing is."""


def with_regions(
    influences: Floats, weights: Floats, budget: float, threshold: float, solve: Program
) -> Floats:
    """Redaction probabilities ``(m, k)`` by distance and value that the relaxation chooses on one side.

    Parameters
    ----------
    influences
        ``(m, k)``: influence of value v at distance d on the private record.
    weights
        ``(m, k)``: weight times probability of that value.
    budget
        What this side may leak.
    threshold
        The budget, perhaps a smaller one, whose regions are used.
    solve
        Finds what medium records release.
    """
    released = influences <= threshold
    redaction = np.where(released, 0.0, 1.0)
    small = first(released.all(axis=1))
    redaction[small:] = 0
    begin = min(first(released.any(axis=1)), small)
    if begin == small:
        return redaction
    # A record beyond that releases something reveals at most its largest released influence; none reveals nothing.
    most = np.where(released, influences, 0.0).max(axis=1)
    delta = np.append(most[begin + 1 : small], most[small] if small < len(influences) else 0.0)
    u = solve(budget - delta, np.where(released, weights, 0.0).sum(axis=1)[begin:small])
    medium = redaction[begin:small]
    redaction[begin:small] = np.where(released[begin:small], np.exp(-u)[:, None], medium)
    return redaction


def pooled(bounds: Floats, weights: Floats) -> Floats:
    """Minimise ``sum weights exp(-u)`` over ``u >= 0`` with every prefix sum of u at most its bound."""
    from scipy.optimize import isotonic_regression

    increments = np.diff(bounds, prepend=0.0)
    if np.all(weights == weights[0]):
        return np.maximum(isotonic_regression(increments).x, 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    blocks: list[tuple[int, int, float, float]] = []
    for i, increment in enumerate(increments.tolist()):
        start, end, total = i, i + 1, increment
        level = _level(logs[start:end], total)
        # A block's level falls when a lower one joins from the right: merge until levels do not decrease.
        while blocks and blocks[-1][3] >= level:
            start, _, before, _ = blocks.pop()
            total += before
            level = _level(logs[start:end], total)
        blocks.append((start, end, total, level))
    levels = np.concatenate([np.full(end - start, level) for start, end, _, level in blocks])
    with np.errstate(invalid="ignore"):
        u = np.where(np.isneginf(logs), 0.0, logs + levels)
    return np.maximum(u, 0.0)


def _level(logs: Floats, total: float) -> float:
    """The z with ``sum max(0, logs + z) = total``; weightless records leave their budget to the next ones."""
    ordered = np.sort(logs[np.isfinite(logs)])[::-1]
    if total < 0 or len(ordered) == 0:
        return -np.inf if total < 0 else np.inf
    # With the j largest active z = (total - their sum) / j; each needs logs_j + z >= 0.
    candidates = (total - np.cumsum(ordered)) / np.arange(1, len(ordered) + 1)
    active = int(np.flatnonzero(ordered + candidates >= 0)[-1]) if np.any(ordered + candidates >= 0) else 0
    return float(candidates[active])


def best_side(
    influences: Floats, weights: Floats, budget: float, remaining: Callable[[], float] = lambda: math.inf
) -> Relaxed:
    """The relaxation with the regions of the best budget up to this one, or of the first ones if time is up.

    Regions jump with the budget, so that a larger one may be worse; those of a smaller one stay private.
    """
    best = Relaxed(np.ones_like(weights), float(weights.sum()))
    thresholds = np.unique(influences[influences <= budget])
    worse = 0
    for threshold in thresholds[::-1].tolist():
        if worse >= _PATIENCE or weights[influences > threshold].sum() >= best.cost:
            break
        worse += 1
        redaction = with_regions(influences, weights, budget, threshold, pooled)
        cost = float((weights * redaction).sum())
        if cost < best.cost:
            best, worse = Relaxed(redaction, cost, threshold), 0
        if remaining() <= 0:
            break
    return best


def best_split(
    near: Sides, weights: Sides, epsilon: float, remaining: Callable[[], float] = lambda: np.inf
) -> tuple[Relaxed, Relaxed, float]:
    """Left and right under the best split of epsilon met while seconds remain, and the left side's share.

    The cost is piecewise smooth in the left side's share and jumps where a region changes, so the shares at which
    one does are tried next to a grid, and the best cells are refined. A side costs no less with a smaller budget: so
    between two shares nothing is less than the left side of the larger and the right side of the smaller one.
    """
    split = _Split(near, weights, epsilon, remaining)
    split.search()
    share = min(split.tried, key=split.cost)
    return *split.tried[share], share


@dataclass
class _Split:
    """The shares of the left side that were tried, with both sides of each."""

    near: Sides
    weights: Sides
    epsilon: float
    remaining: Callable[[], float]
    tried: dict[float, tuple[Relaxed, Relaxed]] = field(default_factory=dict)
    least: float = math.inf

    def cost(self, share: float) -> float:
        """The cost of a share; that of hiding everything if the time is up and it was not tried."""
        if share not in self.tried:
            if self.tried and self.remaining() <= 0:
                return float(self.weights[0].sum() + self.weights[1].sum())
            self.tried[share] = (
                best_side(self.near[0], self.weights[0], share, self.remaining),
                best_side(self.near[1], self.weights[1], self.epsilon - share, self.remaining),
            )
        one, other = self.tried[share]
        self.least = min(self.least, one.cost + other.cost)
        return one.cost + other.cost

    def search(self) -> None:
        """Try shares worth comparing: grid, places where a region changes, and local minima between them."""
        from scipy.optimize import minimize_scalar

        self.cost(self.epsilon / 2)
        left, right = (np.unique(side[side <= self.epsilon])[-_JUMPS:] for side in self.near)
        shares = np.unique(np.concatenate((np.linspace(0, self.epsilon, _GRID), left, self.epsilon - right)))
        shares = shares[(shares >= 0) & (shares <= self.epsilon)]
        self._between(shares.tolist())
        met = sorted(self.tried)
        order = np.argsort([self.cost(share) for share in met])[:_REFINED].tolist()
        for j in (j for i in order for j in (i - 1, i) if 0 <= j < len(met) - 1):
            if self._may_be_better(met[j], met[j + 1]):
                minimize_scalar(
                    lambda s: self.cost(float(s)),
                    bounds=(met[j], met[j + 1]),
                    method="bounded",
                    options={"xatol": 1e-7 * self.epsilon},
                )

    def _between(self, shares: list[float]) -> None:
        """Try the ends of ascending shares, and those between two as long as one may be better."""
        self.cost(shares[0])
        self.cost(shares[-1])
        waiting = [(0, len(shares) - 1)]
        while waiting:
            first, last = waiting.pop(0)
            middle = (first + last) // 2
            if first < middle and self._may_be_better(shares[first], shares[last]):
                self.cost(shares[middle])
                waiting += [(first, middle), (middle, last)]

    def _may_be_better(self, low: float, high: float) -> bool:
        """Whether a share between two may cost less than the best so far."""
        if low not in self.tried or high not in self.tried:
            return False
        return self.tried[high][0].cost + self.tried[low][1].cost < self.least * (1 - ENOUGH)

"""Alternating minimisation for mutual information, with a duality bound that the problem checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.solvers.distortion_privacy._alternating import Run, alternate
from privopt.solvers.distortion_privacy._bound import best_bound, better
from privopt.solvers.distortion_privacy._exact_release import silent_release
from privopt.solvers.distortion_privacy._space import Space, at_once

TARGET = 2e-7
"""Gap at which it stops, relative to the leakage or the distortion."""

LEAST_UNIT = 1e-8
"""Distortions below this, in units of the largest entry, are not told apart."""

FINEST = 2e-16
"""No gap of leakage is driven further, in nats."""


@register
@dataclass(frozen=True)
class BlahutArimoto(Solver[DistortionPrivacy]):
    """Least mutual information by multiplicative steps, each with its price of distortion; no back end.

    Blahut, "Computation of channel capacity and rate-distortion functions" (1972), Arimoto (1972), extended to
    a secret that is seen through the observation. Where leakage is bounded, Newton's method on the
    distortion, whose steps stay on one side as the trade-off is convex.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "blahut-arimoto"
    interruptible: ClassVar[bool] = True

    def guarantee(self, problem: DistortionPrivacy) -> Guarantee:
        """Bounded: near the optimum the steps become small."""
        return Guarantee.BOUNDED

    def cost(self, problem: DistortionPrivacy) -> float:
        """Some thousand steps, each a pass over the table."""
        cells = len(problem.observation.p_w) * int(problem.matrix.shape[1])
        return 0.05 + cells * (1e-4 if problem.max_leakage is None else 4e-3)

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse other measures, and exact independence."""
        if problem.order != 1:
            return f"its steps are for mutual information, this problem asks for {problem.leakage!r}"
        if problem.max_leakage == 0:
            return "exact independence is a linear question: direct-lp answers it exactly"
        return None

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the last channel, and the bound from its posteriors."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        if problem.max_leakage is not None:
            return _newton(space, problem.budget, budget)
        if (silent := silent_release(space, budget)) is not None:
            return silent
        run = alternate(space, space.room, _start(space), _near, budget)
        bound, dual = best_bound(space, run.laws)
        return Proposal(space.release(run.matrix), bound, dual, stats=run.stats())


def _near(information: float, price: float) -> float:
    return max(FINEST, TARGET * information)


def _start(space: Space) -> Floats:
    """Every open cell equally."""
    return np.asarray(space.open / space.open.sum(axis=1, keepdims=True))


def _newton(space: Space, limit: float, budget: Budget) -> Proposal:
    """The least distortion whose information is at most the limit: the root of a convex decreasing function.

    Every run's laws bound the distortion from below, and that bound is where the next run looks. Far from
    the root a rough run will do; where nothing is gained the next run is finer.
    """
    bracket = _Bracket(space, high=float(space.excess.sum(axis=0).min()))
    matrix, steps, room, share = _start(space), 0, bracket.high / 2, 0.05
    while True:
        fine = share

        def target(information: float, price: float, fine: float = fine) -> float:
            return max(
                1e-14, 5 * fine * TARGET * bracket.unit * min(1.0, price), fine * abs(information - limit)
            )

        run = alternate(space, room, matrix, target, budget)
        steps += run.steps
        before, low = bracket.high - bracket.low, bracket.low
        bracket.add(run, limit)
        width = bracket.high - bracket.low
        goal = TARGET * bracket.unit
        if width <= goal or budget.remaining <= 0 or share < 1e-9:
            stop = "the gap is small" if width <= goal else run.stop
            stats = {**run.stats(), "iterations": steps, "stop": stop}
            return Proposal(space.release(bracket.matrix), bracket.bound, bracket.dual, stats=stats)
        share = share if width < 0.5 * before else share / 4
        room = bracket.low if bracket.low > low else (bracket.low + bracket.high) / 2
        matrix = 0.999 * run.matrix + 0.001 * _start(space)


@dataclass
class _Bracket:
    """The least distortion, scaled and above that of the best reproduction, between a proof and a channel."""

    space: Space
    high: float
    low: float = 0.0
    matrix: Floats = field(default_factory=lambda: np.zeros(0))
    bound: float | None = None
    dual: dict[str, object] = field(default_factory=dict)

    @property
    def unit(self) -> float:
        """What |utility| is here; gaps are judged against it."""
        scale, least = self.space.problem.magnitude, float(self.space.problem.costs.least)
        return min(1.0, max(LEAST_UNIT, abs(least * scale + self.high)))

    def add(self, run: Run, limit: float) -> None:
        """Take the run's channel, brought within the limit, and its proof, where they are better."""
        space = self.space
        matrix = _quieter(space, run.matrix, limit) if run.information > limit else run.matrix
        distortion = float((space.excess * matrix).sum())
        if not self.matrix.size or distortion < self.high:
            self.high, self.matrix = distortion, matrix
        bound, dual = best_bound(space, run.laws)
        self.bound, self.dual = better((self.bound, self.dual), (bound, dual))
        if self.bound is not None:
            below = (-self.bound - float(space.problem.costs.least)) * space.problem.magnitude
            self.low = max(self.low, below)


def _quieter(space: Space, matrix: Floats, limit: float) -> Floats:
    """Mixed with its own output law by the least weight, by bisection."""
    marginal = np.tile(space.weights @ matrix / space.weights.sum(), (len(matrix), 1))
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        kept = space.leakage(middle * matrix + (1 - middle) * marginal) <= limit
        low, high = (middle, high) if kept else (low, middle)
    return np.asarray(low * matrix + (1 - low) * marginal)

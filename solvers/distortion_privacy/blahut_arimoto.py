"""Alternating minimisation for mutual information, with a duality bound that the problem checks.

Multiplicative steps that lower I(S;Y) at a fixed room for distortion, when the secret is seen through W.

With P(s, y) = sum_w P(s, w) Q(y|w) and any reference channel, the log-sum inequality bounds I(S;Y) from above by a
function that touches it at the reference and whose minimum is Q(y|w) ~ Q_ref(y|w) exp(-G(w, y) - m d(w, y)), where
G(w, y) = sum_s P(s|w) ln P(s|y)/P(s) at the reference; with S = W that is the step of Blahut and Arimoto. So steps of
length 1 never raise the information. As relative entropies between distributions of S given y contract by at least the largest
total variation between two distributions of S given w (Dobrushin), neither do steps of length 1 / that. Longer ones are tried and
taken back if they fail. The price m makes the step end within the room.

Where the table is small enough, Newton's method finds the same channel in some twenty steps, and these are for where it fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.distortion_privacy.repair import largest_share
from privopt.solvers.distortion_privacy._bound import best_bound, better, completed_posteriors
from privopt.solvers.distortion_privacy._newton import Reached, fits, newton, newton_seconds
from privopt.solvers.distortion_privacy._silent import silent_release
from privopt.solvers.distortion_privacy._space import Space, at_once

Target: TypeAlias = Callable[[float, float], float]

TINY = 1e-290
LONGEST = 1e6


@dataclass(frozen=True, eq=False)
class Run:
    """A channel, what it reads, and the distributions of S of the best bound on the way.

    Distortion is above the least, in the unit of ``space.excess``, as is the price.
    """

    matrix: Floats
    information: float
    distortion: float
    price: float
    posteriors: Floats
    steps: int
    stop: str

    def stats(self) -> dict[str, float | int | str]:
        """What to report of it."""
        return {"iterations": self.steps, "price": self.price, "stop": self.stop}


def alternate(space: Space, room: float, start: Floats, target: Target, budget: Budget) -> Run:
    """Lower the information within the room until the bound is near.

    Parameters
    ----------
    room : float
        Expected distortion above the least that is allowed.
    start : array (n_w, n_y)
        Positive on every open cell.
    target : function (information, price)
        Gap at which to stop, in nats.
    """
    distances = space.excess / space.weights[:, None]
    conditional = (space.table / space.weights).T
    shortest = 1.0 / _contraction(conditional)
    length, price = shortest, 0.0
    matrix, price = _project(np.log(np.maximum(start, TINY)), distances, space, room, 0.0)
    value = _information(space, matrix)
    least, posteriors, due, steps = -math.inf, np.zeros(0), 16, 0
    while True:
        steps += 1
        slopes = conditional @ _scores(space, matrix)
        logs = np.log(np.maximum(matrix, TINY)) - length * slopes
        logs = np.where(space.open, logs, -np.inf)
        tried, multiplier = _project(logs, distances, space, room, price * length)
        reached = _information(space, tried)
        if reached > value and length > shortest:
            length = max(shortest, length / 4)
            continue
        stalled = reached >= value - 1e-16 and length == shortest
        matrix, value, price = tried, min(reached, value), multiplier / length
        length = min(LONGEST, 1.3 * length)
        if steps >= due or stalled or budget.remaining <= 0:
            due = steps + max(16, steps // 4)
            proof = completed_posteriors(space, matrix, price)
            sums = space.table.T @ np.log(proof / space.prior).T
            low = float((sums + price * space.excess).min(axis=1).sum()) - price * room
            if low >= least:
                least, posteriors = low, proof
            stop = _stop(value - least, target(value, price), stalled, budget)
            if stop:
                distortion = float((space.excess * matrix).sum())
                return Run(matrix, value, distortion, price, posteriors, steps, stop)


def _stop(gap: float, target: float, stalled: bool, budget: Budget) -> str:
    if gap <= target:
        return "the gap is small"
    if budget.remaining <= 0:
        return "out of time"
    return "the steps no longer change anything" if stalled else ""


def _contraction(conditional: Floats) -> float:
    """Largest total variation between two distributions of S given w, at least 1e-6."""
    spread = (
        np.abs(conditional[:, None] - conditional[None]).sum(axis=2)
        if len(conditional) <= 200
        else np.array(2.0)
    )
    return max(1e-6, float(spread.max()) / 2)


def _scores(space: Space, matrix: Floats) -> Floats:
    """The log-lift of each pair, shape (n_s, n_y)."""
    joint, marginal = space.table @ matrix, space.weights @ matrix
    return np.log(np.maximum(joint, TINY) / np.maximum(space.prior[:, None] * marginal, TINY))


def _information(space: Space, matrix: Floats) -> float:
    return float((space.table @ matrix * _scores(space, matrix)).sum())


def _project(
    logs: Floats, distances: Floats, space: Space, room: float, guess: float, low: float = 0.0
) -> tuple[Floats, float]:
    """exp(logs - m d), rows normalised, with the least m >= ``low`` that keeps the room; Newton with a bracket."""
    high, m = math.inf, guess
    for _ in range(100):
        matrix = _normalised(logs - m * distances)
        means = (matrix * distances).sum(axis=1)
        excess = float(space.weights @ means) - room
        if (
            abs(excess) <= 1e-15 * max(1.0, room)
            or (m == low and excess <= 0)
            or high - low < 1e-15 * abs(high)
        ):
            return matrix, m
        low, high = (m, high) if excess > 0 else (low, m)
        slope = float(space.weights @ ((matrix * distances**2).sum(axis=1) - means**2))
        step = m + excess / slope if slope > 0 else math.inf
        inside = low <= step < high and math.isfinite(step)
        m = step if inside and step != m else (2 * low + 1 if math.isinf(high) else (low + high) / 2)
    return _normalised(logs - m * distances), m


def _normalised(logs: Floats) -> Floats:
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


TARGET = 2e-7
"""Gap at which it stops, relative to the leakage or the distortion."""

CLOSED = 8e-7
"""Relative gap up to which Newton's method has converged."""

TILTED = 1e-2
"""Most that the logarithm of a cell gains by room that is left."""

THREADED = 50
"""Observations from which BLAS shares products and inverses among threads, unless it is told not to."""

SHARE_KEPT = 0.15
"""Of the time, for bringing what Newton's method has at its end within the limits."""

LEAST_UNIT = 1e-8
"""Distortions below this, in units of the largest entry, are not told apart."""

FINEST = 2e-16
"""No gap of leakage is driven further, in nats."""


@register
@dataclass(frozen=True)
class BlahutArimoto(Solver[DistortionPrivacy]):
    """Least mutual information by multiplicative steps, each with its price of distortion; no back end.

    Tables of up to about 150 symbols are tried by Newton's method first.

    Blahut, "Computation of channel capacity and rate-distortion functions" (1972), Arimoto (1972), extended to
    a secret that is seen through the observation. Where leakage is bounded, Newton's method on the
    distortion, whose steps stay on one side as the trade-off is convex.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "blahut-arimoto"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """Bounded: near the optimum the steps become small."""

    def cost(self, problem: DistortionPrivacy) -> float:
        """Newton's method; or some thousand steps, each a pass over the table."""
        observations, outputs = len(problem.observation.p_w), int(problem.matrix.shape[1])
        if fits(outputs, observations):
            return newton_seconds(outputs, observations, len(problem.observation.p_s))
        cells = observations * outputs
        return 0.05 + cells * (1e-4 if problem.max_leakage is None else 4e-3)

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse other measures, and exact independence."""
        if problem.order != 1:
            return f"its steps are for mutual information, this problem asks for {problem.leakage!r}"
        if problem.max_leakage == 0:
            return "exact independence is linear in the channel: direct-lp answers it exactly"
        return None

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the last channel, and the bound from its posteriors."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        if problem.max_leakage is None and (silent := silent_release(space, budget)) is not None:
            return silent
        quick = _quick(space, budget)
        if quick is not None and quick.done:
            return quick.proposal
        if problem.max_leakage is not None:
            return _root(space, problem.budget, budget)
        run = alternate(space, space.room, _start(space), _near, budget)
        last = _found(space, run.matrix, run.posteriors, run.stats())
        return (last if quick is None else _better(last, quick)).proposal


@dataclass(frozen=True)
class _Found:
    """A release with its objective and its bound, and whether nothing is left to do, or no time for it."""

    release: Channel
    objective: float
    bound: float | None
    dual: dict[str, object]
    stats: dict[str, float | int | str]
    done: bool

    @property
    def proposal(self) -> Proposal:
        """As a solver proposes it."""
        return Proposal(self.release, self.bound, self.dual, stats=self.stats)


def _found(space: Space, matrix: Floats, posteriors: Floats, stats: dict[str, float | int | str]) -> _Found:
    """A channel with what distributions of S prove, done where they meet."""
    bound, dual = best_bound(space, posteriors)
    release = space.release(matrix)
    reading = space.problem.evaluate(release)
    closed = bound is not None and bound - reading.objective <= CLOSED * space.problem.scale(reading)
    return _Found(release, reading.objective, bound, dual, stats, closed)


def _better(one: _Found, other: _Found) -> _Found:
    """The better release with the tighter bound of two."""
    best = max(one, other, key=lambda found: found.objective)
    bound, dual = better((one.bound, one.dual), (other.bound, other.dual))
    return replace(best, bound=bound, dual=dual)


def _one_thread(observations: int) -> AbstractContextManager[object]:
    """Threads gain a fifth on inverses of this size, and lose many times that where other work keeps one of them waiting."""
    return threadpool_limits(1, user_api="blas") if observations >= THREADED else nullcontext()


def _quick(space: Space, budget: Budget) -> _Found | None:
    """What Newton's method finds."""
    given = budget.remaining
    if space.room == 0 or not fits(space.excess.shape[1], len(space.seen)):
        return None
    last = None
    with _one_thread(len(space.seen)), np.errstate(all="ignore"):  # what is not finite closes no gap
        for reached in newton(space, budget.earlier(SHARE_KEPT)):
            if not np.isfinite(reached.matrix).all():
                break
            found = _brought_within(space, reached)
            last = found if last is None or found.done else _better(found, last)
            if last.done:
                return last
    if last is None or math.isinf(given) or budget.remaining > SHARE_KEPT * given:
        return last
    return replace(last, stats={**last.stats, "stop": "out of time"}, done=True)


def _brought_within(space: Space, reached: Reached) -> _Found:
    """A channel of Newton's method within the limits, with its bound."""
    matrix, logs = reached.matrix, np.log(np.maximum(reached.matrix, TINY))
    distances = space.excess / space.weights[:, None]
    least = -TILTED / float(distances.max())
    # A step to either side of what is allowed: to first order both sides cost what the price says.
    if space.problem.max_leakage is None:
        matrix, _ = _project(logs, distances, space, space.room, 0.0, low=least)
    else:
        matrix = _as_leaky(space, matrix, logs, -least * distances)
        if _information(space, matrix) > space.problem.budget:
            matrix = _quieter(space, matrix, space.problem.budget)
    stats: dict[str, float | int | str] = {
        "iterations": reached.steps,
        "stop": "Newton's steps have converged",
    }
    return _found(space, matrix, reached.posteriors, stats)


def _as_leaky(space: Space, matrix: Floats, logs: Floats, quieter: Floats) -> Floats:
    """exp(logs + m quieter), rows normalised, with -1 <= m <= 1 that leaks what is allowed; the matrix itself where none does."""

    def over(m: float) -> float:
        return _information(space, _normalised(logs + m * quieter)) - space.problem.budget

    if not over(1.0) <= 0 <= over(-1.0):
        return matrix
    from scipy.optimize import brentq

    return _normalised(logs + float(brentq(over, -1.0, 1.0, xtol=1e-15, rtol=1e-14)) * quieter)


def _near(information: float, price: float) -> float:
    return max(FINEST, TARGET * information)


def _start(space: Space) -> Floats:
    """Every open cell equally."""
    return np.asarray(space.open / space.open.sum(axis=1, keepdims=True))


def _root(space: Space, limit: float, budget: Budget) -> Proposal:
    """The least distortion whose information is at most the limit: the root of a convex decreasing function.

    Every run's posteriors bound the distortion from below, and that bound is where the next run looks. Far from
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
        self.bound, self.dual = better((self.bound, self.dual), best_bound(space, run.posteriors))
        if self.bound is not None:
            below = (-self.bound - float(space.problem.costs.least)) * space.problem.magnitude
            self.low = max(self.low, below)


def _quieter(space: Space, matrix: Floats, limit: float) -> Floats:
    """Mixed with its own output distribution by the least weight."""
    marginal = np.tile(space.weights @ matrix / space.weights.sum(), (len(matrix), 1))
    kept = largest_share(lambda share: space.leakage(share * matrix + (1 - share) * marginal) - limit)
    return np.asarray(kept * matrix + (1 - kept) * marginal)

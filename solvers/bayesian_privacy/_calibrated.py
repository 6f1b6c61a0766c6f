"""From a bound to a proposal: the largest level that the bound allows, rounded down, and the noise of that level."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from privopt.core.problem import Enclosure
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.errors import InvalidModel, InvalidProblem
from privopt.measures.bayesian.leakage import calibrate
from privopt.models import CovarianceAmbiguity, GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy

STEPS = (2.0**-30, 2.0**-25, 2.0**-21)
"""The level that is proved to be too high lies above the calibrated one by the least of these that will do, relatively."""

SAME = 1e-9
"""Bounds that differ by less, relatively, are taken to be the same."""


HALVINGS = 14
"""Levels that are tried to prove a bound where the calibrated level proves none."""

HASTY = 1e-7
"""Relative precision of a level whose readings take long."""

SAFELY = 1e-4
"""How far below the level that is expected one is tried, relatively, while little is known of it."""

CHECKED, OWN_CHECKED = 0.01, 1e-3
"""Seconds that reading a bound, or what a noisy sum leaks, may take when it is asked whether a solver is fit."""


class _TimeUp(Exception):
    """The deadline has passed between two readings of a bound."""


@dataclass(frozen=True)
class Calibrated(Solver[BayesianPrivacy]):
    """Noise of the largest level that one bound on the leakage allows: the bound that has the solver's name."""

    solves: ClassVar = BayesianPrivacy
    seconds: ClassVar[float] = 1e-3
    """What some thirty readings of the bound take, for a few records."""

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """Optimal where this bound is exact and the best one, unless it is kept for comparison."""
        return self.guaranteed or standing(problem, self.name)

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds of some thirty readings of the bound."""
        return self.seconds

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        return out_of_reach(problem, self.name)

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level that the bound allows."""
        if self.name == "general" and isinstance(problem.model, MarkovChain) and problem.length is not None:
            tau = problem.epsilon / problem.length * (1 - 2.0**-50)
        else:
            tau = largest_level(lambda tau: value(problem, tau, self.name), problem.epsilon, budget)
        return proposal(problem, tau, {"method": self.name}, budget=budget)


def value(problem: BayesianPrivacy, tau: float, method: str) -> float:
    """The bound of a method at a level, never above what holds for any dependence."""
    return levels.bound(problem, tau, method).value


def largest_level(
    leakage: Callable[[float], float],
    epsilon: float,
    budget: Budget,
    most: float | None = None,
    *,
    vanishes: bool = False,
) -> float:
    """The largest level read in time, at most epsilon or ``most``, with a leakage of at most epsilon; 0 if there is none.

    A small level is read first, as some bounds never come down to epsilon, unless the leakage ``vanishes`` with the level.
    """
    allowed = 0.0

    def timed(tau: float) -> float:
        nonlocal allowed
        if budget.remaining == 0:
            raise _TimeUp
        try:
            nats = leakage(tau)
        except TimeoutError as cause:
            raise _TimeUp from cause
        if nats <= epsilon:
            allowed = max(allowed, tau)
        return nats

    try:
        if not vanishes and timed(epsilon * 2.0**-60) > epsilon:
            return 0.0
        return calibrate(timed, epsilon, most=most)
    except _TimeUp:
        return allowed


def hasty_level(
    leakage: Callable[[float], float],
    epsilon: float,
    budget: Budget,
    least: float = 0.0,
    first: float = 0.0,
    precision: float = HASTY,
) -> float:
    """A level with a leakage of at most epsilon, as large as time allows: by quartering, then false positions of logarithms.

    ``least`` is a level that is known to be allowed, and ``first`` one to try before others, 0 for none; ``precision`` is relative.
    """
    ends = _Ends(least, epsilon)
    try:
        if least < first < epsilon and budget.remaining > 0:
            ends.read(first, leakage, epsilon)
        while ends.low == 0 and ends.high > epsilon * 2.0**-60 and budget.remaining > 0:
            ends.read(ends.high / 4, leakage, epsilon)
        while 0 < ends.low < ends.high * (1 - precision) and budget.remaining > 0:
            ends.read(ends.between, leakage, epsilon)
    except TimeoutError:
        return ends.low
    return ends.low


@dataclass
class _Ends:
    """A level that is allowed and one that is not, with the logarithms of what each leaks over epsilon; nan before it is read."""

    low: float
    high: float
    under: float = math.nan
    over: float = math.nan
    last: bool | None = None
    """Whether the last level read was allowed."""
    same: int = 0
    """How many in a row were as it was."""

    def read(self, tau: float, leakage: Callable[[float], float], epsilon: float) -> None:
        """Move an end to a level; the other one counts half where it stays twice (the Illinois rule)."""
        nats = leakage(tau)
        allowed = nats <= epsilon
        self.same = self.same + 1 if allowed is self.last else 1
        part = 0.5 if self.same > 1 else 1.0
        if allowed:
            self.low, self.under = tau, math.log(nats / epsilon) if nats > 0 else math.nan
            self.over *= part
        else:
            self.high, self.over = tau, math.log(nats / epsilon) if nats < math.inf else math.nan
            self.under *= part
        self.last = allowed

    @property
    def between(self) -> float:
        """Where a line through both ends meets epsilon, or just below, so that what is found when time is up is allowed.

        Where one end is not read, the line is one in proportion to the level; the mean where neither is, or it does not help.
        """
        first, last = math.log(self.low), math.log(self.high)
        rise = self.over - self.under
        if rise > 0:
            at = first - self.under * (last - first) / rise
        elif self.same in (1, 2) and not math.isnan(self.over):
            at = last - self.over
        elif self.same in (1, 2) and not math.isnan(self.under):
            at = first - self.under
        else:
            at = (first + last) / 2
        aside = SAFELY if last - first > 10 * SAFELY else HASTY / 3
        return math.exp(min(max(at - aside, first + HASTY / 3), last - HASTY / 3))


def proposal(
    problem: BayesianPrivacy,
    tau: float,
    stats: dict[str, float | int | str],
    *,
    printed: bool = False,
    budget: Budget | None = None,
) -> Proposal:
    """Noise of a level, with the bound that a level just above proves, or else epsilon itself.

    Unless the level is ``printed`` in a publication, it leaves room for the roundings of the proof.
    """
    mechanism = problem.answer(tau if printed else problem.within(tau))
    stats = {**stats, "tau": mechanism.tau, "factor": problem.epsilon / tau if tau > 0 else math.inf}
    slow = levels.bounding_seconds(problem)
    for t in (*(tau * (1 + step) for step in STEPS), problem.epsilon, problem.epsilon * (1 + STEPS[0])):
        if budget is not None and budget.remaining <= slow:
            break
        bound = levels.prove_level(problem, t) if 0 < t < math.inf else None
        if bound is not None:
            if t >= problem.epsilon:
                t, bound = _lowered(problem, tau, (t, bound), budget, slow)
            return Proposal(mechanism, bound[1], {"kind": "level", "tau": t}, stats=stats)
    return Proposal(mechanism, 0.0, {"kind": "error"}, stats=stats)


def _lowered(
    problem: BayesianPrivacy,
    low: float,
    proved: tuple[float, Enclosure],
    budget: Budget | None,
    slow: float,
) -> tuple[float, Enclosure]:
    """A lower level that is proved to be too high, with its bound, by halving the logarithm of what lies between."""
    low = max(low, proved[0] * 2.0**-40)
    for _ in range(HALVINGS):
        if budget is not None and budget.remaining <= slow:
            break
        middle = math.sqrt(low * proved[0])
        bound = levels.prove_level(problem, middle)
        if bound is None:
            low = middle
        else:
            proved = middle, bound
    return proved


def standing(problem: BayesianPrivacy, method: str) -> Guarantee:
    """Optimal where the bound is the leakage that is read and exact, bounded where it is the best there is.

    Where a reading takes long this is what the bound is known for, not what it comes to.
    """
    own = levels.own(problem)
    if levels.any_seconds(problem) > CHECKED or (own is not None and own.seconds > OWN_CHECKED):
        if own is not None or method not in (
            "markov-recursion",
            "gaussian-column",
            "gaussian-h-matrix",
        ):
            return Guarantee.FEASIBLE
        return Guarantee.OPTIMAL if getattr(problem.model, "k", 3) == 2 else Guarantee.BOUNDED
    best = levels.reading(problem, problem.epsilon)
    if value(problem, problem.epsilon, method) > best.value * (1 + SAME):
        return Guarantee.FEASIBLE
    return Guarantee.OPTIMAL if best.exact else Guarantee.BOUNDED


def not_gaussian(problem: BayesianPrivacy) -> str | None:
    """Why bounds for Gaussian records inside an interval do not apply, or None."""
    if not isinstance(levels.judged_model(problem), (GaussianModel, CovarianceAmbiguity)):
        if isinstance(problem.model, GaussianModel):
            return "of a function only the sensitivity is known, Gaussian bounds need a sum or a mean"
        return f"it is for Gaussian records, these follow a {type(problem.model).__name__}"
    if problem.scope == "all_reals":
        return "its bound holds for targets inside the clipping interval, this problem is about all reals"
    return None


def not_a_chain(problem: BayesianPrivacy) -> str | None:
    """Why bounds for Markov chains do not apply, or None."""
    if not isinstance(problem.model, MarkovChain):
        return f"it is for records of a Markov chain, these follow a {type(problem.model).__name__}"
    return None


def out_of_reach(problem: BayesianPrivacy, method: str) -> str | None:
    """Why a method gives no bound here, or None; it is read at a vanishing level, unless that takes long."""
    if levels.any_seconds(problem) > CHECKED and method not in ("general", "markov-published"):
        return None
    try:
        least = value(problem, problem.epsilon * 2.0**-60, method)
    except (InvalidProblem, InvalidModel) as cause:
        return str(cause)
    if least > problem.epsilon:
        return f"its bound is {least:.6g} nats even for the smallest level, more than epsilon"
    return None


def reading_seconds(problem: BayesianPrivacy) -> float:
    """Predicted seconds of reading the best bound at one level."""
    return levels.reading_seconds(problem)


def blocks(problem: BayesianPrivacy) -> int:
    """Records of the largest independent block of Gaussian records."""
    model = problem.model
    if isinstance(model, GaussianModel):
        return max(map(len, model.blocks))
    return model.size if isinstance(model, GroupModel) else 1

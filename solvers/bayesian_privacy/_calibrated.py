"""From a bound to a proposal: the largest level that the bound allows, rounded down, and the noise of that level."""

from __future__ import annotations

import math
from collections.abc import Callable

from privopt.core.solver import Budget, Guarantee, Proposal
from privopt.errors import InvalidModel, InvalidProblem
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy

STEPS = (2.0**-30, 2.0**-25, 2.0**-21)
"""The level that is proved to be too high lies above the calibrated one by the least of these that will do, relatively."""

SAME = 1e-9
"""Bounds that differ by less, relatively, are taken to be the same."""


def value(problem: BayesianPrivacy, tau: float, method: str) -> float:
    """The bound of a method at a level, never above what holds for any dependence."""
    return levels.bound(problem, tau, method).value


class _TimeUp(Exception):
    """The deadline has passed between two readings of a bound."""


def level_of(problem: BayesianPrivacy, method: str, budget: Budget) -> float:
    """The largest level found in time at which the bound of a method is at most epsilon."""
    return largest_level(lambda tau: value(problem, tau, method), problem.epsilon, budget)


def largest_level(
    leakage: Callable[[float], float], epsilon: float, budget: Budget, most: float | None = None
) -> float:
    """The largest level found in time, at most epsilon or ``most``, at which a leakage is at most epsilon; 0 if there is none."""
    from privopt.measures.bayesian.leakage import calibrate

    allowed = 0.0

    def timed(tau: float) -> float:
        nonlocal allowed
        if budget.remaining == 0:
            raise _TimeUp
        found = leakage(tau)
        if found <= epsilon:
            allowed = max(allowed, tau)
        return found

    try:
        return 0.0 if timed(epsilon * 2.0**-60) > epsilon else calibrate(timed, epsilon, most=most)
    except _TimeUp:
        return allowed


def proposal(
    problem: BayesianPrivacy, tau: float, stats: dict[str, float | int | str], *, printed: bool = False
) -> Proposal:
    """Noise of a level, with the bound that a level just above proves, or else epsilon itself.

    Unless the level is ``printed`` in a publication, it leaves room for the roundings of the proof.
    """
    mechanism = problem.answer(tau if printed else problem.within(tau))
    told = {**stats, "tau": mechanism.tau, "factor": problem.epsilon / tau if tau > 0 else math.inf}
    for t in (*(tau * (1 + step) for step in STEPS), problem.epsilon, problem.epsilon * (1 + STEPS[0])):
        bound = levels.prove_level(problem, t) if 0 < t < math.inf else None
        if bound is not None:
            return Proposal(mechanism, bound[1], {"kind": "level", "tau": t}, stats=told)
    return Proposal(mechanism, 0.0, {"kind": "error"}, stats=told)


def standing(problem: BayesianPrivacy, method: str) -> Guarantee:
    """Optimal where the bound is the leakage that is read and exact, bounded where it is the best there is."""
    best = levels.reading(problem, problem.epsilon)
    if value(problem, problem.epsilon, method) > best.value * (1 + SAME):
        return Guarantee.FEASIBLE
    return Guarantee.OPTIMAL if best.exact else Guarantee.BOUNDED


def not_gaussian(problem: BayesianPrivacy) -> str | None:
    """Why bounds for Gaussian records inside an interval do not apply, or None."""
    if not isinstance(levels.judged_model(problem), GaussianModel):
        if isinstance(problem.model, GaussianModel):
            return "of a function only the sensitivity is known, Gaussian bounds need a sum or a mean"
        return f"it is for Gaussian records, these follow a {type(problem.model).__name__}"
    if problem.scope == "all_reals":
        return "its bound holds for targets inside the clipping interval, this question is about all reals"
    return None


def not_a_chain(problem: BayesianPrivacy) -> str | None:
    """Why bounds for Markov chains do not apply, or None."""
    if not isinstance(problem.model, MarkovChain):
        return f"it is for records of a Markov chain, these follow a {type(problem.model).__name__}"
    return None


def out_of_reach(problem: BayesianPrivacy, method: str) -> str | None:
    """Why a method gives no bound here, or None; it is asked at the level epsilon."""
    try:
        found = value(problem, problem.epsilon * 2.0**-60, method)
    except (InvalidProblem, InvalidModel) as cause:
        return str(cause)
    if found > problem.epsilon:
        return f"its bound is {found:.6g} nats even for the smallest level, more than epsilon"
    return None


def blocks(problem: BayesianPrivacy) -> int:
    """Records of the largest independent block of Gaussian records."""
    model = problem.model
    if isinstance(model, GaussianModel):
        return max(map(len, model.blocks))
    return model.size if isinstance(model, GroupModel) else 1

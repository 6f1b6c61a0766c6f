"""Local differential privacy of thousands of secrets through bounds on lifts, of which there are two a secret.

Lifts from e^-l to e^u with l + u = epsilon have ratios up to e^epsilon (the lectures on privacy-utility trade-offs). Ratios
compare all pairs of secrets, lifts each secret with the distribution of the release. The other direction does not hold: what only
ratios allow is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Channel
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import ANALYTIC

UPPER = (0.45, 0.5, 0.4)
"""Shares of epsilon for the upper level; a release that makes half of all secrets likely has .46 of 1 nat above, the rest below."""

SHARES = (0.6, 0.5, 1.0)
"""Of the time that is left, for each of them."""


def between(problem: LocalInformationPrivacy, upper: float = UPPER[0]) -> LocalInformationPrivacy:
    """The problem of lifts whose levels add up to epsilon."""
    high = upper * problem.budget
    return LocalInformationPrivacy(
        problem.joint, lower=problem.budget - high, upper=high, utility=problem.utility
    )


def through_lifts(
    problem: LocalInformationPrivacy,
    budget: Budget,
    run: Callable[[LocalInformationPrivacy, Budget], Proposal],
) -> Proposal:
    """The best channel of some levels, with the bound that needs no search."""
    best, answer, tried = -math.inf, problem.safe(), 0
    for upper, share in zip(UPPER, SHARES, strict=True):
        if budget.remaining == 0:
            break
        found = run(between(problem, upper), budget.earlier(1.0 - share)).mechanism
        tried += 1
        if isinstance(found, Channel) and (utility := problem.evaluate(found).utility) > best:
            best, answer = utility, found
            budget.report(utility)
    return Proposal(answer, analytic_bound(problem), ANALYTIC, stats={"levels": tried})

"""Local differential privacy of thousands of secrets through bounds on lifts, of which there are two a secret.

Lifts from e^-l to e^u with l + u = epsilon have ratios up to e^epsilon (the lectures on privacy-utility trade-offs). Ratios
compare all pairs of secrets, lifts each secret with the distribution of the release. The other direction does not hold: what only
ratios allow is lost. As ratios are bounded release by release, releases of several such levels may be mixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import ANALYTIC, NEGLIGIBLE, channel_from_posteriors
from privopt.solvers.local_information_privacy.columns.master import master
from privopt.solvers.local_information_privacy.columns.program import entropies, pricing_of

UPPER = (0.45, 0.5, 0.4)
"""Shares of epsilon for the upper level; a release that makes half of all secrets likely has .46 of 1 nat above, the rest below."""

SHARES = (0.85, 0.6, 1.0)
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
    """The best mixture of releases of some levels, with the bound that needs no search; each of them begins from the best so far."""
    best, answer, tried = -math.inf, problem.safe(), 0
    mixed: Release = answer
    for upper, share in zip(UPPER, SHARES, strict=True):
        if budget.remaining == 0:
            break
        some = budget.earlier(1.0 - share)
        some = some if best == -math.inf else replace(some, incumbent=answer)
        found = run(between(problem, upper), some).mechanism
        tried += 1
        if not isinstance(found, Channel):
            continue
        mixed = found if best == -math.inf else _mixed(problem, answer, found)
        if (utility := problem.evaluate(mixed).utility) > best:
            best, answer = utility, mixed
            budget.report(utility)
    return Proposal(answer, analytic_bound(problem), ANALYTIC, stats={"levels": tried})


def _mixed(problem: LocalInformationPrivacy, one: Release, other: Release) -> Release:
    """The best mixture of the releases of two channels; the other one where none is found."""
    support = problem.observation.support
    p = problem.observation.p_w[support]
    joint = p[:, None] * np.concatenate([each.matrix[support] for each in (one, other)], axis=1)
    mass = joint.sum(axis=0)
    posteriors = (joint[:, mass > NEGLIGIBLE] / mass[mass > NEGLIGIBLE]).T
    costs = entropies(pricing_of(between(problem)), posteriors)
    try:
        weights = master(posteriors, costs, p).weights
    except ArithmeticError:
        return other
    return channel_from_posteriors(problem, weights, posteriors)

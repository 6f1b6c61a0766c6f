"""Releases that say nothing of the secret, and how far they reach: another question, answered exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Proposal
from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.data import WITHHELD
from privopt.problems.trade_off.tree import exact_rank

SECONDS = 5.0
"""Time for the exact search, at most."""

SLOWEST = 4.0
"""Symbols a second left beyond which the exact search is not begun: fractions take their time."""


@dataclass(frozen=True)
class Independent:
    """The most useful channel found that is exactly independent of S, in fractions (None: it says nothing), and a bound."""

    channel: Channel | None
    bound: float | None = None
    dual: object = None

    def proposal(self, problem: PrivacyFunnel) -> Proposal:
        """The answer where nothing may be leaked."""
        release = problem.nothing() if self.channel is None else self.channel
        stats: dict[str, float | int | str] = {"stop": "nothing may be leaked: independent releases only"}
        if self.bound is None:
            return Proposal(release, analytic_bound(problem), {"kind": "analytic"}, stats=stats)
        return Proposal(release, self.bound, {"kind": "independent", "dual": self.dual}, stats=stats)


def independent_release(problem: PrivacyFunnel, seconds: float) -> Independent:
    """What can be said of X and nothing of S: local information privacy at epsilon = 0, which has exact solvers."""
    observed = problem.observation
    support = observed.support
    if exact_rank(problem) == len(support) or len(support) > SLOWEST * seconds:
        return Independent(None)
    from privopt.core.dispatch import solve
    from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

    try:
        strict = LocalInformationPrivacy(problem.joint, epsilon=0.0)
    except InvalidProblem:  # cells that are too small for it
        return Independent(None)
    # not certified here: the answer made of it is, by the question that was asked
    found = solve(strict, "perfect-privacy", time_limit=min(SECONDS, seconds), certify=False)
    if not found.status.ok:
        return Independent(None)
    channel = found.mechanism
    if not isinstance(channel, Channel) or len(channel.outputs) < 2:
        return Independent(None, found.bound, found.dual)
    rows = fractions_of(channel)
    weights, total = observed.weights, sum(observed.weights)
    average = [
        sum((w * p for w, p in zip(weights, column, strict=True)), Fraction(0)) / total
        for column in zip(*rows, strict=True)
    ]
    rows = [row if w else average for w, row in zip(weights, rows, strict=True)]
    return Independent(Channel(rows, channel.inputs, channel.outputs), found.bound, found.dual)


def fractions_of(channel: Channel) -> list[list[Fraction]]:
    """The exact rows of a channel."""
    return [[Fraction(w, row.total) for w in row.weights] for row in channel.exact()]


def thinned(problem: PrivacyFunnel, channel: Channel, utility: float) -> Channel:
    """The channel shown with just the probability that gives a utility, withheld otherwise.

    The secret stays exactly independent, and I(X;Y) is in proportion to the probability. That is a multiple of
    2^-60, rounded up.
    """
    whole = problem.evaluate(channel).utility
    if utility >= whole:
        return channel
    steps = 2**60
    share = min(Fraction(1), Fraction(math.ceil(Fraction(utility) / Fraction(whole) * steps) + 2**16, steps))
    rows = [[share * v for v in row] + [1 - share] for row in fractions_of(channel)]
    labels = [("shown", label) for label in channel.outputs]
    return Channel(rows, channel.inputs, [*labels, WITHHELD])


def chord(problem: PrivacyFunnel, channel: Channel, share: float) -> Channel:
    """X itself with a probability, else what the channel says, and which of the two it is."""
    return problem.answer(np.hstack([share * problem.everything().matrix, (1.0 - share) * channel.matrix]))


def posteriors(problem: PrivacyFunnel, channel: Release) -> Floats:
    """The laws of the observation given a release, on the support, a row each."""
    observed = problem.observation
    support = observed.support
    joint = observed.p_w[support][:, None] * channel.matrix[support]
    joint = joint[:, joint.sum(axis=0) > 0]
    return np.asarray((joint / joint.sum(axis=0)).T)

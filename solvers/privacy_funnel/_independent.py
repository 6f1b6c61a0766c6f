"""Releases that say nothing of the secret, and how far they reach: another question, answered exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privopt.mechanisms import Channel
from privopt.problems._observation import Floats, Release
from privopt.problems._trade_off import WITHHELD
from privopt.problems.privacy_funnel import PrivacyFunnel

SECONDS = 5.0
"""Time for the exact search, at most."""

SLOWEST = 4.0
"""Symbols a second left beyond which the exact search is not begun: fractions take their time."""


def independent_release(problem: PrivacyFunnel, seconds: float) -> Channel | None:
    """The most useful channel found that is exactly independent of S, in fractions; None where it says nothing.

    This is local information privacy at epsilon = 0, which has exact solvers of its own.
    """
    observed = problem.observation
    support = observed.support
    if (
        np.linalg.matrix_rank(observed.s_given_w[:, support]) == len(support)
        or len(support) > SLOWEST * seconds
    ):
        return None
    from privopt._dispatch import solve
    from privopt.problems.local_information_privacy import LocalInformationPrivacy

    strict = LocalInformationPrivacy(problem.joint, epsilon=0.0)
    # not certified here: the answer made of it is, by the question that was asked
    found = solve(strict, "perfect-privacy", time_limit=min(SECONDS, seconds), certify=False)
    if not found.status.ok or not isinstance(found.mechanism, Channel) or len(found.mechanism.outputs) < 2:
        return None
    return Channel(fractions_of(found.mechanism), found.mechanism.inputs, found.mechanism.outputs)


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
    return problem.answer(np.hstack([share * np.eye(len(channel.inputs)), (1.0 - share) * channel.matrix]))


def posteriors(problem: PrivacyFunnel, channel: Release) -> Floats:
    """The laws of the observation given a release, on the support, a row each."""
    observed = problem.observation
    support = observed.support
    joint = observed.p_w[support][:, None] * channel.matrix[support]
    joint = joint[:, joint.sum(axis=0) > 0]
    return np.asarray((joint / joint.sum(axis=0)).T)

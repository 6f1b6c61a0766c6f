"""Releases that do not depend on the data: said in a sentence, with the least budget at which that ends where it is known."""

from __future__ import annotations

import math
from typing import Any

from privopt.core.problem import Problem
from privopt.mechanisms import Channel, Mechanism, Merging, RedactionMechanism, SequencePolicy
from privopt.mechanisms.policy import constant as policies
from privopt.problems.redaction import least as redactions
from privopt.problems.redaction.problem import Redaction
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy

SAID = "this release does not depend on your data"


def constant_sentence(problem: Problem[Any], mechanism: Mechanism) -> str:
    """That a release does not depend on the data, and from which budget on one does; "" where it depends on them.

    The number is exact for a redaction (see :func:`privopt.problems.redaction.least.least_epsilon`), found by halving
    between proved ends for a policy, and left out elsewhere.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> problem = Redaction(MarkovChain([[0.75, 0.25], [0.5, 0.5]]), length=3, private=0, epsilon=0.01)
    >>> constant_sentence(problem, problem.safe())
    'this release does not depend on your data; the least epsilon at which anything is released is 0.09531018 nats'
    """
    if isinstance(problem, Redaction) and isinstance(mechanism, RedactionMechanism):
        return _of_redaction(problem, mechanism)
    if isinstance(problem, SequenceInformationPrivacy) and isinstance(mechanism, SequencePolicy):
        return _of_policy(problem, mechanism)
    if isinstance(mechanism, (Channel, Merging)) and (mechanism.matrix == mechanism.matrix[0]).all():
        return SAID
    return ""


def _of_redaction(problem: Redaction, mechanism: RedactionMechanism) -> str:
    if not redactions.releases_nothing(problem, mechanism):
        return ""
    least = redactions.least_epsilon(problem)
    if least is None:
        return SAID
    if math.isinf(least):
        return (
            f"{SAID}: every record rules out a value of a private one, and no finite epsilon allows a release"
        )
    told = f"{SAID}; the least epsilon at which anything is released is {_upward(least)} nats"
    return told if problem.epsilon < least else f"{told}, so this budget allows more: give it more time"


def _of_policy(problem: SequenceInformationPrivacy, policy: SequencePolicy) -> str:
    releases = -(-problem.horizon // policy.batch)
    if not policies.is_constant(policy, releases):
        return ""
    least = policies.least_epsilon(policy, releases)
    if least is None:
        return SAID
    return f"{SAID}; the least epsilon at which anything is released lies between {least[0]:.6g} and {_upward(least[1], 6)} nats a letter"


def _upward(value: float, digits: int = 7) -> str:
    """A number in some digits, not less than it is."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    if float(text) < value:
        text = f"{float(text) + 10.0 ** (math.floor(math.log10(value)) - digits + 1):.{digits}g}"
    return text

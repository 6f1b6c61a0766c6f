"""Releases that do not depend on the data: said in a sentence, with the least budget at which that ends where it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from privopt.core.problem import Problem
from privopt.mechanisms import Channel, Mechanism, Merging, RedactionMechanism, SequencePolicy
from privopt.mechanisms.policy import constant as policies
from privopt.problems.redaction import least as redactions
from privopt.problems.redaction.data import RedactionData
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.publication.words import times

SAID = "this release does not depend on your data"


@dataclass(frozen=True)
class Constant:
    """A release that does not depend on the data, and where that ends.

    Parameters
    ----------
    least : tuple of float, optional
        Nats between which the least budget lies at which one does; both the same where it is exact, infinite where there is none.
    enough : bool
        The budget is not below it.
    """

    least: tuple[float, float] | None = None
    enough: bool = False


def constant(problem: Problem[Any], mechanism: Mechanism) -> Constant | None:
    """Where a release begins to depend on the data; None where it does.

    Examples
    --------
    >>> from privopt import MarkovChain, Redaction
    >>> constant(Redaction(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 3, 0, 1.0), Channel([[0.5, 0.5], [0.25, 0.75]])) is None
    True
    """
    if isinstance(problem, RedactionData) and isinstance(mechanism, RedactionMechanism):
        return _of_redaction(problem, mechanism)
    if isinstance(problem, SequenceData) and isinstance(mechanism, SequencePolicy):
        return _of_policy(problem, mechanism)
    if isinstance(mechanism, (Channel, Merging)) and (mechanism.matrix == mechanism.matrix[0]).all():
        return Constant()
    return None


def plain_constant(problem: Problem[Any], mechanism: Mechanism) -> str:
    """The same as :func:`constant_sentence` for an explanation, with a factor in the place of nats.

    Examples
    --------
    >>> from privopt import MarkovChain, Redaction
    >>> problem = Redaction(MarkovChain([[0.75, 0.25], [0.5, 0.5]]), length=3, private=0, epsilon=0.01)
    >>> plain_constant(problem, problem.safe())
    'this release does not depend on the data at all, and the least bound that allows another one is 1.101 times'
    """
    told = constant(problem, mechanism)
    if told is None:
        return ""
    said = "this release does not depend on the data at all"
    if told.least is None:
        return said
    if math.isinf(told.least[1]):
        return f"{said}, and no bound allows another one"
    if told.enough:
        return f"{said}, though this bound allows another one: give it more time"
    letters = mechanism.batch if isinstance(mechanism, SequencePolicy) else 1
    about = "" if told.least[0] == told.least[1] else "about "
    return f"{said}, and the least bound that allows another one is {about}{times(letters * told.least[1])} times"


def constant_sentence(problem: Problem[Any], mechanism: Mechanism) -> str:
    """That a release does not depend on the data, and from which budget on one does; "" where it depends on them.

    The number is exact for a redaction (see :func:`privopt.problems.redaction.least.least_epsilon`), found by halving
    between proved ends for a policy, and left out elsewhere.

    Examples
    --------
    >>> from privopt import MarkovChain, Redaction
    >>> problem = Redaction(MarkovChain([[0.75, 0.25], [0.5, 0.5]]), length=3, private=0, epsilon=0.01)
    >>> constant_sentence(problem, problem.safe())
    'this release does not depend on your data; the least epsilon at which anything is released is 0.09531018 nats'
    """
    told = constant(problem, mechanism)
    if told is None:
        return ""
    if told.least is None:
        return SAID
    low, high = told.least
    if math.isinf(high):
        return (
            f"{SAID}: every record rules out a value of a private one, and no finite epsilon allows a release"
        )
    if low < high:
        return f"{SAID}; the least epsilon at which anything is released lies between {low:.6g} and {_upward(high, 6)} nats a letter"
    said = f"{SAID}; the least epsilon at which anything is released is {_upward(high)} nats"
    return f"{said}, so this budget allows more: give it more time" if told.enough else said


def _of_redaction(problem: RedactionData, mechanism: RedactionMechanism) -> Constant | None:
    if not redactions.releases_nothing(problem, mechanism):
        return None
    least = redactions.least_epsilon(problem)
    return Constant() if least is None else Constant((least, least), problem.epsilon >= least)


def _of_policy(problem: SequenceData, policy: SequencePolicy) -> Constant | None:
    releases = -(-problem.span // policy.batch)
    if not policies.is_constant(policy, releases):
        return None
    return Constant(policies.least_epsilon(policy, releases))


def _upward(value: float, digits: int = 7) -> str:
    """A number in some digits, not less than it is."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    if float(text) < value:
        text = f"{float(text) + 10.0 ** (math.floor(math.log10(value)) - digits + 1):.{digits}g}"
    return text

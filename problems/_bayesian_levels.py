"""What a level of differential privacy is worth under a question's model: every bound, and the best of them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privopt._labels import Label
from privopt.errors import InvalidProblem
from privopt.measures._bound import Bound
from privopt.mechanisms import Query
from privopt.mechanisms._statistics import counted
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems._bayesian_checks import Records

if TYPE_CHECKING:
    from privopt.problems.bayesian_privacy import BayesianPrivacy

ENUMERABLE = 2**8
"""Sequences up to which the leakage of the mechanism itself is read, by enumeration."""


def judged_model(problem: BayesianPrivacy) -> Records:
    """The model whose bounds hold for the query.

    Bounds for Gaussian records need a query that moves by no more than the clipped records do; of a function of the
    caller only its sensitivity is known, so only the size of the group counts.
    """
    model = problem.model
    if isinstance(model, GaussianModel) and isinstance(problem.query, Query):
        return GroupModel(model.size)
    return model


def bound(problem: BayesianPrivacy, tau: float, method: str = "best") -> Bound:
    """The bound of a method for any mechanism of level tau."""
    return _bound(judged_model(problem), tau, problem.length, method, problem.scope)


@lru_cache(maxsize=4096)
def _bound(model: Records, tau: float, length: int | None, method: str, scope: str) -> Bound:
    from privopt.measures.bayesian import bayesian_leakage

    return bayesian_leakage(model, tau, length=length, method=method, scope=scope)


def reading(problem: BayesianPrivacy, tau: float) -> Bound:
    """The leakage that the problem reads at level tau: the least proved one.

    For few sequences it is the leakage of the noisy query itself, by enumeration; else the best bound for all
    mechanisms of that level.
    """
    best = bound(problem, tau)
    if not enumerable(problem) or tau == 0:
        return best
    own = enumerated(problem, tau)
    return own if own.value <= best.value else Bound(best.value, True, best.method, best.scope)


def enumerable(problem: BayesianPrivacy) -> bool:
    """Whether the leakage of the noisy query itself is read: noise on a count of a short chain."""
    model, n = problem.model, problem.length
    counts = problem.query == "count" or isinstance(problem.query, tuple)
    return (
        isinstance(model, MarkovChain)
        and n is not None
        and counts
        and problem.mechanism != "randomised_response"
        # the sets of known records count too, of a single state as well; and k**n of a billion records is no number
        and n < ENUMERABLE.bit_length()
        and model.k**n <= ENUMERABLE
    )


def has_secret(problem: BayesianPrivacy) -> bool:
    """Whether some record can have two values: then some mechanism of level tau leaks tau."""
    model = problem.model
    if not isinstance(model, MarkovChain):
        return True
    return any(np.count_nonzero(model.marginal(t)) > 1 for t in range(min(problem.length or 2, 2)))


def enumerated(problem: BayesianPrivacy, tau: float) -> Bound:
    """The leakage of noise of level tau on the count itself, over all adversaries."""
    from privopt.problems._bayesian_enumeration import enumerated

    return enumerated(*counted_chain(problem), tau)


def counted_chain(problem: BayesianPrivacy) -> tuple[MarkovChain, Label, int]:
    """The chain, the state that is counted, and the number of records of an enumerable question."""
    chain, n = problem.model, problem.length
    if not isinstance(chain, MarkovChain) or n is None:
        raise InvalidProblem("only the count of a chain of given length is enumerated")
    return chain, counted(problem.query, chain.states), n

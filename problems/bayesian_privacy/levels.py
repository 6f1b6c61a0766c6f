"""What a level of differential privacy is worth under a question's model: every bound, and the best of them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from privopt.errors import InvalidProblem
from privopt.files.labels import Label
from privopt.measures.bayesian.proof import Setting, dependent
from privopt.measures.bound import Bound
from privopt.mechanisms import Query
from privopt.mechanisms.noise.statistics import counted, spacing
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy.validation import Records

if TYPE_CHECKING:
    from privopt.problems.bayesian_privacy.problem import BayesianPrivacy

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


def setting(problem: BayesianPrivacy) -> Setting:
    """What proofs need to know of the records and of how the query reads them."""
    model = judged_model(problem)
    if not isinstance(model, GaussianModel):
        return Setting(model, problem.length, problem.scope)
    apart, grid = spacing(problem.query, problem.clip, problem.length)
    return Setting(model, problem.length, problem.scope, apart, grid)


def bound(problem: BayesianPrivacy, tau: float, method: str = "best") -> Bound:
    """The bound of a method for any mechanism of level tau.

    For Gaussian records it is a factor times the level of noise for the distance of two values, which is less than
    the one for their distance rounded up to the grid.
    """
    found = _bound(judged_model(problem), tau, problem.length, method, problem.scope)
    if not isinstance(problem.model, GaussianModel) or problem.query not in ("sum", "mean"):
        return found
    known = setting(problem)
    if problem.scope == "all_reals" or found.method == "general":
        return replace(found, value=min(found.value, dependent(known) * tau))
    step = float(known.grid / known.sensitivity) * tau
    value = found.value * float(known.apart / known.sensitivity) + step * step / 8
    return replace(found, value=min(value, dependent(known) * tau))


@lru_cache(maxsize=4096)
def _bound(model: Records, tau: float, length: int | None, method: str, scope: str) -> Bound:
    from privopt.measures.bayesian.leakage import bayesian_leakage

    return bayesian_leakage(model, tau, length=length, method=method, scope=scope)


def reading(problem: BayesianPrivacy, tau: float) -> Bound:
    """The leakage of noise of level tau, in floats.

    For a count of few sequences it is that of the noisy count itself, by enumeration; else that of the worst mechanism
    of the level, or the best bound on it.
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


def enumerated(problem: BayesianPrivacy, tau: float) -> Bound:
    """The leakage of noise of level tau on the count itself, over all adversaries."""
    from privopt.problems.bayesian_privacy.enumeration import enumerated

    return enumerated(*counted_chain(problem), tau)


def enclosed(problem: BayesianPrivacy, tau: float) -> tuple[float, float]:
    """Floats around that leakage, proved."""
    from privopt.problems.bayesian_privacy.enumeration import enclose_enumerated

    return enclose_enumerated(*counted_chain(problem), tau)


def tells_its_level(problem: BayesianPrivacy) -> bool:
    """Whether the noisy count leaks at least its level, whatever the level is."""
    from privopt.problems.bayesian_privacy.enumeration import tells_its_level

    return tells_its_level(*counted_chain(problem))


def counted_chain(problem: BayesianPrivacy) -> tuple[MarkovChain, Label, int]:
    """The chain, the state that is counted, and the number of records of an enumerable question."""
    chain, n = problem.model, problem.length
    if not isinstance(chain, MarkovChain) or n is None:
        raise InvalidProblem("only the count of a chain of given length is enumerated")
    return chain, counted(problem.query, chain.states), n

"""Bayesian differential privacy of a mechanism whose differential privacy is known, and the level that one needs for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeAlias

from privopt.errors import InvalidProblem
from privopt.measures.bayesian._sides import checked_count, checked_length, checked_level
from privopt.measures.bayesian.chain_sets import chain_set_recursion
from privopt.measures.bayesian.covariance_sets import METHODS as _COVARIANCES
from privopt.measures.bayesian.covariance_sets import set_factor
from privopt.measures.bayesian.gaussian import METHODS as _GAUSSIAN
from privopt.measures.bayesian.gaussian import gaussian_factor
from privopt.measures.bayesian.markov import FAMILY, markov_published, markov_recursion
from privopt.measures.bayesian.tables import EXACT_SMALL, exact_small
from privopt.measures.bound import Bound
from privopt.models import ChainAmbiguity, CovarianceAmbiguity, GaussianModel, GroupModel, MarkovChain

BayesianModel: TypeAlias = GaussianModel | GroupModel | MarkovChain | ChainAmbiguity | CovarianceAmbiguity

SCOPES = ("targets_in_interval", "all_reals")
"""Which values of a target are compared: inside the clipping interval, or any real numbers."""

_PUBLISHED = FAMILY + "published"
_CHAIN = ("general", _PUBLISHED, FAMILY + "recursion", EXACT_SMALL)
_MOST_ROUNDS = 200


def bayesian_leakage(
    model: BayesianModel,
    tau: float,
    *,
    length: int | None = None,
    method: str = "best",
    scope: str = "targets_in_interval",
) -> Bound:
    """Upper bound on the Bayesian differential privacy leakage of every mechanism of a given level.

    An adversary knows some records x_K and attacks another one: the leakage is the supremum, over K, x_K, the
    target i and two of its values that are both possible, of ln Pr[Y in S | x_K, x_i] / Pr[Y in S | x_K, x_i']. The
    records are drawn from the model, and the adversary knows it. Every method is combined with the general
    bound, m tau where at most m records depend on each other.

    Source: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy": Definition 3.2 and Theorem 4.3, and sharper bounds derived where they are computed.

    Parameters
    ----------
    model : GaussianModel, GroupModel, MarkovChain, ChainAmbiguity or CovarianceAmbiguity
        What is known of the records; over a set, of chains of two states or of covariances, the bound is for each of its
        distributions.
    tau : float
        Level of differential privacy in nats, >= 0 and finite: neighbours differ in the value of one record. For
        Gaussian records the mechanism clips to an interval of diameter M and is private for the l1 distance of the
        clipped records at the rate tau / M, as Laplace noise is; the value is a factor times tau.
    length : int, optional
        Number of records, >= 1. A Markov chain without it is bounded for every length; groups are not larger than it.
    method : str
        ``"best"``, or one of

        - any model: ``"general"``;
        - Gaussian: ``"gaussian-column"``, ``"gaussian-h-matrix"``, ``"gaussian-brute-force"``, ``"gaussian-class"``
          (which uses only the sizes and correlations, or the condition number), ``"gaussian-published"`` (Theorem 5.5);
        - Markov chain: ``"markov-recursion"``, ``"markov-published"`` (Theorem 6.2), ``"exact-small"``
          (linear programs over all adversaries, a few records);
        - sets: ``"markov-recursion"`` and ``"gaussian-column"``.
    scope : str
        ``"targets_in_interval"`` or ``"all_reals"``. Theorem 5.8 holds for values of the target inside the clipping
        interval; over all reals Gaussian records leak m tau, whatever their correlations are, unless zero.

    Returns
    -------
    Bound
        The value in nats, whether it is exact, the method that gave it and the scope. Exact Gaussian factors are
        suprema over all mechanisms that are private for the l1 distance, before clipping, which lowers leakage a
        little.

    Raises
    ------
    InvalidProblem
        If tau, length, method or scope is not one of those, or the method does not serve the model.

    Examples
    --------
    >>> bayesian_leakage(GroupModel(3), 0.5)
    Bound(value=1.5, exact=True, method='general', scope='targets_in_interval')
    >>> siblings = GaussianModel([[1, 0.5], [0.5, 1]])
    >>> bayesian_leakage(siblings, 2.0)
    Bound(value=3.0, exact=True, method='gaussian-column', scope='targets_in_interval')
    >>> bayesian_leakage(siblings, 2.0, scope="all_reals").value
    4.0
    """
    level, records = checked_level(tau), checked_count(length)
    if scope not in SCOPES:
        raise InvalidProblem(f"scope is {scope!r}: give one of {', '.join(map(repr, SCOPES))}")
    if isinstance(model, GaussianModel):
        _check_method(method, _GAUSSIAN, "a Gaussian model")
        factor = gaussian_factor(model, method, scope)
        return Bound(factor.value * level, factor.exact or level == 0, factor.method, scope)
    if isinstance(model, GroupModel):
        _check_method(method, ("general",), "a group model")
        size = model.size if records is None else min(model.size, records)
        return Bound(size * level, True, "general", scope)
    if isinstance(model, MarkovChain):
        _check_method(method, _CHAIN, "a Markov chain")
        return _chain(model, level, records, method, scope)
    if isinstance(model, CovarianceAmbiguity):
        _check_method(method, _COVARIANCES, "a set of covariances")
        factor = set_factor(model, method, scope)
        return Bound(factor.value * level, factor.exact or level == 0, factor.method, scope)
    if isinstance(model, ChainAmbiguity):
        _check_method(method, ("general", FAMILY + "recursion"), "a set of chains")
        general = _general(level, records, scope)
        bound = general if method == "general" else chain_set_recursion(model, level, records)
        return general if general.value < bound.value else replace(bound, scope=scope)
    raise InvalidProblem(
        f"model is a {type(model).__name__}: give a GaussianModel, a GroupModel, a MarkovChain, or a set of chains or "
        "covariances"
    )


def _check_method(method: str, known: tuple[str, ...], what: str) -> None:
    """Refuse a method that does not serve the model."""
    if method not in ("best", *known):
        listed = ", ".join(map(repr, ("best", *known)))
        raise InvalidProblem(f"method {method!r} does not serve {what}: give one of {listed}")


def _chain(chain: MarkovChain, tau: float, length: int | None, method: str, scope: str) -> Bound:
    """The least of the method's bound and tau times the number of records."""
    records = checked_length(chain, length)
    general = _general(tau, records, scope)
    if method == "general":
        return general
    if method == _PUBLISHED:
        bound = markov_published(chain, tau)
    elif method == EXACT_SMALL:
        bound = exact_small(chain, tau, records)
    else:  # the best that serves every chain
        bound = markov_recursion(chain, tau, records)
    return general if general.value < bound.value else replace(bound, scope=scope)


def _general(tau: float, records: int | None, scope: str) -> Bound:
    """What holds for any dependence of some records."""
    most = 0.0 if tau == 0 else math.inf if records is None else records * tau
    return Bound(most, tau == 0 or records == 1, "general", scope)


def calibrate(
    bound: Callable[[float], float], epsilon: float, *, tol: float = 1e-12, most: float | None = None
) -> float:
    """The largest tau with bound(tau) <= epsilon, rounded down.

    Parameters
    ----------
    bound : callable
        Bayesian leakage in nats as a function of the level tau: never falling, 0 at 0.
    epsilon : float
        Level of Bayesian privacy in nats, > 0.
    tol : float
        Relative precision of tau.
    most : float, optional
        The largest level that is considered; epsilon by default, as most bounds are at least tau.

    Returns
    -------
    float
        A level in (0, most] at which ``bound`` was evaluated and is at most epsilon.

    Raises
    ------
    InvalidProblem
        If epsilon is not positive and finite, or even a vanishing tau exceeds it.

    Examples
    --------
    >>> tau = calibrate(lambda t: t + t**2, 2.0)
    >>> tau <= 1, 1 - tau < 1e-11
    (True, True)
    """
    if not 0 < epsilon < math.inf:
        raise InvalidProblem(f"epsilon must be positive and finite, got {epsilon}")
    once = cache(bound)
    top = epsilon if most is None else most
    low = min(epsilon, top)
    if once(low) > epsilon:
        low = _feasible(once, low, epsilon)
        top = min(8 * low, top)
    while once(high := min(8 * low, top)) <= epsilon:
        if high == top:
            return top
        low = high
    root = _root(once, low, high, epsilon, tol)
    return _rounded_down(once, low, root, epsilon, tol)


def _feasible(bound: Callable[[float], float], high: float, epsilon: float) -> float:
    """Some level that meets epsilon, by division."""
    low = high
    while low > 1e-12 * high:
        low /= 8
        if bound(low) <= epsilon:
            return low
    raise InvalidProblem(
        f"no level of differential privacy gives a Bayesian leakage of {epsilon:g} nats by this bound: "
        "raise epsilon, or use another bound"
    )


def _root(bound: Callable[[float], float], low: float, high: float, epsilon: float, tol: float) -> float:
    """A level near the largest one; an infinite bound stands for a very large one."""
    from scipy.optimize import brentq

    def excess(tau: float) -> float:
        return min(bound(tau), 1e6 * epsilon) - epsilon

    if excess(low) == 0:
        return low
    return float(brentq(excess, low, high, xtol=tol * low, rtol=max(tol, 1e-15), maxiter=_MOST_ROUNDS))


def _rounded_down(
    bound: Callable[[float], float], low: float, root: float, epsilon: float, tol: float
) -> float:
    shrink = tol
    while root > low:
        if bound(root) <= epsilon:
            return root
        root *= 1 - shrink
        shrink *= 4
    return low

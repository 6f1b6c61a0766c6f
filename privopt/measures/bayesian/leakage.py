"""Bayesian differential privacy of a mechanism whose differential privacy is known."""

from __future__ import annotations

import math
import operator
from typing import TypeAlias

from privopt.errors import InvalidProblem
from privopt.measures.bayesian.gaussian import METHODS as _GAUSSIAN
from privopt.measures.bayesian.gaussian import gaussian_factor
from privopt.measures.bound import Bound
from privopt.models import GaussianModel, GroupModel, MarkovChain

BayesianModel: TypeAlias = GaussianModel | GroupModel | MarkovChain

SCOPES = ("targets_in_interval", "all_reals")
"""Which values of a target are compared: inside the clipping interval, or any real numbers."""

_CHAIN = ("general", "markov-published", "markov-recursion", "exact-small")


def bayesian_leakage(
    model: BayesianModel,
    tau: float,
    *,
    length: int | None = None,
    method: str = "best",
    scope: str = "targets_in_interval",
) -> Bound:
    """Upper bound on the Bayesian differential privacy leakage of every mechanism of a given level.

    An adversary knows some records x_K and asks about another one: the leakage is the supremum, over K, x_K, the
    target i and two of its values that are both possible, of ln Pr[Y in S | x_K, x_i] / Pr[Y in S | x_K, x_i']. The
    records are drawn from the model, and the adversary knows it. Every method is combined with the general
    bound, m tau where at most m records depend on each other.

    Source: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy": Definition 3.2 and Theorem 4.3, and sharper bounds derived where they are computed.

    Parameters
    ----------
    model : GaussianModel, GroupModel or MarkovChain
        What is known of the records.
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
          (which uses only the sizes and correlations), ``"gaussian-published"`` (Theorem 5.5);
        - Markov chain: ``"markov-recursion"``, ``"markov-published"`` (Theorem 6.2), ``"exact-small"``
          (linear programmes over all adversaries, a few records).
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
    level = _level(tau)
    records = None if length is None else _length(length)
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
    raise InvalidProblem(
        f"model is a {type(model).__name__}: give a GaussianModel, a GroupModel or a MarkovChain"
    )


def _level(tau: float) -> float:
    """A level of differential privacy, checked."""
    if isinstance(tau, bool) or not isinstance(tau, int | float) or not 0 <= tau < math.inf:
        raise InvalidProblem(f"tau is {tau!r}: give a finite number of nats, at least 0")
    return float(tau)


def _length(length: int) -> int:
    """A number of records, checked."""
    if isinstance(length, bool):
        raise InvalidProblem(f"length is {length!r}: give a whole number of records")
    try:
        records = operator.index(length)
    except TypeError as error:
        raise InvalidProblem(f"length is {length!r}: give a whole number of records") from error
    if records < 1:
        raise InvalidProblem(f"length is {records}: give at least one record")
    return records


def _check_method(method: str, known: tuple[str, ...], what: str) -> None:
    """Refuse a method that does not serve the model."""
    if method not in ("best", *known):
        listed = ", ".join(map(repr, ("best", *known)))
        raise InvalidProblem(f"method {method!r} does not serve {what}: give one of {listed}")


def _chain(chain: MarkovChain, tau: float, length: int | None, method: str, scope: str) -> Bound:
    """The least of the method's bound and tau times the number of records."""
    if length is not None and chain.max_length is not None and length > chain.max_length:
        raise InvalidProblem(f"length is {length}: the chain describes at most {chain.max_length} records")
    records = chain.max_length if length is None else length
    most = 0.0 if tau == 0 else math.inf if records is None else records * tau
    general = Bound(most, tau == 0 or records == 1, "general", scope)
    if method == "general":
        return general
    found = _chain_bound(chain, tau, records, method)
    return general if general.value < found.value else Bound(found.value, found.exact, found.method, scope)


def _chain_bound(chain: MarkovChain, tau: float, length: int | None, method: str) -> Bound:
    """What one method gives for a chain; the recursion is the best that serves every chain."""
    from privopt.measures.bayesian.exact import exact_small
    from privopt.measures.bayesian.markov import markov_published, markov_recursion

    if method == "markov-published":
        return markov_published(chain, tau)
    if method == "exact-small":
        return exact_small(chain, tau, length)
    return markov_recursion(chain, tau, length)

"""Bayesian leakage of every differentially private mechanism on a Markov chain."""

from __future__ import annotations

import math

from privopt.measures.bayesian._recursion import Recursion, StepName, chosen_step
from privopt.measures.bayesian._steps import both_sides, checked_length, checked_level, largest_product
from privopt.measures.bound import Bound
from privopt.models import MarkovChain

_SCOPE = "targets_in_interval"


def markov_recursion(
    chain: MarkovChain, tau: float, length: int | None = None, *, step: StepName = "best"
) -> Bound:
    """Largest Bayesian leakage of a tau-private mechanism on a chain, by recursion along both sides of a target.

    For one side of a target let G(x, x') be the largest E[f | x] / E[f | x'] over what an adversary may know there
    and functions f of the unknown records whose logarithm changes by at most tau with each. One more record gives the
    largest B[x].F / B[x'].F over F > 0 with F_u <= e^tau G(u, v) F_v, where B[x] is the law of the neighbour. The
    leakage is at most tau + max (ln G_left + ln G_right). It refines the bound of Lange, Guerra-Balboa, Parra-Arnau
    and Strufe, "Balancing Privacy and Utility in Correlated Data", Theorem 6.2; zeros in the transition matrix and
    any first law are allowed.

    Parameters
    ----------
    chain : MarkovChain
    tau : float
        Level of differential privacy in nats, >= 0: one record changes the log-probability of an output by at most
        this.
    length : int, optional
        Number of records; by default all of a chain with one matrix a step, and otherwise every length.
    step : {"best", "lp", "coarse"}
        "lp" takes the exact maximum of each step (2 to 6 states), "coarse" bounds every change by the largest;
        "best" is "lp" where it can be.

    Returns
    -------
    Bound
        Exact for two states (both sides attain their worst case with randomised response), an upper bound for more;
        inf where no bound for every length was found (a chain that does not settle).

    Raises
    ------
    InvalidProblem
        If tau, the length or the step is out of range.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> round(markov_recursion(chain, 0.5).value, 10), round(markov_recursion(chain, 0.5, 5).value, 10)
    (1.4791192266, 1.2544221173)
    """
    tau, count = checked_level(tau), checked_length(chain, length)
    used = chosen_step(step, chain.k)
    exact = chain.k <= 2 or count == 1
    if tau == 0 or chain.k == 1:
        return Bound(0.0, True, "markov-recursion", _SCOPE)
    left, right = both_sides(chain, count, Recursion(_exponential(tau), used))
    product = largest_product(left, right, count)
    if product == 0:
        return Bound(0.0, True, "markov-recursion", _SCOPE)
    value = tau + math.log(product)
    if count is not None:
        value = min(value, count * tau)
    return Bound(value, exact and value < math.inf, "markov-recursion", _SCOPE)


def markov_published(chain: MarkovChain, tau: float) -> Bound:
    """The published bound tau + 4 ln(gamma), gamma the largest ratio of two transition probabilities.

    Lange, Guerra-Balboa, Parra-Arnau and Strufe, "Balancing Privacy and Utility in Correlated Data", Theorem 6.2. It
    needs positive transition probabilities and a stationary chain.

    Returns
    -------
    Bound
        In nats; inf where the theorem does not apply.

    Raises
    ------
    InvalidProblem
        If tau is negative or not finite.

    Examples
    --------
    >>> round(markov_published(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 0.5).value, 10)
    6.0451774445
    """
    tau = checked_level(tau)
    steps = chain.transition
    if not (chain.homogeneous and chain.stationary and steps.min() > 0):
        return Bound(math.inf, False, "markov-published", _SCOPE)
    gamma = float(steps.max() / steps.min())
    return Bound(tau + 4 * math.log(gamma), gamma == 1, "markov-published", _SCOPE)


def _exponential(tau: float) -> float:
    return math.exp(tau) if tau < 700 else math.inf

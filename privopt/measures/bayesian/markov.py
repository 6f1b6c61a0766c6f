"""Bayesian leakage on a Markov chain: of every differentially private mechanism, and of Laplace noise on a sum far out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.bayesian._recursion import Recursion, StepName, chosen_step
from privopt.measures.bayesian._sides import (
    MOST_STEPS,
    Clock,
    both_sides,
    checked_length,
    checked_level,
    largest_product,
)
from privopt.measures.bayesian.binary import MOST_LISTED, has_powers, sides_product
from privopt.measures.bound import Bound
from privopt.models import MarkovChain

DIGITS = 36.0
"""Nats that must be forgotten before a side of the recursion settles to the last digit."""
STEP_SECONDS = (4e-5, 4e-5, 5e-5, 8e-5, 1.5e-4, 4e-4, 5e-3)
"""Seconds of one record on one side, by states."""
TREES = (1, 1, 2, 6, 32, 250, 2592)
"""Extreme rays that are looked at, by states."""

LARGEST_TILT = 700.0
"""Nats of noise between two values of one record beyond which the bound of sums is inf: ratios leave the floats."""

FAMILY = "markov-"
"""What the names of these bounds begin with."""


def markov_recursion(
    chain: MarkovChain,
    tau: float,
    length: int | None = None,
    *,
    step: StepName = "best",
    clock: Clock | None = None,
) -> Bound:
    """Largest Bayesian leakage of a tau-private mechanism on a chain, by recursion along both sides of a target.

    For one side of a target let G(x, x') be the largest E[f | x] / E[f | x'] over what an adversary may know there
    and functions f of the unknown records whose logarithm changes by at most tau with each. One more record gives the
    largest B[x].F / B[x'].F over F > 0 with F_u <= e^tau G(u, v) F_v, where B[x] is the distribution of the neighbour. The
    leakage is at most tau + max (ln G_left + ln G_right). It refines the bound of Lange, Guerra-Balboa, Parra-Arnau
    and Strufe, "Balancing Privacy and Utility in Correlated Data", Theorem 6.2; zeros in the transition matrix and
    any first distribution are allowed.

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
    clock : callable, optional
        Seconds that are left.

    Returns
    -------
    Bound
        Exact for two states (both sides attain their worst case with randomised response), an upper bound for more;
        inf where there is no bound for every length (a chain that does not settle).

    Raises
    ------
    InvalidProblem
        If tau, the length or the step is out of range.
    TimeoutError
        If no seconds are left by the clock.

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
        return _bound(0.0, True, "recursion")
    if step != "coarse" and has_powers(chain, tau):
        product = sides_product(chain, tau, count).value
    else:
        left, right = both_sides(chain, count, Recursion(_exponential(tau), used), clock)
        product = largest_product(left, right, count)
    if product == 0:
        return _bound(0.0, True, "recursion")
    value = tau + math.log(product)
    if count is not None:
        value = min(value, count * tau)
    return _bound(value, exact and value < math.inf, "recursion")


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
        return _bound(math.inf, False, "published")
    gamma = float(steps.max()) / float(steps.min())
    return _bound(tau + 4 * math.log(gamma), gamma == 1, "published")


def recursion_seconds(chain: MarkovChain, length: int | None = None) -> float:
    """Predicted seconds of one reading of :func:`markov_recursion`.

    Examples
    --------
    >>> recursion_seconds(MarkovChain([[0.999999, 0.000001], [0.000003, 0.999997]])) < 0.05
    True
    """
    if has_powers(chain, 1.0):
        return 5e-3 + (3e-7 * length if length is not None and length <= MOST_LISTED else 0.0)
    return walking_seconds(chain, length)


def walking_seconds(chain: MarkovChain, length: int | None = None) -> float:
    """Predicted seconds of following both sides of a target, from how fast the chain forgets.

    Examples
    --------
    >>> walking_seconds(MarkovChain([[0.8, 0.2], [0.3, 0.7]])) < 0.05
    True
    """
    k = chain.k
    records = MOST_STEPS if length is None else min(length, MOST_STEPS)
    if chain.homogeneous:
        second = chain.second_eigenvalue
        forgotten = MOST_STEPS if second >= 1 else 4 + DIGITS / max(-math.log(max(second, 1e-300)), 1e-9)
        records = min(records, int(forgotten))
    each = STEP_SECONDS[k] if k < len(STEP_SECONDS) else 1e-4 + 4e-8 * k**4
    # Where steps differ every record that may be known is followed to the end.
    known = 0 if chain.homogeneous else records * k / 2
    trees = TREES[k] if k < len(TREES) else k
    return 2 * records * (each + known * trees * k**2 * 1.6e-8)


def _exponential(tau: float) -> float:
    return math.exp(tau) if tau < 700 else math.inf


def _bound(value: float, exact: bool, name: str) -> Bound:
    return Bound(value, exact, FAMILY + name, "targets_in_interval")


@dataclass(frozen=True, slots=True)
class Tilted:
    """E[prod exp(theta g(X_j)) | x] over the unknown records of a side, up to a factor for each adversary."""

    factors: Floats  # exp(theta g(u)) of each state
    floor: float  # least ratio of two expectations that is distinguished from 0

    def start(self, count: int, states: int) -> Floats:
        """The product over no records."""
        return np.ones((count, states))

    def advance(self, kernel: Floats, values: Floats, supported: NDArray[np.bool_], depth: int) -> Floats:
        """One more transfer matrix."""
        means = (kernel * self.factors) @ values[:, :, None]
        possible = kernel.max(axis=2) > 0
        sums = np.where(possible, means[:, :, 0], 0.0)
        scaled = sums / sums.max(axis=1, keepdims=True)
        if (scaled[possible] < self.floor).any():
            return np.full_like(values, np.nan)
        return np.where(possible, scaled, 1.0)

    def ratios(self, values: Floats) -> Floats:
        """Ratios of the expectations for two values of the target."""
        table: Floats = values[:, :, None] / values[:, None, :]
        return table


def laplace_tail(
    chain: MarkovChain,
    weights: ArrayLike,
    tau: float,
    length: int | None = None,
    *,
    clock: Clock | None = None,
) -> float:
    """Bayesian leakage in the tails of the sum of g(X_j) plus Laplace noise of rate tau / (max g - min g).

    Far out, the ratio of two densities is that of E[exp(+-theta S)], a product of transfer matrices. It is the whole
    leakage where the conditional distributions of the sum are ordered by likelihood ratio (two states, positively
    correlated), and a lower bound on it otherwise; :func:`markov_recursion` is the upper bound for any mechanism. The
    setting is that of Lange, Guerra-Balboa, Parra-Arnau and Strufe, "Balancing Privacy and Utility in Correlated
    Data".

    Parameters
    ----------
    chain : MarkovChain
    weights : array of k floats
        g of each state.
    tau : float
        Level of differential privacy of the noise, in nats, >= 0.
    length : int, optional
        Number of records, as in :func:`markov_recursion`.
    clock : callable, optional
        Seconds that are left.

    Returns
    -------
    float
        In nats; inf where it grows without end with the length.

    Raises
    ------
    InvalidProblem
        If the weights do not fit or are all equal, or tau or the length is out of range.
    TimeoutError
        If no seconds are left by the clock.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> round(laplace_tail(chain, [0, 1], 0.5, 5), 10)
    1.2544221173
    """
    tau, count = checked_level(tau), checked_length(chain, length)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (chain.k,) or not np.isfinite(values).all() or values.max() == values.min():
        raise InvalidProblem(
            f"weights must be {chain.k} finite numbers, one a state and not all equal, got {weights!r}"
        )
    values = (values - values.min()) / (
        values.max() - values.min()
    )  # one record changes the sum by at most 1
    if tau == 0:
        return 0.0
    return max(_one_tail(chain, theta * values, count, clock) for theta in (tau, -tau))


def _one_tail(chain: MarkovChain, exponents: Floats, length: int | None, clock: Clock | None) -> float:
    if np.ptp(exponents) > LARGEST_TILT:
        return math.inf
    left, right = both_sides(chain, length, Tilted(np.exp(exponents - exponents.max()), 1e-290), clock)
    own = np.exp(exponents[:, None] - exponents[None, :])
    product = largest_product(left, right, length, own)
    return math.log(product) if product > 0 else 0.0

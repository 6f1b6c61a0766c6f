"""Bayesian leakage of Laplace noise on a sum over a long Markov chain, in the tails of the output."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.bayesian._steps import both_sides, checked_length, checked_level, largest_product
from privopt.models import MarkovChain


@dataclass(frozen=True, slots=True)
class Tilted:
    """E[prod exp(theta g(X_j)) | x] over the unknown records of a side, up to a factor for each adversary."""

    factors: Floats  # exp(theta g(u)) of each state
    floor: float  # least ratio of two expectations that is told from 0

    def start(self, count: int, states: int) -> Floats:
        """The product over no records."""
        return np.ones((count, states))

    def advance(self, kernel: Floats, values: Floats, supported: NDArray[np.bool_], depth: int) -> Floats:
        """One more transfer matrix."""
        means = (kernel * self.factors) @ values[:, :, None]
        possible = kernel.max(axis=2) > 0
        found = np.where(possible, means[:, :, 0], 0.0)
        scaled = found / found.max(axis=1, keepdims=True)
        if (scaled[possible] < self.floor).any():
            return np.full_like(values, np.nan)
        return np.where(possible, scaled, 1.0)

    def ratios(self, values: Floats) -> Floats:
        """Ratios of the expectations for two values of the target."""
        table: Floats = values[:, :, None] / values[:, None, :]
        return table


def laplace_tail(chain: MarkovChain, weights: ArrayLike, tau: float, length: int | None = None) -> float:
    """Bayesian leakage in the tails of the sum of g(X_j) plus Laplace noise of rate tau / (max g - min g).

    Far out, the ratio of two densities is that of E[exp(+-theta S)], a product of transfer matrices. It is the whole
    leakage where the conditional laws of the sum are ordered by likelihood ratio (two states, positively correlated),
    and a lower bound on it otherwise; :func:`markov_recursion` is the upper bound for any mechanism. The setting is
    that of Lange, Guerra-Balboa, Parra-Arnau and Strufe, "Balancing Privacy and Utility in Correlated Data".

    Parameters
    ----------
    chain : MarkovChain
    weights : array of k floats
        g of each state.
    tau : float
        Level of differential privacy of the noise, in nats, >= 0.
    length : int, optional
        Number of records, as in :func:`markov_recursion`.

    Returns
    -------
    float
        In nats; inf where it grows without end with the length.

    Raises
    ------
    InvalidProblem
        If the weights do not fit or are all equal, or tau or the length is out of range.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> round(laplace_tail(chain, [0, 1], 0.5, 5), 10)
    1.2544221173
    """
    tau, count = checked_level(tau), checked_length(chain, length)
    values = checked_weights(weights, chain.k)
    if tau == 0:
        return 0.0
    return max(_one_tail(chain, theta * values, count) for theta in (tau, -tau))


def checked_weights(weights: ArrayLike, k: int) -> Floats:
    """The summand of each state, scaled so that one record changes the sum by at most 1.

    Raises
    ------
    InvalidProblem
        If there is not one finite number a state, or they are all equal.
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (k,) or not np.isfinite(values).all() or values.max() == values.min():
        raise InvalidProblem(
            f"weights must be {k} finite numbers, one a state and not all equal, got {weights!r}"
        )
    scaled: Floats = (values - values.min()) / (values.max() - values.min())
    return scaled


def _one_tail(chain: MarkovChain, exponents: Floats, length: int | None) -> float:
    left, right = both_sides(chain, length, Tilted(np.exp(exponents - exponents.max()), 1e-290))
    own = np.exp(exponents[:, None] - exponents[None, :])
    product = largest_product(left, right, length, own)
    return math.log(product) if product > 0 else 0.0

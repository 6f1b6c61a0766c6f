"""Proved bounds on the Bayesian leakage of all mechanisms of a level, from above and below, for every model of records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privopt.errors import InvalidProblem
from privopt.measures.bayesian.chain_sets import prove_chain_set, prove_chain_set_leak
from privopt.measures.bayesian.covariance_sets import (
    dependent_blocks,
    prove_least_set_factor,
    prove_set_factor,
)
from privopt.measures.bayesian.gaussian_proof import CONDITIONED, DOMINATED, prove_factor, prove_least_factor
from privopt.measures.bayesian.markov_proof import prove_markov_leak, prove_markov_recursion
from privopt.measures.bayesian.product_leak import prove_product_leak
from privopt.mechanisms.noise.statistics import MOST, up
from privopt.models import ChainAmbiguity, CovarianceAmbiguity, GaussianModel, GroupModel, MarkovChain

GENERAL = "general in rationals"
RECURSION = "markov-recursion, every step rounded up"

_ALMOST = 1 - Fraction(1, 2**45)

CHEAP = 10
"""Records of a block up to which the least factor is proved even where their number is enough."""


@dataclass(frozen=True)
class Setting:
    """Records, and how a query reads them.

    Parameters
    ----------
    model : GaussianModel, GroupModel, MarkovChain, or a set of chains or covariances
    length : int or None
        Number of records.
    scope : str
    apart, grid : Fraction
        How far one clipped Gaussian record moves a sum or mean, and the grid to which that is rounded at random. Noise of
        level tau has the scale ``ceil(apart / grid) grid / tau``.
    sums : bool
        Whether a sum or a mean of Gaussian records is read, not any function.
    """

    model: GaussianModel | GroupModel | MarkovChain | ChainAmbiguity | CovarianceAmbiguity
    length: int | None
    scope: str
    apart: Fraction = Fraction(1)
    grid: Fraction = Fraction(0)
    sums: bool = False

    @property
    def sensitivity(self) -> Fraction:
        """By how much one record moves the rounded value."""
        return math.ceil(self.apart / self.grid) * self.grid if self.grid else self.apart


def prove_leakage(setting: Setting, tau: float, enough: float = 0.0) -> tuple[float, str]:
    """A float that is at least the leakage of every mechanism of a level, and how it was proved.

    Gaussian records: if h is the factor, a sum moves by at most D = h apart in a coupling of the two conditional
    distributions. Rounded to a grid it moves by at most D rounded up; rounded at random, the logarithm of the
    probability of an output also changes by at most D / scale + (grid / scale)^2 / 8. The lesser counts.

    Parameters
    ----------
    setting : Setting
    tau : float
        Level of differential privacy, >= 0; the float's exact value is meant.
    enough : float
        A leakage that satisfies: no large Gaussian factor is computed to go below it.

    Examples
    --------
    >>> prove_leakage(Setting(GaussianModel([[1, 0.5], [0.5, 1]]), None, "targets_in_interval"), 0.5)
    (0.75, 'gaussian-column in rationals')
    """
    if tau == 0:
        return 0.0, "the answer does not read the data"
    if not tau < math.inf:
        return math.inf, "nothing is proved of an infinite level"
    model, exact = setting.model, Fraction(tau)
    if isinstance(model, (MarkovChain, ChainAmbiguity)):
        recursion = _of_chain(model, tau, setting.length), RECURSION
        if setting.length is None:
            return recursion
        return min(recursion, (up(setting.length * exact), GENERAL))
    size = dependent(setting)
    general = up(size * exact), GENERAL
    if isinstance(model, GroupModel) or setting.scope == "all_reals":
        return general
    if general[0] <= enough and size > CHEAP:
        return general
    if isinstance(model, GaussianModel):
        satisfies = Fraction(min(enough, MOST)) / exact * (setting.sensitivity / setting.apart) * _ALMOST
        factor, method = prove_factor(model, sums=setting.sums, enough=satisfies)
    else:
        factor, method = prove_set_factor(model)
    how = {DOMINATED: "balls", CONDITIONED: "bounded floats"}.get(method, "rationals")
    sharper = up(_moved(setting, factor, exact)), f"{method} in {how}"
    return sharper if sharper[0] <= general[0] else general


def _of_chain(model: MarkovChain | ChainAmbiguity, tau: float, length: int | None) -> float:
    if isinstance(model, ChainAmbiguity):
        return prove_chain_set(model, tau, length)
    return prove_markov_recursion(model, tau, length)


def _moved(setting: Setting, factor: Fraction, tau: Fraction) -> Fraction:
    """By how much the logarithm of the probability of an output changes where the factor is h."""
    distance, grid, rate = factor * setting.apart, setting.grid, tau / setting.sensitivity
    if not grid:
        return distance * rate
    return min(math.ceil(distance / grid) * grid * rate, distance * rate + (grid * rate) ** 2 / 8)


def prove_leak(setting: Setting, tau: float) -> float:
    """A float that is at most the leakage of some mechanism of a level, >= 0: what no bound can undercut.

    Groups: all their records may be equal. Gaussian records: an adversary whose factor is rational. Chains of two states:
    the recursion, which is exact. Sets: one of their distributions. Other chains: a mechanism that reads one record leaks its
    level, if some record has two possible values; one whose probabilities are products, more.

    Examples
    --------
    >>> prove_leak(Setting(GaussianModel([[1, 0.5], [0.5, 1]]), None, "targets_in_interval"), 0.5)
    0.75
    """
    if not 0 < tau < math.inf:
        return 0.0
    model, exact = setting.model, Fraction(tau)
    if isinstance(model, MarkovChain):
        if model.k == 2:
            return prove_markov_leak(model, tau, setting.length)
        return max(
            tau if has_secret(model, setting.length) else 0.0, prove_product_leak(model, tau, setting.length)
        )
    if isinstance(model, ChainAmbiguity):
        return prove_chain_set_leak(model, tau, setting.length)
    if isinstance(model, GroupModel):
        return _down(dependent(setting) * exact)
    share = setting.apart / setting.sensitivity * exact
    if setting.length is not None and setting.length < model.size:
        return _down(share)
    if setting.scope == "all_reals":
        return _down(_far(model if isinstance(model, GaussianModel) else model.nominal) * share)
    if isinstance(model, CovarianceAmbiguity):
        return _down(prove_least_set_factor(model) * share)
    return _down(prove_least_factor(model, sums=setting.sums) * share)


def dependent(setting: Setting) -> int:
    """The most records that depend on each other.

    Raises
    ------
    InvalidProblem
        For a chain, all of whose records do.
    """
    model = setting.model
    if isinstance(model, (MarkovChain, ChainAmbiguity)):
        raise InvalidProblem("all records of a chain depend on each other")
    if isinstance(model, CovarianceAmbiguity):
        size = max(map(len, dependent_blocks(model)))
    else:
        size = model.size if isinstance(model, GroupModel) else max(map(len, model.blocks))
    return size if setting.length is None else min(size, setting.length)


def _far(model: GaussianModel) -> int:
    """Records that targets far outside the interval force to its ends: those correlated with one record, and it."""
    return int((model.covariance != 0).sum(axis=0).max())


def has_secret(chain: MarkovChain, length: int | None) -> bool:
    """Whether the first or the second record of a chain can have two values, exactly."""
    first = [i for i, weight in enumerate(chain.exact_initial.weights) if weight]
    if len(first) > 1 or length == 1:
        return len(first) > 1
    return sum(weight > 0 for weight in chain.exact_step(0)[first[0]].weights) > 1


def _down(value: Fraction) -> float:
    return min(-up(-value), MOST)

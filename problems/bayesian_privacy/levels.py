"""What a level of differential privacy is worth under the model of a problem: read in floats, and proved.

Bounds on utility come from a level that is too high. The dual is ``{"kind": "level", "tau": t}``. The family
is one noise of any scale. Let L(t) be the leakage of noise of level t. It never falls: for all mechanisms of
a level, because the classes are nested; for the noisy answer itself, because noise of a larger scale is noise
of a smaller one with more added (the characteristic function of Laplace noise of scale b' is that of scale b
times (b / b')^2 + (1 - (b / b')^2) / (1 + b'^2 s^2), a mixture of nothing and Laplace noise; for the discrete
noise of ratios a < a' the weight of nothing is a (1 - a')^2 / (a' (1 - a)^2)). So if L(t) > epsilon, an
allowed mechanism has a level below t, a scale above the one of t, and at least its error. The leakage of all
mechanisms of a level even grows with slope 1 or in proportion, so that L(t) >= epsilon suffices. That of the
noisy answer may stay the same, even at 0: only if somebody is left with two answers at a distance of some share of
the sensitivity, one for each of two values of a record, L(t) is at least that share of t.

L(t) is proved from below: in balls, by enumeration or by adversaries who know records near the target, by the recursion
for two states with every step rounded down, by a rational factor of one adversary of Gaussian records, or by a mechanism
that reads one record. The error of a scale is enclosed in balls.

``{"kind": "error"}`` proves 0: no error is expected to be negative.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from privopt.core.exact import ball_floor
from privopt.core.problem import Enclosure
from privopt.measures.bayesian.gaussian import gaussian_factor
from privopt.measures.bayesian.leakage import bayesian_leakage
from privopt.measures.bayesian.markov import recursion_seconds
from privopt.measures.bayesian.proof import GENERAL, Setting, dependent, prove_leak, prove_leakage
from privopt.measures.bound import Bound
from privopt.mechanisms import Query
from privopt.mechanisms.noise.shapes import enclosed_error
from privopt.mechanisms.noise.statistics import spacing, up
from privopt.models import ChainAmbiguity, CovarianceAmbiguity, GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy import enumeration
from privopt.problems.bayesian_privacy.data import BayesianPrivacyData
from privopt.problems.bayesian_privacy.enumeration import Listed
from privopt.problems.bayesian_privacy.forgetting import LEAST_BUDGET, Forgetting, forgetting
from privopt.problems.bayesian_privacy.lattice import Lattice, lattice_of
from privopt.problems.bayesian_privacy.pairs import Clock
from privopt.problems.bayesian_privacy.validation import Records, Sets

LISTED = 300_000
"""Probabilities up to which all adversaries are listed, and their leakage enclosed with nothing added."""

PATIENCE = 0.1
"""Seconds that a recursion may take where the number of records keeps epsilon by itself."""

PRODUCT_SECONDS = 0.02
"""Seconds of what a mechanism of products leaks on a chain of a few states."""

_BITS = 160


def judged_model(data: BayesianPrivacyData) -> Records | Sets:
    """The model, or the set of them, whose bounds hold for the query.

    Bounds for Gaussian records need a query that moves by no more than the clipped records do; of a function of the
    caller only its sensitivity is known, so only the size of the group counts.
    """
    model = data.model
    if isinstance(model, GaussianModel) and isinstance(data.query, Query):
        return GroupModel(model.size)
    return model if data.ambiguity is None else data.ambiguity


def setting(data: BayesianPrivacyData) -> Setting:
    """What proofs need to know of the records and of how the query reads them."""
    model = judged_model(data)
    if not isinstance(model, (GaussianModel, CovarianceAmbiguity)):
        return Setting(model, data.length, data.scope)
    apart, grid = spacing(data.query, data.clip, data.length)
    return Setting(model, data.length, data.scope, apart, grid, sums=True)


def enumerable(data: BayesianPrivacyData) -> bool:
    """Whether the leakage of the noisy query itself is read: noise on a count, a sum or a mean of a chain that is short or forgets."""
    return own(data) is not None


def own(data: BayesianPrivacyData) -> Listed | Forgetting | None:
    """The leakage of the noisy query itself at any level, or None where it is not read.

    Adversaries are listed where they are not many. Of others it is nothing where two states make themselves more likely: the noisy count
    is the worst mechanism of its level there, and the recursion is exact. Else those with known records near the target are read where
    the chain forgets, or all are listed all the same where they can be kept.
    """
    chain, n = data.model, data.length
    if not isinstance(chain, MarkovChain) or data.mechanism == "randomised_response":
        return None
    lattice = lattice_of(data)
    return None if lattice is None else _own(chain, lattice, n, data.epsilon >= LEAST_BUDGET)


@lru_cache(maxsize=64)
def _own(chain: MarkovChain, lattice: Lattice, n: int | None, fine: bool) -> Listed | Forgetting | None:
    # a count has the finest lattice: what is too long for it is too long for all
    short = n is not None and chain.k * n * n <= enumeration.MOST_ENTRIES
    count = enumeration.entries(chain, lattice, n) if short and n is not None else math.inf
    if count > LISTED and _stays(chain):
        return None
    near = forgetting(chain, lattice, n) if fine and count > LISTED else None
    if near is None and n is not None and count <= enumeration.MOST_ENTRIES:
        return Listed(chain, lattice, n)
    return near


def _stays(chain: MarkovChain) -> bool:
    """Whether each of two states makes itself more likely, at all times alike."""
    if chain.k != 2 or not chain.homogeneous or not chain.stationary:
        return False
    return bool(chain.transition[0, 0] >= chain.transition[1, 0])


def bound(data: BayesianPrivacyData, tau: float, method: str = "best") -> Bound:
    """The bound of a method for any mechanism of level tau.

    For Gaussian records it is a factor times the level of noise for the distance of two values, which is less than
    the one for their distance rounded up to the grid.
    """
    model = judged_model(data)
    if not isinstance(data.model, GaussianModel) or data.query not in ("sum", "mean"):
        return _bound(model, tau, data.length, method, data.scope)
    if isinstance(model, GaussianModel):
        factor = gaussian_factor(model, method, data.scope, sums=True)
        worst = replace(factor, value=factor.value * tau)
    else:
        worst = _bound(model, tau, data.length, method, data.scope)
    records = setting(data)
    general = dependent(records) * tau
    if data.scope == "all_reals" or worst.method == "general":
        return replace(worst, value=min(worst.value, general))
    step = float(records.grid / records.sensitivity) * tau
    value = worst.value * float(records.apart / records.sensitivity) + step * step / 8
    return replace(worst, value=min(value, general))


@lru_cache(maxsize=4096)
def _bound(model: Records | Sets, tau: float, length: int | None, method: str, scope: str) -> Bound:
    return bayesian_leakage(model, tau, length=length, method=method, scope=scope)


def reading_seconds(data: BayesianPrivacyData) -> float:
    """Predicted seconds of one reading: a walk along a chain, a table of adversaries, or the first reading of Gaussian records."""
    noisy = own(data)
    return any_seconds(data) if noisy is None else noisy.seconds


def any_seconds(data: BayesianPrivacyData) -> float:
    """Predicted seconds of one reading of the bound for any mechanism of a level."""
    return _reading_seconds(judged_model(data), data.length, data.scope)


@lru_cache(maxsize=64)
def _reading_seconds(model: Records | Sets, length: int | None, scope: str) -> float:
    if isinstance(model, MarkovChain):
        return recursion_seconds(model, length)
    if isinstance(model, GaussianModel) and scope != "all_reals":
        return 1e-10 * float(max(map(len, model.blocks))) ** 3
    return 0.0


def bounding_seconds(data: BayesianPrivacyData) -> float:
    """Predicted seconds of proving that a level is too high."""
    chain = data.model
    if own(data) is None and isinstance(chain, MarkovChain) and chain.k > 2 and data.ambiguity is None:
        return PRODUCT_SECONDS * (1.0 + chain.k**2 / 50.0)
    return reading_seconds(data)


def reading(data: BayesianPrivacyData, tau: float) -> Bound:
    """The leakage of noise of level tau, in floats.

    For a count, sum or mean of a chain that is short or forgets it is that of the noisy answer itself; else that of the worst mechanism
    of the level, or the best bound on it.
    """
    noisy = own(data)
    if _few(data, tau):
        return bound(data, tau, "general")
    if noisy is None or tau == 0:
        return bound(data, tau)
    return _bounded(data, tau, noisy.read(tau))


def searched(data: BayesianPrivacyData, tau: float, clock: Clock) -> float:
    """The leakage of the noisy query itself, or a bound on it by which it keeps epsilon or does not.

    Raises
    ------
    TimeoutError
        If no seconds are left by the clock.
    """
    noisy = own(data)
    if not isinstance(noisy, Forgetting):
        return reading(data, tau).value
    return _bounded(data, tau, noisy.read(tau, data.epsilon, clock)).value


def _bounded(data: BayesianPrivacyData, tau: float, read: Bound) -> Bound:
    """What was read, or the bound of any mechanism where floats do not do."""
    return read if read.value < math.inf else bound(data, tau)


def proved_leakage(data: BayesianPrivacyData, tau: float, excess: float = 0.0) -> tuple[float, float, str]:
    """Floats around the leakage of noise of a level, and how they were proved; only an enumerated one has a lower one above 0.

    A bound on a large Gaussian factor that exceeds epsilon by no more than ``excess``, relatively, is not sharpened.

    Examples
    --------
    >>> pair = BayesianPrivacyData(GaussianModel([[1, 0.5], [0.5, 1]]), "sum", 1.0, clip=(0, 1))
    >>> proved_leakage(pair, 0.5)
    (0.0, 0.75, 'gaussian-column in rationals')
    """
    noisy = own(data) if 0 < tau < math.inf else None
    if data.length is not None and _few(data, tau):
        return 0.0, up(data.length * Fraction(tau)), GENERAL
    low, high = noisy.enclose(tau) if noisy is not None else (0.0, math.inf)
    if noisy is not None and high < math.inf:
        return low, high, noisy.method
    proved, method = prove_leakage(setting(data), tau, data.epsilon * (1.0 + excess))
    return min(low, proved), proved, method


def level_enclosure(data: BayesianPrivacyData, tau: float) -> Enclosure:
    """Floats around the largest leakage over a set: what the noisy answer leaks at its nominal chain, or some mechanism of the level, and what none exceeds."""
    if tau == 0:
        return 0.0, 0.0
    chain, high = data.model, proved_leakage(data, tau)[1]
    noisy = own(replace(data, ambiguity=None)) if isinstance(chain, MarkovChain) else None
    if noisy is None or (isinstance(chain, MarkovChain) and _stays(chain)):
        return min(prove_leak(setting(data), tau), high), high
    low, nominal = noisy.enclose(tau)
    point = isinstance(data.ambiguity, ChainAmbiguity) and data.ambiguity.is_point
    return min(low, high), min(nominal, high) if point else high


def _few(data: BayesianPrivacyData, tau: float) -> bool:
    """Whether a chain has so few records that their number will do, where a closer bound takes long."""
    n = data.length
    if n is None or not isinstance(data.model, MarkovChain) or math.isinf(tau) or math.isinf(data.epsilon):
        return False
    return n * Fraction(tau) <= Fraction(data.epsilon) and reading_seconds(data) > PATIENCE


def prove_dual(data: BayesianPrivacyData, dual: object, *, any_query: bool = False) -> Enclosure | None:
    """Floats around the upper bound on utility that a dual proves, or None.

    It bounds the noise on any function of Gaussian records, not on their sum alone, where ``any_query`` says so.
    """
    if not isinstance(dual, dict):
        return None
    if dual.get("kind") == "error":
        return 0.0, 0.0
    tau = dual.get("tau")
    if dual.get("kind") != "level" or isinstance(tau, bool) or not isinstance(tau, (int, float)):
        return None
    return prove_level(data, float(tau), any_query=any_query) if 0 < tau < math.inf else None


def prove_level(data: BayesianPrivacyData, tau: float, *, any_query: bool = False) -> Enclosure | None:
    """Floats around the upper bound on utility of a level, or None where it is not proved to be too high.

    Examples
    --------
    >>> pair = BayesianPrivacyData(GaussianModel([[1, 0.5], [0.5, 1]]), "sum", 1.5, clip=(0, 1))
    >>> prove_level(pair, 0.999), prove_level(pair, 1.0)
    (None, (-1.0, -1.0))
    """
    if not _too_high(data, tau, any_query):
        return None
    if data.mechanism == "randomised_response":
        return _reports(data, tau)
    lo, hi = enclosed_error(data.mechanism, Fraction(data.sensitivity) / Fraction(tau), data.length)
    return (-hi, -lo) if math.isfinite(hi) else None


def _too_high(data: BayesianPrivacyData, tau: float, any_query: bool) -> bool:
    """Whether noise of every level above leaks more than epsilon."""
    noisy = own(data)
    if any_query and isinstance(noisy, Forgetting):  # version 0.1.0 read any mechanism of the level
        noisy = None
    if noisy is not None:
        share = noisy.share_leaked
        low = noisy.enclose(tau, data.epsilon)[0] if isinstance(noisy, Forgetting) else noisy.enclose(tau)[0]
        return low > data.epsilon or (share > 0 and Fraction(tau) * share >= Fraction(data.epsilon))
    records = setting(data)
    return prove_leak(replace(records, sums=records.sums and not any_query), tau) >= data.epsilon


def _reports(data: BayesianPrivacyData, tau: float) -> Enclosure | None:
    """The error of the largest probability of the truth, as a float, whose level is at most tau."""
    from flint import arb, ctx

    with ctx.workprec(_BITS):
        truth = min(ball_floor(1 / (1 + (-arb(tau)).exp())), math.nextafter(1.0, 0.0))
    lo, hi = enclosed_error(data.mechanism, 1.0 - truth, data.length)
    return (-hi, -lo) if truth > 0.5 and math.isfinite(hi) else None

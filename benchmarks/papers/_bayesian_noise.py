"""Mechanisms of the paper on Bayesian privacy: noise that each bound asks for, and the errors of many runs."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from privopt._dispatch import solve
from privopt.benchmarks.papers._bayesian_data import Families, Stream, gamma
from privopt.mechanisms import NoisyQuery
from privopt.mechanisms import _noise_draw as draw
from privopt.mechanisms import _statistics as statistics
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy import BayesianPrivacy

DP, GENERAL, PUBLISHED, OURS = "DP (does not protect)", "general bound", "published bound", "ours"
RUNS = 1000
BETA = 0.05


def sums(model: GaussianModel | GroupModel, clip: tuple[float, float], epsilon: float) -> BayesianPrivacy:
    """A sum of clipped records."""
    return BayesianPrivacy(model, "sum", epsilon, clip=clip)


def counts(chain: MarkovChain, epsilon: float, length: int | None) -> BayesianPrivacy:
    """A count of ones."""
    return BayesianPrivacy(chain, ("count", 1), epsilon, length=length)


def noisy(problem: BayesianPrivacy, solver: str, certify: bool = False) -> NoisyQuery | None:
    """A solver's mechanism; None where its bound reaches no level."""
    found = solve(problem, solver, certify=certify).mechanism
    return found if isinstance(found, NoisyQuery) and not found.constant else None


def error(mechanism: NoisyQuery | None, beta: float = BETA) -> float:
    """The alpha that an error exceeds with probability beta; inf without a mechanism."""
    return math.inf if mechanism is None else mechanism.accuracy(beta)


def family_mechanisms(data: Families, epsilon: float) -> dict[str, NoisyQuery | None]:
    """Laplace noise on the sum: for independent records, by the three bounds."""
    problem = sums(data.model, data.clip, epsilon)
    return {
        DP: problem.answer(epsilon),
        GENERAL: noisy(problem, "general"),
        PUBLISHED: noisy(problem, "gaussian-published"),
        OURS: noisy(problem, "gaussian-column"),
    }


def stream_mechanisms(data: Stream, epsilon: float) -> dict[str, NoisyQuery | None]:
    """Laplace noise on the count: for independent records, by the three bounds, of the printed chain."""
    problem = counts(data.printed, epsilon, data.count)
    return {
        DP: problem.answer(epsilon),
        GENERAL: noisy(problem, "general"),
        PUBLISHED: published(problem),
        OURS: noisy(problem, "markov-recursion"),
    }


def published(problem: BayesianPrivacy) -> NoisyQuery | None:
    """Theorem 6.2 alone, without the general bound that the solver falls back on; None up to 4 ln gamma."""
    assert isinstance(problem.model, MarkovChain)
    if problem.epsilon <= 4 * math.log(gamma(problem.model)):
        return None
    return noisy(problem, "markov-published")


def answer(data: Families | Stream) -> float:
    """The query without noise."""
    if isinstance(data, Families):
        return float(np.clip(data.records, *data.clip).sum())
    return float((data.states == 1).sum())


def errors(
    mechanism: NoisyQuery, truth: float, rng: np.random.Generator, runs: int = RUNS
) -> NDArray[np.float64]:
    """Absolute errors of simulated runs: the mechanism's noise on the query's value."""
    found = [float(draw.simulate(mechanism.noise, mechanism.scale, truth, rng)) for _ in range(runs)]
    return np.abs(np.array(found) - truth)


def released_errors(mechanism: NoisyQuery, truth: float, runs: int) -> NDArray[np.float64]:
    """Absolute errors of runs with the noise of a release, which has no seed.

    Raises
    ------
    MissingExtra
        If OpenDP is not installed.
    """
    add = draw.add_noise
    found = [
        float(add(mechanism.noise, mechanism.scale, mechanism.sensitivity, mechanism.tau, truth))
        for _ in range(runs)
    ]
    return np.abs(np.array(found) - truth)


def excess(found: NDArray[np.float64], alpha: float) -> float:
    """By how many standard deviations the number of errors beyond alpha differs from 5 % of them.

    Examples
    --------
    >>> excess(np.array([0.0] * 95 + [2.0] * 5), 1.0)
    0.0
    """
    runs = len(found)
    return float(abs((found > alpha).sum() - BETA * runs) / math.sqrt(runs * BETA * (1 - BETA)))


def plain(data: Families | Stream, mechanism: NoisyQuery) -> float:
    """The query's value by the mechanism's own reading of the records."""
    if isinstance(data, Families):
        records: list[float] = data.records.ravel().tolist()
        return float(statistics.value("sum", records, data.clip, None, None))
    kept = data.states[data.states >= 0].tolist()
    return float(statistics.value(mechanism.query, kept, None, None, mechanism.states))


@cache
def chain_level(chain: MarkovChain, epsilon: float) -> float:
    """The level that the recursion allows on a chain of any length."""
    found = noisy(counts(chain, epsilon, None), "markov-recursion")
    return 0.0 if found is None else found.tau

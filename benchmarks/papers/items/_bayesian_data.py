"""Mechanisms of the paper on Bayesian privacy: noise that each bound asks for, and the errors of many runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.benchmarks.data import external as families
from privopt.benchmarks.data import streams
from privopt.core.dispatch import solve
from privopt.errors import FileRefused
from privopt.mechanisms import NoisyQuery
from privopt.mechanisms.noise import statistics
from privopt.mechanisms.noise.shapes import SHAPES
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy

PRINTED = {
    "Activity": ((0.882, 0.117), (0.305, 0.695)),
    "Electricity 70": ((0.445, 0.555), (0.149, 0.850)),
    "Electricity 80": ((0.818, 0.182), (0.371, 0.629)),
    "Electricity 90": ((0.894, 0.106), (0.478, 0.522)),
}
"""Transition matrices as printed; the first and the second sum to .999 in a row."""

GAMMA = {"Activity": 7.54, "Electricity 70": 3.29, "Electricity 80": 4.49, "Electricity 90": 8.43}
"""The largest ratio of two transition probabilities as Table 3 prints it."""

FLOORS = {"Activity": 8.05, "Electricity 70": 4.7, "Electricity 80": 6.03, "Electricity 90": 8.54}
"""4 ln gamma as Equation (6) prints it."""

DAY = 288
"""Intervals of five minutes in a day."""


@dataclass(frozen=True, eq=False)
class Families:
    """Groups of Gaussian records.

    Parameters
    ----------
    name : str
    records : float array, shape (groups, m)
    count : int
        Records as Table 3 prints them.
    m : int
    rho : float
        As Table 3 prints it.
    clip : (float, float)
        Of the sensitivity that Table 3 prints.
    real : bool
        False for seeded records in place of a file that is absent.
    """

    name: str
    records: Floats
    count: int
    m: int
    rho: float
    clip: tuple[float, float]
    real: bool

    @property
    def max_correlation(self) -> float:
        """Largest Pearson correlation between two records of a group."""
        return GaussianModel(np.cov(self.records.T)).max_correlation

    @property
    def model(self) -> GaussianModel:
        """Groups with all correlations as large as printed."""
        return GaussianModel(np.full((self.m, self.m), self.rho) + (1 - self.rho) * np.eye(self.m))

    @property
    def width(self) -> float:
        """Sensitivity of the sum."""
        return self.clip[1] - self.clip[0]


@cache
def galton() -> Families:
    """Fathers, mothers and children in inches, a row a child."""
    printed = ("Galton", 897, 3, 0.275, (0.0, 254.0))
    try:
        table, real = families.galton()[["father", "mother", "child"]].to_numpy(np.float64), True
    except FileRefused:
        table, real = families.gaussian_families(898, 3, 0.275, 67.0, 2.6), False
    return _families(printed, table, real)


@cache
def family_iq() -> Families:
    """Mothers and children."""
    printed = ("FamilyIQ", 868, 2, 0.4483, (40.0, 160.0))
    try:
        table, real = families.kidiq().to_numpy(np.float64), True
    except FileRefused:
        table, real = families.gaussian_families(434, 2, 0.4483), False
    return _families(printed, table, real)


@cache
def synthetic_iq() -> Families:
    """Made up, here as in the paper, by a seed of our own; standard deviation 15."""
    printed = ("SyntheticIQ", 20_000, 2, 0.45, (40.0, 160.0))
    return _families(printed, families.gaussian_families(10_000, 2, 0.45), True)


def _families(
    printed: tuple[str, int, int, float, tuple[float, float]], records: Floats, real: bool
) -> Families:
    name, count, m, rho, clip = printed
    return Families(name, records, count, m, rho, clip, real)


def gaussian_sets() -> tuple[Families, ...]:
    """The three Gaussian sets in the order of Table 3."""
    return galton(), family_iq(), synthetic_iq()


@dataclass(frozen=True, eq=False)
class Stream:
    """A stream of two states, -1 where the state is not known; ``chain`` is fitted, ``count`` and ``printed`` are the paper's."""

    name: str
    states: NDArray[np.int64]
    chain: MarkovChain
    count: int
    printed: MarkovChain
    real: bool


def printed_chain(name: str) -> MarkovChain:
    """The printed matrix with its rows divided by their sums."""
    return MarkovChain.normalised(PRINTED[name])


@cache
def activity() -> Stream:
    """Intervals of five minutes; the unknown days are left out and what remains is joined, which fits the printed matrix best."""
    printed = printed_chain("Activity")
    try:
        states, real = streams.activity(), True
    except FileRefused:
        states, real = walk(printed, 61 * DAY), False
    return Stream("Activity", states, fitted(states[states >= 0]), 17_568, printed, real)


@cache
def electricity(threshold: int) -> Stream:
    """Days on which the sum of all meters exceeds a threshold in kWh."""
    name = f"Electricity {threshold}"
    printed = printed_chain(name if name in PRINTED else "Electricity 70")
    try:
        states, real = (streams.electricity() > threshold).astype(np.int64), True
    except FileRefused:
        states, real = walk(printed, 731, threshold), False
    return Stream(name, states, fitted(states), 731, printed, real)


def markov_sets() -> tuple[Stream, ...]:
    """The four streams in the order of Table 3."""
    return activity(), electricity(70), electricity(80), electricity(90)


def every_set() -> tuple[Families | Stream, ...]:
    """All seven in the order of Table 3."""
    return (*gaussian_sets(), *markov_sets())


def fitted(states: NDArray[np.int64]) -> MarkovChain:
    """The chain whose transitions are counted."""
    return MarkovChain.fit([states.tolist()], states=(0, 1))


def walk(chain: MarkovChain, length: int, seed: int = 0) -> NDArray[np.int64]:
    """A seeded sequence of a chain of two states.

    Examples
    --------
    >>> walk(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 4).tolist()
    [0, 1, 1, 1]
    """
    draws = np.random.default_rng(seed).random(length)
    states = np.zeros(length, dtype=np.int64)
    states[0] = draws[0] < chain.initial[1]
    for t in range(1, length):
        states[t] = draws[t] < chain.transition[states[t - 1], 1]
    return states


def gamma(chain: MarkovChain) -> float:
    """Largest ratio of two transition probabilities."""
    return float(chain.transition.max() / chain.transition.min())


def raw_gamma(name: str) -> float:
    """The same of the matrix as printed, before its rows are divided by their sums.

    Examples
    --------
    >>> round(raw_gamma("Electricity 70"), 3)
    5.705
    """
    entries = np.array(PRINTED[name])
    return float(entries.max() / entries.min())


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
    mechanism = solve(problem, solver, certify=certify).mechanism
    return mechanism if isinstance(mechanism, NoisyQuery) and not mechanism.constant else None


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
    shape = SHAPES[mechanism.noise]
    answers = [float(shape.simulate(truth, mechanism.scale, rng)) for _ in range(runs)]
    return np.abs(np.array(answers) - truth)


def released_errors(mechanism: NoisyQuery, truth: float, runs: int) -> NDArray[np.float64]:
    """Absolute errors of runs with the noise of a release, which has no seed.

    Raises
    ------
    MissingExtra
        If OpenDP is not installed.
    """
    shape = SHAPES[mechanism.noise]
    answers = [
        float(shape.release(truth, mechanism.scale, mechanism.sensitivity, mechanism.tau))
        for _ in range(runs)
    ]
    return np.abs(np.array(answers) - truth)


def excess(run_errors: NDArray[np.float64], alpha: float) -> float:
    """By how many standard deviations the number of errors beyond alpha differs from 5 % of them.

    Examples
    --------
    >>> excess(np.array([0.0] * 95 + [2.0] * 5), 1.0)
    0.0
    """
    runs = len(run_errors)
    return float(abs((run_errors > alpha).sum() - BETA * runs) / math.sqrt(runs * BETA * (1 - BETA)))


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
    mechanism = noisy(counts(chain, epsilon, None), "markov-recursion")
    return 0.0 if mechanism is None else mechanism.tau

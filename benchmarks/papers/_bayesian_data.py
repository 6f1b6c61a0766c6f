"""The data sets of the paper on Bayesian privacy: what it prints about them, and the records, or seeded ones where they are absent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from privopt.benchmarks.data import external as families
from privopt.benchmarks.data import streams
from privopt.errors import FileRefused
from privopt.models import GaussianModel, MarkovChain

Floats = NDArray[np.float64]
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
    def found(self) -> float:
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
    found = np.zeros(length, dtype=np.int64)
    found[0] = draws[0] < chain.initial[1]
    for t in range(1, length):
        found[t] = draws[t] < chain.transition[found[t - 1], 1]
    return found


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

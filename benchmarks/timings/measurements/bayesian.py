"""Bayesian privacy of noise on dependent records: what bounds and calibration cost, and the invariants they must keep.

Source of the setting: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from privopt.benchmarks.timings.measurement import Timing, clock, register_measurement
from privopt.measures.bayesian.gaussian import column_factor, h_matrix_factor
from privopt.measures.bayesian.gaussian_enumeration import brute_force_factor
from privopt.measures.bayesian.leakage import calibrate
from privopt.measures.bayesian.markov import markov_recursion
from privopt.measures.bayesian.tables import laplace_leakage
from privopt.models import MarkovChain

Case = tuple[str, int, float, Callable[[], object]]
"""What is done, its size, the seconds it should stay under, and the work."""


def seconds_of_bounds(quick: bool) -> Iterator[Timing]:
    """Every case, timed."""
    for what, size, limit, work in _cases(quick):
        _, seconds = clock(work)
        yield Timing(what, size, seconds, quality=limit, note="seconds it should stay under")


def _cases(quick: bool) -> Iterator[Case]:
    pair = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    yield "recursion, two states", 2, 0.02, lambda: markov_recursion(pair, 0.5).value
    yield "calibration, two states", 2, 0.3, lambda: calibrate(lambda t: markov_recursion(pair, t).value, 1.0)
    several, many = _chain(3 if quick else 6), _chain(3 if quick else 20)
    yield "recursion, step by programs", several.k, 10.0, lambda: markov_recursion(several, 0.5, step="lp")
    yield "recursion, coarse step", many.k, 1.0, lambda: markov_recursion(many, 0.5, step="coarse")
    for m in (100,) if quick else (500, 2000):
        near, row = _weak(m), _row(m)
        yield "Gaussian, column bound", m, 2.0, partial(column_factor, near)
        yield "Gaussian, comparison matrix", m, 2.0, partial(h_matrix_factor, row)
    for m, limit in ((6, 1.0),) if quick else ((12, 1.0), (16, 20.0)):
        yield "Gaussian, all adversaries", m, limit, partial(brute_force_factor, _row(m))
    n = 6 if quick else 12
    yield "noisy count, all adversaries", n, 10.0, lambda: laplace_leakage(pair, [0, 1], 0.5, n)


def _chain(states: int) -> MarkovChain:
    """A random chain that tends to stay."""
    rows = np.random.default_rng(states).dirichlet(np.ones(states), size=states) + np.eye(states)
    return MarkovChain.normalised(rows.tolist())


def _row(m: int) -> np.ndarray:
    """Records in a row, of correlation 0.6 to the power of their distance."""
    places = np.arange(m)
    correlation: np.ndarray = 0.6 ** np.abs(places[:, None] - places[None, :])
    return correlation


def _weak(m: int) -> np.ndarray:
    """Equal correlations that add up to less than one."""
    return np.full((m, m), 0.9 / m) + (1 - 0.9 / m) * np.eye(m)


@register_measurement(
    "bayesian-speed",
    "Bayesian privacy: seconds of every bound and of calibration, with the seconds they should stay under",
)
def speed(quick: bool) -> Sequence[Timing]:
    """Chains, Gaussian groups and tables."""
    return list(seconds_of_bounds(quick))

"""Invariants of Bayesian leakage on random instances; what is reported is how often each was violated.

Source of the setting: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data".
"""

from __future__ import annotations

import numpy as np

from privopt.benchmarks.papers import bayesian_oracle as oracle
from privopt.benchmarks.timings.measurement import Check, register_invariants
from privopt.errors import InvalidProblem
from privopt.measures.bayesian.gaussian import gaussian_factor
from privopt.measures.bayesian.leakage import calibrate
from privopt.measures.bayesian.markov import markov_published, markov_recursion
from privopt.measures.bayesian.tables import exact_small, laplace_leakage, response_leakage
from privopt.models import GaussianModel

LP = 1e-6
"""What the tolerance of linear programs may explain, in nats."""
NOISE = 1e-9


def _tau(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(0.05), np.log(3.0))))


def _binary_exact(rng: np.random.Generator) -> bool:
    one, n, tau = oracle.chain(rng, 2), int(rng.integers(1, 5)), _tau(rng)
    worst = oracle.worst_mechanism(oracle.joint(one, n), tau)
    return abs(markov_recursion(one, tau, n).value - worst) <= LP


def _several_sound(rng: np.random.Generator) -> bool:
    one, n, tau = oracle.chain(rng, 3), int(rng.integers(2, 4)), _tau(rng)
    worst = oracle.worst_mechanism(oracle.joint(one, n), tau)
    fine, coarse = (markov_recursion(one, tau, n, step=step).value for step in ("lp", "coarse"))
    return worst <= fine + LP and fine <= coarse + NOISE


def _published_sound(rng: np.random.Generator) -> bool:
    one, n, tau = oracle.chain(rng, 2, positive=True), int(rng.integers(1, 5)), _tau(rng)
    return oracle.worst_mechanism(oracle.joint(one, n), tau) <= markov_published(one, tau).value + LP


def _tables(rng: np.random.Generator) -> bool:
    n, tau = int(rng.integers(1, 5)), _tau(rng)
    distribution = rng.dirichlet(np.full(2**n, 0.7)).reshape((2,) * n)
    worst = oracle.worst_mechanism(distribution, tau)
    return abs(exact_small(distribution, tau).value - worst) <= LP and worst <= n * tau + LP


def _mechanisms(rng: np.random.Generator) -> bool:
    n, tau = int(rng.integers(1, 5)), _tau(rng)
    distribution = rng.dirichlet(np.full(2**n, 0.7)).reshape((2,) * n)
    answers = abs(
        response_leakage(distribution, tau) - oracle.leakage(distribution, oracle.response(distribution, tau))
    )
    counts = abs(
        laplace_leakage(distribution, [0, 1], tau)
        - oracle.leakage(distribution, oracle.counted(distribution, tau))
    )
    return max(answers, counts) <= NOISE


def _gaussian(rng: np.random.Generator) -> bool:
    matrix = oracle.covariance(rng, int(rng.integers(2, 6)))
    worst = max(1 + float(np.abs(b).sum()) for b in oracle.coefficients(matrix))
    factor = gaussian_factor(GaussianModel(matrix))
    near = abs(factor.value - min(worst, len(matrix))) <= 1e-6 * worst
    return near if factor.exact else worst <= factor.value * (1 + 1e-9) or factor.value >= len(matrix)


def _calibrated(rng: np.random.Generator) -> bool:
    one, epsilon = oracle.chain(rng, 2), _tau(rng) * 2
    try:
        tau = calibrate(lambda level: markov_recursion(one, level).value, epsilon)
    except InvalidProblem:  # the chain nearly alternates, or nearly stays for ever: no bound for every length
        return markov_recursion(one, 1e-12 * epsilon).value == np.inf
    above = markov_recursion(one, tau * (1 + 1e-6)).value
    return markov_recursion(one, tau).value <= epsilon < above or tau == epsilon


INVARIANTS: dict[str, Check] = {
    "recursion, two states: the worst over all mechanisms and adversaries": _binary_exact,
    "recursion, three states: no mechanism leaks more": _several_sound,
    "published bound for chains: no mechanism leaks more": _published_sound,
    "any joint distribution: the worst over all mechanisms, at most n tau": _tables,
    "randomised response and noisy counts: all outputs and adversaries": _mechanisms,
    "Gaussian factor: all adversaries, from the precision matrix": _gaussian,
    "calibration: meets epsilon, and a little more noise is not needed": _calibrated,
}

register_invariants(
    "bayesian-laws",
    "Bayesian privacy: invariants against all adversaries by linear programs; violations counted",
    INVARIANTS,
    few=2,
    many=60,
)

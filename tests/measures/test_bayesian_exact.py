"""Exact Bayesian leakage of small tables and of noisy sums, and proved bounds for chains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from instances.few import few
from mpmath import log as mplog
from mpmath import mp
from oracles.bayesian_programs import laplace, random_chain, response, table, worst_mechanism

import privopt as po
from privopt.errors import InvalidModel, InvalidProblem
from privopt.measures.bayesian.markov import laplace_tail, markov_recursion
from privopt.measures.bayesian.markov_proof import prove_markov_recursion
from privopt.measures.bayesian.tables import exact_small, laplace_leakage, response_leakage

PAIR = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
FLIP = po.MarkovChain([[0.2, 0.8], [0.8, 0.2]])


@pytest.fixture(autouse=True)
def _digits() -> None:
    mp.dps = 50


def joint(seed: int, shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(math.prod(shape), 0.5)).reshape(shape)
    weights[rng.random(shape) < 0.2] = 0.0
    return weights / weights.sum()


@pytest.mark.parametrize("seed", few(range(8), 4))
def test_worst_mechanism(seed: int) -> None:
    weights, tau = joint(seed, (2, 2, 2) if seed % 2 else (3, 3)), (0.2, 1.0, 2.0)[seed % 3]
    bound = exact_small(weights, tau)
    assert bound.exact
    assert bound.value == pytest.approx(worst_mechanism(weights, tau), abs=1e-6)
    assert response_leakage(weights, tau) <= bound.value + 1e-6
    assert laplace_leakage(weights, [0, 1, 3][: len(weights)], tau) <= bound.value + 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_randomised_response(seed: int) -> None:
    weights, tau = joint(seed, (2, 2, 2) if seed % 2 else (3, 3)), (0.2, 1.0, 2.0)[seed % 3]
    assert response_leakage(weights, tau) == pytest.approx(float(response(weights, tau)), rel=1e-12)


@pytest.mark.parametrize("seed", few(range(8), 4))
def test_laplace_sum(seed: int) -> None:
    weights = joint(seed, (2, 2, 2, 2) if seed % 2 else (3, 3, 3))
    g, tau = [0, 1] if seed % 2 else [-1, 0, 2], (0.2, 1.0, 2.0)[seed % 3]
    assert laplace_leakage(weights, g, tau) == pytest.approx(laplace(weights, g, tau), rel=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_tail_of_persistent_chains_is_the_leakage(seed: int) -> None:
    rng = np.random.default_rng(seed)
    up, down = rng.uniform(0.02, 0.48, 2)
    chain = po.MarkovChain([[1 - up, up], [down, 1 - down]], initial=None if seed % 2 else [0.9, 0.1])
    n, tau = 2 + seed % 6, float(rng.uniform(0.1, 3))
    exact = laplace_leakage(chain, [0, 1], tau, n)
    assert laplace_tail(chain, [0, 1], tau, n) == pytest.approx(exact, abs=1e-10)
    assert markov_recursion(chain, tau, n).value == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_tail_is_between(seed: int) -> None:
    chain = random_chain(seed, 2 + seed % 2, zeros=0.2, stationary=seed % 3 > 0)
    n, g = 4, [0, 1, 3][: chain.k]
    tail = laplace_tail(chain, g, 0.9, n)
    assert tail <= laplace_leakage(chain, g, 0.9, n) + 1e-12
    assert laplace_leakage(chain, g, 0.9, n) <= markov_recursion(chain, 0.9, n).value + 1e-12


def test_the_query_matters() -> None:
    assert laplace_leakage(FLIP, [0, 1], 1.0, 6) == pytest.approx(1.0, abs=1e-3)
    assert markov_recursion(FLIP, 1.0, 6).value == pytest.approx(2.762, abs=1e-3)
    for length in (None, 5000):
        assert laplace_tail(PAIR, [0, 1], 0.5, length) == pytest.approx(1.4791192266, abs=1e-9)


@pytest.mark.parametrize(("tau", "row"), [(0.1, (0.8, 0.3)), (0.5, (0.8, 0.3)), (2.0, (0.95, 0.4))])
def test_proved_limit_encloses_the_root(tau: float, row: tuple[float, float]) -> None:
    chain = po.MarkovChain([[row[0], 1 - row[0]], [row[1], 1 - row[1]]])
    (a, b), (c, d) = ([mp.mpf(int(w)) / row.total for w in row.weights] for row in chain.exact_step(0))
    e = mp.e ** mp.mpf(tau)
    root = (d * e - a + mp.sqrt((d * e - a) ** 2 + 4 * b * e * c)) / (2 * b * e)
    ignorant = mp.mpf(tau) + 2 * mplog(root)  # knowing a far record can be worse, a little
    proved = mp.mpf(prove_markov_recursion(chain, tau))
    assert ignorant <= proved
    assert response(table(chain, 4), tau) <= proved <= markov_recursion(chain, tau).value + 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_proved_value_encloses_randomised_response(seed: int) -> None:
    chain = random_chain(seed, 2, zeros=0.3 * (seed % 2), stationary=seed % 2 == 0)
    n, tau = 2 + seed % 3, (0.3, 1.1)[seed % 2]
    exact = response(table(chain, n), tau)
    assert exact - mp.mpf("1e-15") <= mp.mpf(prove_markov_recursion(chain, tau, n)) <= exact + mp.mpf("1e-12")


@pytest.mark.parametrize("seed", few(range(12), 5))
def test_proved_value_is_just_above_the_reading(seed: int) -> None:
    s, stationary = 2 + seed % 4, seed % 3 > 0
    chain = random_chain(seed, s, zeros=0.2 * (seed % 2), stationary=stationary)
    for length in (3, 40, 400) if not stationary else (3, 400, None):
        read, proved = markov_recursion(chain, 0.7, length).value, prove_markov_recursion(chain, 0.7, length)
        assert read - 1e-12 <= proved <= read + 1e-6


def test_proof_without_a_limit() -> None:
    periodic = po.MarkovChain([[0.0, 1.0], [1.0, 0.0]])
    assert prove_markov_recursion(periodic, 0.4) == math.inf
    assert prove_markov_recursion(periodic, 0.4, 5) == pytest.approx(2.0, abs=1e-12)
    assert prove_markov_recursion(PAIR, 0.0) == 0
    assert prove_markov_recursion(PAIR, 800.0, 3) == 2400


def test_identical_and_independent_records() -> None:
    same = np.zeros((2, 2, 2))
    same[0, 0, 0] = same[1, 1, 1] = 0.5
    assert exact_small(same, 0.4).value == pytest.approx(1.2, abs=1e-7)
    assert response_leakage(same, 0.4) == pytest.approx(1.2, abs=1e-12)
    assert laplace_leakage(same, [0, 1], 0.4) == pytest.approx(1.2, abs=1e-12)
    free = np.full((2, 2, 2), 0.125)
    assert exact_small(free, 0.4).value == pytest.approx(0.4, abs=1e-12)
    assert laplace_leakage(free, [0, 1], 0.4) == pytest.approx(0.4, abs=1e-12)


def test_misuse_is_refused() -> None:
    with pytest.raises(InvalidModel, match="sum"):
        exact_small([[0.5, 0.6]], 1.0)
    with pytest.raises(InvalidProblem, match="fewer records"):
        exact_small(PAIR, 1.0, 12)
    with pytest.raises(InvalidProblem, match="length is missing"):
        response_leakage(PAIR, 1.0)
    with pytest.raises(InvalidProblem, match="integer"):
        laplace_leakage(np.full((2, 2), 0.25), [0.0, 0.5], 1.0)  # type: ignore[list-item]
    with pytest.raises(InvalidProblem, match="not all equal"):
        laplace_tail(PAIR, [1, 1], 1.0)

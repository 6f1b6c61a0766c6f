"""The recursion for Markov chains against linear programs, enumeration, invariants and published numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from instances.few import few
from oracles.bayesian_programs import random_chain, table, worst_mechanism
from scipy.optimize import linprog

import privopt as po
from privopt.errors import InvalidProblem
from privopt.measures.bayesian._recursion import CoarseStep, Recursion, ray_step
from privopt.measures.bayesian._sides import both_sides
from privopt.measures.bayesian.leakage import calibrate
from privopt.measures.bayesian.markov import markov_published, markov_recursion
from privopt.measures.bayesian.tables import response_leakage

PAIR = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
TRIPLE = po.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]])
PERIODIC = po.MarkovChain([[0.0, 1.0], [1.0, 0.0]])
ABSORBING = po.MarkovChain([[0.9, 0.1], [0.0, 1.0]], initial=[0.7, 0.3])


@pytest.mark.parametrize(
    ("tau", "leakage"), [(0.1, 0.3030678481), (0.5, 1.4791192266), (1, 2.6679041476), (2, 4.4352895982)]
)
def test_long_binary_chain(tau: float, leakage: float) -> None:
    bound = markov_recursion(PAIR, tau)
    assert bound.value == pytest.approx(leakage, abs=1e-10)
    assert bound.exact


@pytest.mark.parametrize(
    ("epsilon", "tau"), [(0.2, 0.0661684410), (1, 0.3306979598), (2, 0.7031642550), (4, 1.7280175370)]
)
def test_calibrated_level(epsilon: float, tau: float) -> None:
    largest = calibrate(lambda t: markov_recursion(PAIR, t).value, epsilon)
    assert largest == pytest.approx(tau, abs=1e-10)
    assert markov_recursion(PAIR, largest).value <= epsilon


FACTORS = {
    "activity": ([[0.882, 0.118], [0.305, 0.695]], [3.995, 2.859, 2.005, 1.801]),
    "electricity 70": ([[0.445, 0.555], [0.149, 0.851]], [2.010, 1.701, 1.415, 1.318]),
    "electricity 80": ([[0.818, 0.182], [0.371, 0.629]], [2.723, 1.986, 1.592, 1.448]),
    "electricity 90": ([[0.894, 0.106], [0.478, 0.522]], [2.758, 2.311, 1.725, 1.562]),
    "symmetric": ([[0.9, 0.1], [0.1, 0.9]], [8.653, 5.406, 3.527, 2.836]),
}


@pytest.mark.parametrize("name", FACTORS)
def test_noise_factor(name: str) -> None:
    rows, factors = FACTORS[name]
    chain = po.MarkovChain.normalised(rows)
    for epsilon, factor in zip((1, 5, 8.1, 10), factors, strict=True):
        level = calibrate(lambda t: markov_recursion(chain, t).value, epsilon)
        assert epsilon / level == pytest.approx(factor, abs=1e-3)


def test_three_states() -> None:
    assert markov_recursion(TRIPLE, 0.5).value == pytest.approx(1.3921810086, abs=1e-9)
    assert not markov_recursion(TRIPLE, 0.5).exact
    # 25 records on either side of the target; the limit is a little larger.
    assert markov_recursion(TRIPLE, 0.5, 51, step="coarse").value == pytest.approx(1.5747735691, abs=1e-10)
    assert 0 < markov_recursion(TRIPLE, 0.5, step="coarse").value - 1.5747735691 < 1e-6
    assert markov_published(TRIPLE, 0.5).value == pytest.approx(7.6670378769, abs=1e-10)


def test_side_without_knowledge() -> None:
    left, _ = both_sides(PAIR, None, Recursion(math.exp(0.5), ray_step))
    assert left.values[0, 1, 0] == pytest.approx(1.631515830101565, abs=1e-13)


def test_large_levels_leave_a_constant() -> None:
    for rows, rest in (("activity", 4.5985), ("electricity 80", 3.1131)):
        chain = po.MarkovChain.normalised(FACTORS[rows][0])
        assert markov_recursion(chain, 25).value - 25 == pytest.approx(rest, abs=1e-4)
    lazy = po.MarkovChain([[0.6, 0.4], [0.4, 0.6]])
    assert markov_recursion(lazy, 25).value - 25 == pytest.approx(0.9710, abs=1e-4)


@pytest.mark.parametrize("stay", [0.3, 0.6, 0.95])
def test_small_levels_of_a_symmetric_chain(stay: float) -> None:
    chain, memory = po.MarkovChain([[stay, 1 - stay], [1 - stay, stay]]), abs(2 * stay - 1)
    assert markov_recursion(chain, 1e-5).value / 1e-5 == pytest.approx((1 + memory) / (1 - memory), rel=1e-3)


@pytest.mark.parametrize("seed", few(range(24), 8))
def test_two_states_are_exact(seed: int) -> None:
    chain = random_chain(seed, 2, zeros=0.3 * (seed % 3), stationary=seed % 2 == 0)
    n, tau = 1 + seed % 4, (0.2, 0.9, 2.0)[seed % 3]
    assert markov_recursion(chain, tau, n).value == pytest.approx(
        worst_mechanism(table(chain, n), tau), abs=1e-6
    )


@pytest.mark.parametrize("seed", range(6))
def test_three_states_are_bounded_closely(seed: int) -> None:
    chain, tau = random_chain(seed, 3, zeros=0.2 * (seed % 3), stationary=seed % 2 == 0), (0.3, 1.2)[seed % 2]
    exact = worst_mechanism(table(chain, 3), tau)
    largest = markov_recursion(chain, tau, 3).value
    assert exact - 1e-6 <= largest <= exact + 0.12
    assert largest <= markov_recursion(chain, tau, 3, step="coarse").value + 1e-12


@pytest.mark.parametrize("seed", range(30))
def test_randomised_response_attains_it(seed: int) -> None:
    chain = random_chain(100 + seed, 2, zeros=0.3 * (seed % 3), stationary=seed % 2 == 0)
    n, tau = 1 + seed % 6, (0.1, 0.7, 1.5, 4.0)[seed % 4]
    assert markov_recursion(chain, tau, n).value == pytest.approx(response_leakage(chain, tau, n), abs=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_unequal_steps_are_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = [rng.dirichlet([0.5, 0.5], size=2) for _ in range(5)]
    steps[seed % 5] = np.array([[1.0, 0.0], [0.4, 0.6]])
    chain = po.MarkovChain.normalised(steps, [0.3, 0.7] if seed % 2 else [1.0, 0.0])
    assert markov_recursion(chain, 0.8).value == pytest.approx(response_leakage(chain, 0.8, 6), abs=1e-10)
    assert markov_recursion(chain, 0.8, 3).value == pytest.approx(response_leakage(chain, 0.8, 3), abs=1e-10)


@pytest.mark.parametrize("seed", few(range(11), 5))
def test_never_above_the_other_bounds(seed: int) -> None:
    s, n, tau = 2 + seed % 7, 1 + seed, (0.05, 0.5, 3.0)[seed % 3]
    chain = random_chain(seed, s)
    values = [markov_recursion(chain, tau, length).value for length in (n, n + 1, None)]
    assert values == sorted(values)
    assert values[0] <= n * tau
    assert values[-1] <= markov_published(chain, tau).value + 1e-12
    assert values[0] >= tau


@pytest.mark.parametrize("seed", range(6))
def test_rays_attain_the_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = 3 + seed % 4
    kernel = rng.dirichlet(np.ones(s), size=s)
    points = rng.uniform(0.1, 1.5, (s, 2))
    change = np.exp(np.abs(points[:, None] - points[None]).sum(2) + 0.3 * (1 - np.eye(s)))
    largest = ray_step(kernel[None], change[None])[0]
    rows = [np.eye(s)[u] - change[u, v] * np.eye(s)[v] for u in range(s) for v in range(s) if u != v]
    for x, other in ((0, 1), (1, 0), (s - 1, 0)):
        answer = linprog(-kernel[x], np.array(rows), np.zeros(len(rows)), kernel[other][None], [1.0])
        assert answer.fun is not None
        assert largest[x, other] == pytest.approx(-answer.fun, rel=1e-7)
    assert (CoarseStep()(kernel[None], change[None])[0] >= largest - 1e-12).all()


def test_zeros_periods_and_absorption() -> None:
    assert markov_recursion(PERIODIC, 0.4, 5).value == pytest.approx(2.0)
    assert markov_recursion(PERIODIC, 0.4).value == math.inf
    assert markov_recursion(ABSORBING, 0.4, 6).value == pytest.approx(
        response_leakage(ABSORBING, 0.4, 6), abs=1e-10
    )
    fixed = po.MarkovChain([[0.0, 1.0], [1.0, 0.0]], initial=[1, 0])
    assert markov_recursion(fixed, 0.4, 5).value == 0
    assert markov_published(PERIODIC, 0.4).value == math.inf
    far = markov_recursion(ABSORBING, 0.4, 1500).value  # the weights there are below the smallest float
    assert markov_recursion(ABSORBING, 0.4, 300).value <= far <= 1500 * 0.4


def test_independent_records_leak_the_level_alone() -> None:
    chain = po.MarkovChain([[0.3, 0.7], [0.3, 0.7]])
    assert markov_recursion(chain, 0.8).value == pytest.approx(0.8, abs=1e-12)
    assert markov_recursion(PAIR, 0.0).value == 0
    assert markov_recursion(PAIR, 0.8, 1).value == pytest.approx(0.8, abs=1e-15)


def test_misuse_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="tau"):
        markov_recursion(PAIR, -1.0)
    with pytest.raises(InvalidProblem, match="length"):
        markov_recursion(PAIR, 1.0, 0)
    with pytest.raises(InvalidProblem, match="coarse"):
        markov_recursion(random_chain(0, 8), 1.0, step="lp")
    with pytest.raises(InvalidProblem, match="epsilon"):
        calibrate(lambda t: t, 0.0)
    with pytest.raises(InvalidProblem, match="raise epsilon"):
        calibrate(lambda t: t + 1.0, 0.5)


@pytest.mark.long
def test_a_chain_that_nearly_alternates_settles() -> None:
    """In floats it sways between two states of rounding for ever; what it leaks is that of long finite streams."""
    chain = po.MarkovChain.normalised([[0.00202, 0.99798], [1.0, 0.0]])
    bound = markov_recursion(chain, 0.01)
    assert bound.value == pytest.approx(markov_recursion(chain, 0.01, 12_000).value, rel=1e-9)
    assert bound.value > markov_recursion(chain, 0.01, 100).value

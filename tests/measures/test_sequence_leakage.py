"""Leakage of whole sequences and composition, against enumeration, quadrature of the distribution, and printed values."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import privopt as po
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.measures import composition, sequence_leakage, sequence_ratios

WEATHER = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])


def response(n: int, epsilon: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return (np.ones((n, n)) + (math.exp(epsilon) - 1) * np.eye(n)) / (n - 1 + math.exp(epsilon))


def enumerated(chain: po.MarkovChain, kernels: list[np.ndarray]) -> tuple[float, float]:  # type: ignore[type-arg]
    """(upper, lower) by every pair of sequences."""
    n, m, length = chain.k, kernels[0].shape[1], len(kernels)
    data = list(itertools.product(range(n), repeat=length))
    prior = np.array(
        [
            chain.initial[x[0]]
            * math.prod(chain.step(t)[i, j] for t, (i, j) in enumerate(itertools.pairwise(x)))
            for x in data
        ]
    )
    upper, lower = 0.0, 0.0
    for y in itertools.product(range(m), repeat=length):
        likelihood = np.array([math.prod(kernels[t][x[t], y[t]] for t in range(length)) for x in data])
        total = float(prior @ likelihood)
        if total > 0:
            with np.errstate(divide="ignore"):
                told = np.log(likelihood[prior > 0] / total)
            upper, lower = max(upper, float(told.max())), min(lower, float(told.min()))
    return upper, lower


def test_randomised_response_leaks_less_than_the_sum() -> None:
    upper, lower = sequence_ratios(WEATHER, response(2, 0.7), 6)
    assert upper == pytest.approx(1.9994466869504248, rel=1e-13)
    assert sequence_leakage(WEATHER, response(2, 0.7), 6) == pytest.approx(3.068908686917074, rel=1e-13)
    assert lower == pytest.approx(-3.068908686917074, rel=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_walks_find_what_an_enumeration_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, length = 2 + seed % 2, 2 + seed // 3, 4
    steps = rng.dirichlet(np.full(n, 0.7), (length - 1, n))
    steps[steps < 0.1] = 0.0
    chain = po.MarkovChain.normalised(list(steps), rng.dirichlet(np.ones(n)))
    kernels = list(rng.dirichlet(np.ones(m), (length, n)))
    if seed == 4:
        kernels[1][0] = [1.0] + [0.0] * (m - 1)
    ratios = sequence_ratios(chain, kernels)
    assert tuple(ratios) == pytest.approx(enumerated(chain, kernels), rel=1e-9)
    assert sequence_leakage(chain, np.array(kernels)) == ratios.leakage


def test_policies_are_walked_along_their_own_beliefs() -> None:
    policy = po.SequencePolicy(WEATHER, 0.6)
    upper = lower = 0.0
    for y in itertools.product(range(2), repeat=3):
        state, kernels = policy.start(), []
        for release in y:
            kernels.append(policy.kernel(state.belief).matrix)
            state = policy.advance(state, release)
        for x in itertools.product(range(2), repeat=3):
            told = math.log(
                math.prod(k[i, j] for k, i, j in zip(kernels, x, y, strict=True))
                / _distribution(WEATHER, kernels, y)
            )
            upper, lower = max(upper, told), min(lower, told)
    assert tuple(sequence_ratios(WEATHER, policy, 3)) == pytest.approx((upper, lower), rel=1e-12)


def _distribution(chain: po.MarkovChain, kernels: list[np.ndarray], y: tuple[int, ...]) -> float:  # type: ignore[type-arg]
    belief = chain.initial * kernels[0][:, y[0]]
    for t in range(1, len(y)):
        belief = (belief @ chain.step(t - 1)) * kernels[t][:, y[t]]
    return float(belief.sum())


def test_batches_leak_the_sum_at_most_and_independent_words_exactly() -> None:
    coin = po.MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    policy = po.SequencePolicy(coin, 0.5, batch=2, rule="structure-lp")
    once = sequence_ratios(coin, policy, 2)
    twice = sequence_ratios(coin, policy, 4)
    assert twice.lower == pytest.approx(2 * once.lower, rel=1e-12)
    assert twice.upper == pytest.approx(2 * once.upper, rel=1e-12)
    dependent = po.SequencePolicy(WEATHER, 0.5, batch=2, rule="structure-lp")
    assert sequence_leakage(WEATHER, dependent, 5) <= 5 * 0.5


def test_independent_letters_are_linear_work() -> None:
    coin = po.MarkovChain([[0.3, 0.7], [0.3, 0.7]])
    one = sequence_ratios(coin, response(2, 0.7), 1)
    many = sequence_ratios(coin, response(2, 0.7), 500)
    assert many.lower == pytest.approx(500 * one.lower, rel=1e-10)
    assert many.upper == pytest.approx(500 * one.upper, rel=1e-10)


def test_a_release_that_rules_a_letter_out_leaks_without_bound() -> None:
    assert sequence_leakage(WEATHER, np.eye(2), 2) == math.inf
    assert sequence_leakage(WEATHER, np.full((2, 3), 1 / 3), 4) == pytest.approx(0, abs=1e-15)


def test_misuse_of_sequence_leakage(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidProblem, match="length"):
        sequence_leakage(WEATHER, response(2, 1.0))
    with pytest.raises(InvalidProblem, match="kernels for"):
        sequence_leakage(WEATHER, [response(2, 1.0)] * 2, 3)
    with pytest.raises(InvalidMechanism, match="rows"):
        sequence_leakage(WEATHER, response(3, 1.0), 3)
    monkeypatch.setattr("privopt.mechanisms.policy.beliefs.MAX_BELIEFS", 100)
    with pytest.raises(InvalidProblem, match="smaller length"):
        sequence_leakage(WEATHER, response(2, 1.0), 60)


def test_composition_of_the_source() -> None:
    assert composition([0.2] * 200, 1e-5) == pytest.approx(17.204400718269383, rel=1e-12)
    assert composition([0.2] * 200) == pytest.approx(40.0)


@pytest.mark.parametrize(
    ("count", "epsilon", "delta"), [(50, 0.5, 1e-6), (1000, 0.01, 0.1), (7, 2.0, 1e-3), (3, 1.0, 1e-9)]
)
def test_equal_levels_give_the_chernoff_bound(count: int, epsilon: float, delta: float) -> None:
    """The root of T KL(q, q0) = ln(1 / delta), to 50 digits."""
    with mpmath.workdps(50):
        e, q0 = mpmath.mpf(epsilon), mpmath.e ** mpmath.mpf(epsilon) / (1 + mpmath.e ** mpmath.mpf(epsilon))
        price = mpmath.log(1 / mpmath.mpf(delta)) / count
        if price >= -mpmath.log(q0):
            expected = count * e
        else:
            low, high = q0, mpmath.mpf(1)
            for _ in range(160):
                q = (low + high) / 2
                kl = q * mpmath.log(q / q0) + (1 - q) * mpmath.log((1 - q) / (1 - q0))
                low, high = (q, high) if kl < price else (low, q)
            expected = count * e * (2 * low - 1)
    assert composition([epsilon] * count, delta) == pytest.approx(float(expected), rel=1e-9)


def test_composition_holds_for_randomised_response_by_its_own_binomial_law() -> None:
    """On fair independent bits the log-ratio of a step is fixed by whether the bit was flipped."""
    from scipy.stats import binom

    count, flip = 100, 0.45
    up, down = math.log(2 * (1 - flip)), math.log(2 * flip)
    epsilon, delta = max(up, -down), 1e-3
    level = composition([epsilon] * count, delta)
    told = np.arange(count + 1) * up + np.arange(count, -1, -1) * down
    assert binom.pmf(np.arange(count + 1), count, 1 - flip)[told > level].sum() <= delta
    assert level < count * epsilon


def test_laws_of_composition() -> None:
    levels = [0.1, 0.5, 0.02, 1.5] * 20
    values = [composition(levels, d) for d in (0.0, 1e-12, 1e-6, 1e-2, 0.5, 1.0)]
    assert values == sorted(values, reverse=True)
    assert all(v <= sum(levels) * (1 + 1e-15) for v in values)
    assert composition(levels[::-1], 1e-4) == pytest.approx(composition(levels, 1e-4), rel=1e-12)
    assert composition([*levels, 0.0], 1e-4) == composition(levels, 1e-4)
    assert composition([1.0, math.inf], 0.1) == math.inf
    assert composition([], 0.1) == 0.0
    for wrong in ([-1.0], [math.nan], [[1.0]], ["x"]):
        with pytest.raises(InvalidProblem, match="epsilons"):
            composition(wrong, 0.1)  # type: ignore[arg-type]
    for delta in (-0.1, 1.5, math.nan):
        with pytest.raises(InvalidProblem, match="delta"):
            composition([1.0], delta)

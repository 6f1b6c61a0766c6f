"""The implicit kernel: its columns, samples and posteriors against the channel written out, for one user and many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from instances.beliefs import random_belief

from privopt.mechanisms.policy.hamming import HammingKernel, release_many


@pytest.mark.parametrize("seed", range(60))
def test_the_channel_keeps_the_budget_and_columns_are_its_ratios(seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief, epsilon = random_belief(rng), float(rng.choice([0.0, 0.1, 1.0, 3.0]))
    kernel = HammingKernel(belief, epsilon)
    matrix = kernel.matrix()
    marginal, seen = belief @ matrix, belief > 0
    assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    assert kernel.marginal == pytest.approx(marginal, abs=1e-14)
    assert kernel.error == pytest.approx(1 - (belief * np.diag(matrix)).sum(), abs=1e-14)
    for y in np.flatnonzero(marginal > 1e-200):
        ratios = matrix[seen, y] / marginal[y]
        assert np.abs(np.log(ratios)).max() <= epsilon + 1e-13
        assert kernel.ratio(int(y))[seen] == pytest.approx(ratios, rel=1e-12)
        after = belief * matrix[:, y] / marginal[y]
        assert kernel.posterior(int(y)) == pytest.approx(after, abs=1e-13)


CASES = [
    ("dump", [0.45, 0.35, 0.2], 0.4),
    ("share", [0.3, 0.25, 0.2, 0.15, 0.1], 1.0),
    ("tail", [0.1] * 10, 1.0),
    ("steal", [0.7, 0.2, 0.1], 0.8),
]


@pytest.mark.parametrize(("case", "belief", "epsilon"), CASES)
def test_samples_follow_the_channel(case: str, belief: list[float], epsilon: float) -> None:
    kernel, rng, n = HammingKernel(belief, epsilon), np.random.default_rng(1), len(belief)
    assert kernel.case == case
    matrix, runs = kernel.matrix(), 4000
    for letter in range(n):
        seen = np.bincount([kernel.sample(letter, rng) for _ in range(runs)], minlength=n)
        assert np.abs(seen / runs - matrix[letter]).max() <= 5 * math.sqrt(0.25 / runs)
    many = np.tile(belief, (40_000, 1))
    for letter in range(n):
        released, after = release_many(many, epsilon, np.full(len(many), letter), rng)
        seen = np.bincount(released, minlength=n)
        assert np.abs(seen / len(many) - matrix[letter]).max() <= 5 * math.sqrt(0.25 / len(many))
        for y in np.unique(released):
            first = int(np.argmax(released == y))
            assert after[first] == pytest.approx(kernel.posterior(int(y)), abs=1e-14)


def test_users_do_not_mix() -> None:
    rng = np.random.default_rng(4)
    beliefs = rng.dirichlet(np.ones(6), 500)
    beliefs[rng.random(beliefs.shape) < 0.2] = 0.0
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    letters = (beliefs > 0).argmax(axis=1)
    released, after = release_many(beliefs, 1.2, letters, rng)
    for user in range(0, 500, 25):
        kernel = HammingKernel(beliefs[user], 1.2)
        assert after[user] == pytest.approx(kernel.posterior(int(released[user])), abs=1e-14)


def test_a_letter_that_was_thought_impossible_says_nothing() -> None:
    beliefs = np.tile([0.6, 0.4, 0.0], (30_000, 1))
    rng = np.random.default_rng(2)
    released, _ = release_many(beliefs, 1.0, np.full(len(beliefs), 2), rng)
    marginal = HammingKernel(beliefs[0], 1.0).marginal
    assert np.bincount(released, minlength=3) / len(beliefs) == pytest.approx(marginal, abs=0.015)


def test_beliefs_follow_a_hidden_chain() -> None:
    """The long-run error on a symmetric chain lies between randomised response at twice the budget and at the budget."""
    rng = np.random.default_rng(0)
    stay, users, epsilon = 0.9, 4000, 1.0
    step = np.array([[stay, 1 - stay], [1 - stay, stay]])
    beliefs, letters = np.full((users, 2), 0.5), rng.integers(0, 2, users)
    wrong, calibration = [], []
    for _ in range(50):
        released, after = release_many(beliefs, epsilon, letters, rng)
        wrong.append(np.mean(released != letters))
        calibration.append(np.mean(after[np.arange(users), letters] - (after**2).sum(axis=1)))
        beliefs = after @ step
        letters = np.where(rng.random(users) < 1 - stay, 1 - letters, letters)
    error = float(np.mean(wrong[20:]))
    assert 1 / (math.exp(2) + 1) + 0.02 < error < 1 / (math.e + 1) - 0.05
    assert 0.155 < error < 0.178
    assert abs(np.mean(calibration)) < 5e-3

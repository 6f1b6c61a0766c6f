"""Looking ahead: better than one release at a time where letters are rare, near the bound, enforced and certified as any."""

from __future__ import annotations

import numpy as np
import pytest

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.mechanisms.policy.formulas.look_ahead import LookAheadRule
from privopt.mechanisms.policy.setting import Setting
from privopt.solvers.sequence.look_ahead import LookAhead

RARE = po.MarkovChain([[0.9, 0.1], [0.01, 0.99]])


@pytest.mark.parametrize(
    ("rows", "epsilon", "horizon", "gain"),
    [
        ([[0.82, 0.18], [0.181, 0.819]], 1.0, 5, 0.0),
        ([[0.9, 0.1], [0.01, 0.99]], 1.0, 9, 0.03),
        ([[0.99, 0.01], [0.2, 0.8]], 2.0, 8, 0.1),
        ([[0.9, 0.1], [0.2, 0.8]], 0.5, 6, 0.01),
    ],
)
def test_it_gains_on_single_releases_and_is_near_its_bound(
    rows: list[list[float]], epsilon: float, horizon: int, gain: float
) -> None:
    problem = Ask(po.MarkovChain(rows), epsilon, horizon=horizon)
    told = po.solve(problem, "look-ahead", time_limit=60)
    alone = problem.evaluate(problem.answer("closed-form"))
    assert told.certified
    assert told.gap is not None
    assert told.objective is not None
    assert -told.objective <= -alone.utility * (1 - gain) + 1e-12
    assert 0 <= told.gap <= 0.01 * abs(told.objective)


def test_two_releases_are_the_best_of_a_grid() -> None:
    """All first kernels of a grid, each followed by the closed form, which is the best last release."""
    chain, epsilon = po.MarkovChain([[0.85, 0.15], [0.05, 0.95]], [0.2, 0.8]), 1.2
    problem = Ask(chain, epsilon, horizon=2)
    told = po.solve(problem, "look-ahead", time_limit=60)
    b = np.array(chain.initial)
    best = np.inf
    for first in np.linspace(0, 1, 81):
        for second in np.linspace(0, 1, 81):
            kernel = np.array([[1 - first, first], [second, 1 - second]])
            out = b @ kernel
            if (kernel > out * np.exp(epsilon)).any() or (kernel < out * np.exp(-epsilon)).any():
                continue
            cost = float(b @ (kernel * (1 - np.eye(2))).sum(axis=1))
            for y in np.flatnonzero(out > 0):
                after = b * kernel[:, y] / out[y] @ np.array(chain.step(0))
                cost += float(out[y]) * error(after, epsilon)
            best = min(best, cost / 2)
    assert told.objective is not None
    assert -told.objective <= best + 1e-7
    assert -told.objective >= best - 5e-3


def error(belief: np.ndarray, epsilon: float) -> float:
    """The least error of one release of two letters, case by case."""
    low, small = np.exp(-epsilon), float(min(belief))
    theta = low / (1 + low)
    if small >= theta:
        return float(2 * low * small * (1 - small))
    if small <= low / 2:
        return small
    return float((2 * low - 1 + (1 - low) * (1 - small)) / (1 + low))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_kernels_keep_the_budget_before_they_are_enforced(epsilon: float) -> None:
    setting = Setting(RARE, 1, epsilon, "hamming")
    beliefs = np.linspace(0.001, 0.999, 97)
    pairs = np.stack([1 - beliefs, beliefs], axis=1)
    kernels = LookAheadRule().propose(setting, pairs)
    assert np.abs(kernels.sum(axis=2) - 1).max() < 1e-12
    out = (pairs[:, :, None] * kernels).sum(axis=1, keepdims=True)
    assert (kernels <= out * np.exp(epsilon) * (1 + 1e-6) + 1e-12).all()
    assert (kernels >= out * np.exp(-epsilon) * (1 - 1e-6) - 1e-12).all()


def test_a_kernel_is_the_same_alone_and_among_others() -> None:
    setting = Setting(RARE, 1, 1.0, "hamming")
    beliefs = np.random.default_rng(0).dirichlet([1, 1], 50)
    together = LookAheadRule().propose(setting, beliefs)
    assert all(
        (LookAheadRule().propose(setting, row[None])[0] == kernel).all()
        for row, kernel in zip(beliefs, together, strict=True)
    )


def test_all_and_nothing() -> None:
    beliefs = np.array([[0.3, 0.7], [0.6, 0.4]])
    everything = LookAheadRule().propose(Setting(RARE, 1, np.inf, "hamming"), beliefs)
    nothing = LookAheadRule().propose(Setting(RARE, 1, 0.0, "hamming"), beliefs)
    assert everything.tolist() == [np.eye(2).tolist()] * 2
    assert nothing[:, :, 1].tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_it_refuses_words_in_one_sentence() -> None:
    assert "words" in str(LookAhead().refuse(Ask(RARE, 1.0, batch=2, horizon=4)))


def test_a_policy_is_read_back_and_releases() -> None:
    policy = po.solve(Ask(RARE, 1.0, horizon=4), "look-ahead", time_limit=60).mechanism
    again = po.SequencePolicy.from_dict(policy.to_dict())
    assert again == policy
    assert again.kernel(RARE.initial).matrix.tolist() == policy.kernel(RARE.initial).matrix.tolist()
    assert len(list(again.release(iter([1, 1, 0, 1])))) == 4

"""The rule "messages": within the budget, at the cost of the closed form, and better later."""

from __future__ import annotations

import math

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Floats
from privopt.errors import InvalidMechanism
from privopt.mechanisms.policy.formulas.closed import HammingRule
from privopt.mechanisms.policy.formulas.messages import MessagesRule
from privopt.mechanisms.policy.setting import Setting

BUDGETS = 0.0, 1e-3, 0.3, 1.0, 3.0, 20.0, math.inf


def settings(letters: int, messages: int, epsilon: float) -> tuple[Setting, Setting]:
    """With so many messages for each letter, and with one."""
    chain = po.MarkovChain.normalised(np.ones((letters, letters)))
    cost = tuple(tuple(row * messages) for row in (1 - np.eye(letters)).tolist())
    return Setting(chain, 1, epsilon, cost), Setting(chain, 1, epsilon, "hamming")


def some_beliefs(letters: int, seed: int) -> Floats:
    """Even and uneven ones, with and without zeros."""
    rng = np.random.default_rng(seed)
    beliefs = np.concatenate([rng.dirichlet(np.full(letters, a), 20) for a in (0.2, 1.0, 10.0)])
    beliefs[::7, 0] = 0.0
    return np.asarray(beliefs / beliefs.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize(("letters", "messages"), [(2, 2), (3, 2), (3, 5), (6, 3)])
def test_messages_together_are_the_closed_form_and_each_keeps_the_budget(
    letters: int, messages: int, epsilon: float
) -> None:
    several, one = settings(letters, messages, epsilon)
    beliefs = some_beliefs(letters, letters)
    kernels = MessagesRule().propose(several, beliefs)
    assert kernels.min() >= 0
    assert kernels.sum(axis=2) == pytest.approx(1.0)
    together = kernels.reshape(len(beliefs), letters, messages, letters).sum(axis=2)
    possible = np.repeat(beliefs[:, :, None] > 0, letters, axis=2)
    plain = HammingRule().propose(one, beliefs)
    assert together[possible] == pytest.approx(plain[possible], abs=1e-9)
    marginal = np.einsum("ki,kij->kj", beliefs, kernels)
    for belief, kernel, chances in zip(beliefs, kernels, marginal, strict=True):
        for y in np.flatnonzero(chances > 1e-9):
            ratios = kernel[belief > 0, y] / chances[y]
            assert ratios.max() <= math.exp(min(epsilon, 700)) * (1 + 1e-9)
            assert ratios.min() >= math.exp(-epsilon) * (1 - 1e-9) - 1e-16
            posterior = belief * kernel[:, y] / chances[y]
            assert posterior[y % letters] >= posterior.max() - 1e-9


def test_what_can_be_divided_is() -> None:
    """Rare letters share a release: at 1 nat, and a belief in which one letter is nearly sure, there are posteriors apart."""
    several, _ = settings(3, 2, 1.0)
    kernel = MessagesRule().propose(several, np.array([[0.05, 0.15, 0.8]]))[0]
    chances = np.array([0.05, 0.15, 0.8]) @ kernel
    assert (chances > 1e-3).sum() > 1
    assert (
        HammingRule().propose(settings(3, 1, 1.0)[1], np.array([[0.05, 0.15, 0.8]]))[0][:, 2] == 1.0
    ).all()


def spread(beliefs: Floats, kernels: Floats) -> Floats:
    """The mean of the squares of posteriors, which grows as they go apart."""
    joint = beliefs[:, :, None] * kernels
    chances = joint.sum(axis=1)
    squares: Floats = (joint**2).sum(axis=1) / np.where(chances > 0, chances, 1.0)
    return np.asarray(squares.sum(axis=1))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_the_order_of_letters_does_not_matter_and_more_messages_say_more(epsilon: float) -> None:
    beliefs, order = some_beliefs(4, 1), np.array([2, 0, 3, 1])
    plain = spread(beliefs, HammingRule().propose(settings(4, 1, epsilon)[1], beliefs))
    before = plain
    for messages in (2, 3, 4):
        several, _ = settings(4, messages, epsilon)
        found = spread(beliefs, MessagesRule().propose(several, beliefs))
        turned = spread(beliefs[:, order], MessagesRule().propose(several, beliefs[:, order]))
        assert found == pytest.approx(turned, abs=1e-9)
        assert (found >= before - 1e-12).all()
        before = found
    assert (before > plain + 1e-4).any()


@pytest.mark.parametrize(
    ("cost", "batch"), [([[0.0, 1.0], [1.0, 0.0]], 2), ([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5]], 1)]
)
def test_other_distortions_and_words_are_refused(cost: list[list[float]], batch: int) -> None:
    chain = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    setting = Setting(chain, batch, 1.0, tuple(map(tuple, cost)))
    with pytest.raises(InvalidMechanism, match="knows messages for each"):
        MessagesRule().propose(setting, np.full((1, 2**batch), 0.5**batch))

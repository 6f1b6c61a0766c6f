"""The adversary of released sequences against enumeration of all sequences, and invariants of what it can know."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, InvalidModel
from privopt.measures import hmm_reidentify
from privopt.measures.sequence.hidden_words import backward, forward, letter_posteriors, read
from privopt.mechanisms.policy.rules import Setting, register_rule


@dataclass(frozen=True)
class Tilted:
    """Words in proportion to the distribution and to e^(-3 cost): private only after the policy's repair."""

    name: str = "tilted-for-tests"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        weight = (beliefs @ np.exp(-setting.cost))[:, None, :] * np.exp(-3 * setting.cost)
        return np.asarray(weight / weight.sum(axis=2, keepdims=True))


register_rule(Tilted())


def chain_of(seed: int, n: int, order: int) -> po.MarkovChain:
    """A chain of n letters; of order 2 fitted to data, with one matrix a step or start and zeros where seeds say so."""
    rng = np.random.default_rng(seed)
    if order == 2:
        return po.MarkovChain.fit([rng.integers(0, n, 60).tolist()], order=2, smoothing=0.5)
    steps = rng.random((6, n, n)) + 0.05
    if seed % 2:
        steps[:, 0, 1] = 0.0
    return po.MarkovChain.normalised(list(steps) if seed % 3 == 0 else steps[0], rng.random(n) + 0.05)


def enumerate_posterior(
    policy: po.SequencePolicy, released: Sequence[object]
) -> tuple[Floats, Floats, dict[tuple[int, ...], float]]:
    """Filtered and smoothed distributions of letters, and the joint weight of each state sequence, by listing all of them."""
    chain, n = policy.chain, len(policy.letters)
    last = [s[-1] if isinstance(s, tuple) else s for s in chain.states]
    total = len(released)
    weights = dict.fromkeys(itertools.product(range(chain.k), repeat=total), 1.0)
    for states in weights:
        weights[states] = float(chain.initial[states[0]])
        for t in range(total - 1):
            weights[states] *= float(chain.step(t)[states[t], states[t + 1]])
    state, filtered = policy.start(), np.zeros((total, n))
    for begin in range(0, total, policy.batch):
        end = min(begin + policy.batch, total)
        part = policy.part(end - begin)
        kernel = part.weights(np.array([state.belief]), begin)[0] / 2.0**52
        single = end - begin == 1
        word = released[begin] if single else tuple(released[begin:end])
        column = dict(zip(part.setting.inputs, kernel[:, part.setting.outputs.index(word)], strict=True))
        for states in weights:
            own = tuple(last[s] for s in states[begin:end])
            weights[states] *= float(column.get(own[0] if single else own, 0.0))
        for states, weight in weights.items():
            for t in range(begin, end):
                filtered[t, policy.letters.index(last[states[t]])] += weight
        state = policy.advance(state, (word,) if single and policy.batch > 1 else word)
    smoothed = np.zeros((total, n))
    for states, weight in weights.items():
        for t in range(total):
            smoothed[t, policy.letters.index(last[states[t]])] += weight
    return (
        filtered / filtered.sum(axis=1, keepdims=True),
        smoothed / smoothed.sum(axis=1, keepdims=True),
        weights,
    )


@pytest.mark.parametrize(
    ("seed", "n", "order", "batch", "length"),
    [
        (1, 3, 1, 1, 5),
        (2, 2, 1, 1, 5),
        (3, 3, 1, 1, 4),
        (4, 2, 2, 1, 5),
        (5, 2, 1, 2, 5),
        (6, 2, 1, 2, 4),
        (7, 2, 2, 2, 5),
        (8, 2, 1, 3, 5),
    ],
)
def test_posteriors_are_those_of_enumeration(seed: int, n: int, order: int, batch: int, length: int) -> None:
    policy = po.SequencePolicy(chain_of(seed, n, order), 0.8, batch, rule=Tilted.name)
    rng = np.random.default_rng(seed)
    truth = drawn(policy.chain, length, rng)
    released = list(policy.release(truth, rng))
    attack = po.adversary(policy, released, truth)
    filtered, smoothed, weights = enumerate_posterior(policy, released)
    assert np.abs(attack.filtered - filtered).max() < 1e-12
    assert np.abs(attack.smoothed - smoothed).max() < 1e-12
    assert attack.guess == tuple(attack.letters[i] for i in smoothed.argmax(axis=1))
    last = [s[-1] if isinstance(s, tuple) else s for s in policy.chain.states]
    same = [w for states, w in weights.items() if tuple(last[s] for s in states) == attack.path]
    assert max(same) == pytest.approx(max(weights.values()), rel=1e-12)
    assert attack.accuracy == np.mean([g == t for g, t in zip(attack.guess, truth, strict=True)])


def drawn(chain: po.MarkovChain, length: int, rng: np.random.Generator) -> list[object]:
    """Letters of a simulated sequence."""
    letters, distribution = [], chain.initial
    for t in range(length):
        state = int(rng.choice(chain.k, p=distribution / distribution.sum()))
        name = chain.states[state]
        letters.append(name[-1] if isinstance(name, tuple) else name)
        distribution = chain.step(t)[state] if t + 1 < length else distribution
    return letters


@pytest.mark.parametrize("epsilon", [0.3, 0.7])
def test_no_posterior_moves_by_more_than_the_leakages_add_up_to(epsilon: float) -> None:
    policy = po.SequencePolicy(chain_of(2, 2, 1), epsilon)
    for released in itertools.product(range(2), repeat=4):
        try:
            attack = po.adversary(policy, released)
        except InvalidMechanism:  # this sequence is never released
            continue
        odds = np.log(attack.smoothed / attack.prior)
        assert np.abs(odds).max() <= 4 * epsilon + 1e-12
        assert np.abs(np.log(attack.filtered[0] / attack.prior[0])).max() <= epsilon + 1e-12
        assert attack.expected_accuracy <= math.exp(4 * epsilon) * attack.expected_prior_accuracy + 1e-12


def expected_accuracy(chain: po.MarkovChain, channel: po.Channel, length: int) -> float:
    """Share of letters that the best guess gets right, over all sequences of releases, weighted with their distributions."""
    accuracy = 0.0
    for released in itertools.product(channel.outputs, repeat=length):
        seen = read(channel, released)
        blocks = list(forward(chain, seen.releases, seen.letters))
        distributions = letter_posteriors(blocks, backward(chain, blocks), len(seen.letters))
        accuracy += math.exp(sum(b.log_likelihood for b in blocks)) * float(distributions.max(axis=1).mean())
    return accuracy


@pytest.mark.parametrize("seed", range(3))
def test_processing_releases_helps_no_adversary_and_releases_hurt_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = po.MarkovChain.normalised(rng.random((3, 3)) + 0.05)
    table, processing = rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(2), 3)
    full = expected_accuracy(chain, po.Channel(table), 4)
    coarse = expected_accuracy(chain, po.Channel(table @ processing), 4)
    silent = expected_accuracy(chain, po.Channel(np.ones((3, 1))), 4)
    assert silent <= coarse + 1e-12
    assert coarse <= full + 1e-12
    assert silent == pytest.approx(float(chain.initial.max()), rel=1e-12)


@pytest.mark.long
def test_guesses_are_right_as_often_as_posteriors_say() -> None:
    chain = po.MarkovChain([[0.7, 0.3], [0.4, 0.6]])
    policy, rng = po.SequencePolicy(chain, 0.9), np.random.default_rng(0)
    right, said = [], []
    for _ in range(150):
        truth = drawn(chain, 12, rng)
        attack = po.adversary(policy, policy.release(truth, rng), truth)
        right.append(attack.accuracy)
        said.append(attack.expected_accuracy)
    spread = float(np.std(np.subtract(right, said))) / math.sqrt(len(right))
    assert abs(np.mean(right) - np.mean(said)) < 4 * spread
    assert np.mean(said) > chain.initial.max()


def test_users_are_told_apart_as_bayes_rule_says() -> None:
    tables = {"a": [[9, 1], [2, 8]], "b": [[5, 5], [5, 5]], "c": [[1, 9], [0, 10]]}
    chains = {user: po.MarkovChain.normalised(t, initial=[1, 3]) for user, t in tables.items()}
    response = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    released, prior = (1, 0, 0, 1), {"a": 2.0, "b": 1.0, "c": 1.0}
    want = {}
    for user, table in tables.items():
        total = Fraction(0)
        for x in itertools.product(range(2), repeat=4):
            p = Fraction((1, 3)[x[0]], 4)
            for i, j in itertools.pairwise(x):
                p *= Fraction(table[i][j], sum(table[i]))
            total += p * math.prod(response[i][y] for i, y in zip(x, released, strict=True))
        want[user] = int(prior[user]) * total
    posterior = hmm_reidentify(chains, po.Channel(response), released, prior)
    for user, p in posterior.items():
        assert p == pytest.approx(float(want[user] / sum(want.values())), rel=1e-12)


def test_users_who_cannot_have_released_it_are_ruled_out() -> None:
    chain = po.MarkovChain([[0.7, 0.3], [0.4, 0.6]])
    policy = po.SequencePolicy(chain, 5.0, enforced=True)
    only = po.MarkovChain([[1, 0], [1, 0]], initial=[1, 0])
    identity = po.Channel(np.eye(2))
    posterior = hmm_reidentify({"only": only, "free": chain}, {"only": identity, "free": policy}, [0, 1])
    assert posterior == {"only": 0.0, "free": 1.0}
    with pytest.raises(InvalidMechanism, match="no user"):
        hmm_reidentify({"only": only}, identity, [0, 1])
    with pytest.raises(InvalidMechanism, match="no policy"):
        hmm_reidentify({"only": only}, {}, [0, 1])


def test_misuse_is_told() -> None:
    chain = po.MarkovChain([[0.7, 0.3], [0.4, 0.6]])
    policy = po.SequencePolicy(chain, 0.5)
    with pytest.raises(InvalidMechanism, match="release 1, 2"):
        po.adversary(policy, [0, 2])
    with pytest.raises(InvalidMechanism, match="the truth has 1 letters"):
        po.adversary(policy, [0, 1], truth=[0])
    with pytest.raises(InvalidMechanism, match="nothing was released"):
        po.adversary(policy, [])
    other = po.MarkovChain([[0.7, 0.3], [0.4, 0.6]], states=["a", "b"])
    with pytest.raises(InvalidModel, match="'a'"):
        hmm_reidentify({"u": other}, policy, [0])

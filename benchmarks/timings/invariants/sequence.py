"""Invariants of sequence release on random instances; what is reported is how often each was violated.

Source of the setting: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy".
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privopt.benchmarks.papers.sequences import (
    enumerate_releases,
    in_words,
    optimum_at_once,
    random_chain,
    random_kernels,
    walk,
)
from privopt.benchmarks.timings.measurement import Check, register_invariants
from privopt.core.solver import Budget
from privopt.mechanisms.policy.formulas.words import solve_words
from privopt.mechanisms.policy.hamming import HammingKernel
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import MarkovChain
from privopt.problems.sequence_information_privacy.bound import sequence_bound
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence.prices import revealed_prices

NOISE = 1e-9
"""What rounding may explain, in nats or in distortion."""


def _policy(rng: np.random.Generator) -> SequencePolicy:
    start, transition = random_chain(rng, int(rng.integers(2, 5)))
    return SequencePolicy(MarkovChain.normalised(transition, initial=start), float(rng.uniform(0.1, 3)))


def _adds_up(rng: np.random.Generator) -> bool:
    enumerated = enumerate_releases(*random_chain(rng, 2), random_kernels(rng), 4)
    return enumerated.sequence_leakage <= sum(enumerated.leakage) + NOISE


def _integers_keep(rng: np.random.Generator) -> bool:
    policy = _policy(rng)
    belief = policy.chain.initial
    weights, total = policy.kernels(belief[None, :])
    exact = [Fraction(float(b)) for b in belief]
    mass = sum(exact)
    for y in range(weights.shape[2]):
        column = [Fraction(int(w), total) for w in weights[0, :, y]]
        distribution = sum((b * a for b, a in zip(exact, column, strict=True)), Fraction(0)) / mass
        ratios = [
            float(a / distribution) for a, b in zip(column, exact, strict=True) if b > 0 and distribution > 0
        ]
        if any(r <= 0 or abs(math.log(r)) > policy.epsilon for r in ratios):
            return False
    return True


def _judge_agrees(rng: np.random.Generator) -> bool:
    policy = _policy(rng)
    horizon = int(rng.integers(1, 5))
    reading = SequenceInformationPrivacy(policy.chain, policy.epsilon, horizon=horizon).evaluate(policy)
    again = walk(
        policy.chain.initial,
        policy.chain.transition,
        lambda beliefs: policy.kernels(beliefs)[0] / 2.0**52,
        1.0 - np.eye(policy.chain.k),
        horizon,
    )
    return abs(again.cost + reading.utility) <= NOISE and abs(again.worst - reading.leakage) <= NOISE


def _cheaper_with_budget(rng: np.random.Generator) -> bool:
    belief, epsilon = rng.dirichlet(np.ones(int(rng.integers(2, 20)))), float(rng.uniform(0, 3))
    return HammingKernel(belief, epsilon + 0.1).error <= HammingKernel(belief, epsilon).error + 1e-12


def _batch_never_worse(rng: np.random.Generator) -> bool:
    start, transition = random_chain(rng, 2)
    epsilon = float(rng.uniform(0.2, 2))
    words = in_words(start, transition, 2, 1.0 - np.eye(2))
    answer = solve_words(words.initial, words.cost, 2 * epsilon, 10.0)
    single = walk(start, transition, lambda b: optimum_at_once(b, epsilon), 1.0 - np.eye(2), 2)
    return answer is not None and answer.bound - NOISE <= answer.value <= single.cost + NOISE


def _below_the_bound(rng: np.random.Generator) -> bool:
    """The bound with the state before revealed, alone, on a few letters of chains with some impossible transitions."""
    k, epsilon, horizon = int(rng.integers(2, 5)), float(rng.uniform(0.1, 3)), int(rng.integers(2, 6))
    start, transition = random_chain(rng, k)
    transition = transition * (rng.random((k, k)) < 0.8) + 1e-3 * np.eye(k)
    chain = MarkovChain.normalised(transition, initial=start)
    problem = SequenceInformationPrivacy(chain, epsilon, horizon=horizon)
    bound = sequence_bound(problem, [np.zeros(k)], revealed_prices(problem, Budget()))
    best = walk(
        chain.initial, chain.transition, lambda b: optimum_at_once(b, epsilon), 1.0 - np.eye(k), horizon
    )
    return bound is not None and -best.cost <= bound + NOISE


def _readers_follow(rng: np.random.Generator) -> bool:
    policy, state = _policy(rng), None
    mine = theirs = policy.start()
    for _ in range(4):
        state = int(rng.integers(policy.chain.k))
        release, mine = policy.step(mine, policy.letters[state], rng)
        theirs = policy.advance(theirs, release)
    return mine == theirs


INVARIANTS: dict[str, Check] = {
    "leakage of a sequence is at most the sum of its steps": _adds_up,
    "integer kernels keep the budget in exact arithmetic": _integers_keep,
    "the judge and an independent walk read the same": _judge_agrees,
    "more budget never costs more": _cheaper_with_budget,
    "a batch never costs more than its letters": _batch_never_worse,
    "no release costs less than with the state before revealed": _below_the_bound,
    "who reads the releases knows the state": _readers_follow,
}

register_invariants(
    "sequence-laws",
    "Sequence release: invariants on random instances, violations counted",
    INVARIANTS,
    few=5,
    many=300,
)

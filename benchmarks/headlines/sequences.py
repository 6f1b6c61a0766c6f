"""Headlines of sequences."""

from __future__ import annotations

import math
import time

import numpy as np

from privopt._dispatch import solve
from privopt._text import number
from privopt.benchmarks._headlines import Headline, register_headline
from privopt.measures import composition
from privopt.mechanisms import SequencePolicy
from privopt.models import MarkovChain
from privopt.problems.sequence_information_privacy import SequenceInformationPrivacy

_STICKY = MarkovChain([[0.9, 0.1], [0.1, 0.9]], initial=[0.9, 0.1])


def _error(batch: int) -> float:
    found = solve(SequenceInformationPrivacy(_STICKY, 1.0, batch=batch, horizon=3))
    if found.utility is None or not found.certified:
        raise ValueError(f"batch {batch}: {found.status.name}, {found.reason}")
    return -found.utility


@register_headline("sequence")
def sequence() -> Headline:
    """Errors a letter on a chain that stays with probability 0.9."""
    problem = SequenceInformationPrivacy(_STICKY, 1.0, horizon=3)
    response = solve(problem, "randomised-response").utility or 0.0
    return Headline(
        "sequence",
        "error a letter at 1 nat a letter, chain that stays with probability 0.9, three letters at once (certified)",
        number(_error(3), 3),
        f"{number(_error(1), 3)} letter by letter, {number(-response, 3)} randomised response",
    )


@register_headline("sequence-composition")
def composed() -> Headline:
    """What 200 releases of 0.2 nats add up to, and Theorem 2 of the paper."""
    steps, epsilon, delta = 200, 0.2, 1e-5
    printed = steps * epsilon * math.expm1(epsilon) + epsilon * math.sqrt(-2 * steps * math.log(delta))
    return Headline(
        "sequence-composition",
        "what 200 releases of 0.2 nats leak together, with probability 1 - 1e-5",
        f"{number(composition([epsilon] * steps, delta), 4)} nats",
        f"{number(printed, 4)} by Theorem 2 of Jiang et al., {number(steps * epsilon, 4)} by adding",
    )


@register_headline("sequence-speed")
def speed() -> Headline:
    """Microseconds a user-step, simulated and certified."""
    chain = MarkovChain.normalised(np.random.default_rng(0).dirichlet(np.ones(10), size=10))
    policy, users = SequencePolicy(chain, 1.0), np.random.default_rng(1).integers(10, size=(20_000, 5))
    simulated, certified = (_seconds(policy, users, rng) for rng in (np.random.default_rng(2), None))
    steps = users.size * 1e-6
    return Headline(
        "sequence-speed",
        "release for many users at once, 10 letters, a user-step",
        f"{number(certified / steps, 2)} us from integers and the system's generator",
        f"{number(simulated / steps, 2)} us simulated",
        True,
    )


def _seconds(policy: SequencePolicy, users: np.ndarray, rng: np.random.Generator | None) -> float:
    policy.release(users[:100], rng)
    begun = time.perf_counter()
    policy.release(users, rng)
    return time.perf_counter() - begun

"""Random questions on local information privacy, reproducible from a generator."""

from __future__ import annotations

import math

import numpy as np

from privopt.mechanisms import Channel
from privopt.models import JointDistribution
from privopt.problems._observation import Floats
from privopt.problems.local_information_privacy import LocalInformationPrivacy


def joint(rng: np.random.Generator, largest: int = 6) -> JointDistribution:
    """Two to four secrets and 2 to ``largest`` symbols: any law, counts with zeros, or nearly independent."""
    shape = int(rng.integers(2, 5)), int(rng.integers(2, largest + 1))
    kind = int(rng.integers(3))
    if kind == 0:
        return JointDistribution.normalised(rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape))
    if kind == 1:
        counts = rng.integers(0, 6, shape)
        counts[0] += 1
        return JointDistribution.normalised(counts)
    near = np.outer(rng.dirichlet(np.ones(shape[0])), rng.dirichlet(np.ones(shape[1])))
    return JointDistribution.normalised(near * (1 + 0.1 * rng.random(shape)))


def budget(rng: np.random.Generator) -> float:
    """0, 1e-6, or log-uniform from there to 5 nats, mostly above 0.05."""
    kind = rng.random()
    if kind < 0.1:
        return 0.0
    if kind < 0.15:
        return 1e-6
    low = 1e-6 if kind < 0.25 else 0.05
    return float(math.exp(rng.uniform(math.log(low), math.log(5.0))))


def question(rng: np.random.Generator, *, delta: bool = False) -> LocalInformationPrivacy:
    """Both sides, one side, two levels, or LDP; with ``delta`` sometimes a probability of violations."""
    law, level, kind = joint(rng), budget(rng), int(rng.integers(6))
    allowed = float(rng.uniform(0.0, 0.1)) if delta and rng.random() < 0.3 else 0.0
    if kind == 0:
        return LocalInformationPrivacy(law, upper=level, delta=allowed)
    if kind == 1:
        return LocalInformationPrivacy(law, lower=level, delta=allowed)
    if kind == 2:
        return LocalInformationPrivacy(law, lower=level, upper=budget(rng), delta=allowed)
    if kind == 3:
        return LocalInformationPrivacy(law, epsilon=level, notion="ldp")
    return LocalInformationPrivacy(law, epsilon=level, delta=allowed)


def with_joint(problem: LocalInformationPrivacy, law: JointDistribution) -> LocalInformationPrivacy:
    """The same question about another law."""
    return LocalInformationPrivacy(
        law, lower=problem.lower, upper=problem.upper, delta=problem.delta, notion=problem.notion
    )


def stochastic(rng: np.random.Generator, inputs: int) -> Floats:
    """A random channel to 1 to 6 outputs, some entries 0."""
    found = rng.dirichlet(np.full(int(rng.integers(1, 7)), 0.7), size=inputs)
    found[rng.random(found.shape) < 0.1] = 0.0
    found[found.sum(axis=1) == 0, 0] = 1.0
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def shuffled(rng: np.random.Generator, law: JointDistribution) -> JointDistribution:
    """The same law with secrets and symbols in another order."""
    weights = np.array(law.exact.weights, dtype=object).reshape(law.table.shape)
    rows, columns = (rng.permutation(k) for k in law.table.shape)
    return JointDistribution.normalised(weights[rows][:, columns])


def processed(problem: LocalInformationPrivacy, rng: np.random.Generator) -> tuple[Channel, Channel]:
    """A random channel of the problem's symbols, and the same followed by another."""
    first = stochastic(rng, len(problem.observation.observed))
    return problem.answer(first), problem.answer(first @ stochastic(rng, first.shape[1]))

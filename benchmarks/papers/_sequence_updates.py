"""Belief updates and expected distances of the paper, recursion against enumeration.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Sections IV and V.
"""

from __future__ import annotations

import math

import numpy as np

from privopt.benchmarks.papers._sequence_items import Answer, answers, law
from privopt.benchmarks.papers.sequences import (
    cheapest,
    enumerate_releases,
    in_words,
    optimum,
    random_chain,
    random_kernels,
    walk,
)
from privopt.mechanisms._hamming_cases import Floats


def mean_distance(joint: Floats, cost: Floats, steps: int) -> float:
    """Mean over the steps of E[cost], from a joint law of whole sequences (m^T, n^T)."""
    m, n = cost.shape[1], cost.shape[0]
    total = 0.0
    for step in range(steps):
        split = joint.reshape(m**step, m, m ** (steps - step - 1), n**step, n, n ** (steps - step - 1))
        total += float((split.sum(axis=(0, 2, 3, 5)) * cost.T).sum())
    return total / steps


@answers("S-EQ12")
def belief_update(quick: bool) -> Answer:
    """The recursion for the belief against the posterior of an enumerated law."""
    rng, gap, leak = np.random.default_rng(12), 0.0, 0.0
    for _ in range(10 if quick else 100):
        start, transition = random_chain(rng, 2)
        found = enumerate_releases(start, transition, random_kernels(rng), 4)
        for before, after in zip(found.joints[:-1], found.joints[1:], strict=True):
            last = before.reshape(len(before), -1, 2).sum(axis=1)
            predicted = (last / last.sum(axis=1, keepdims=True)) @ transition
            seen = after.reshape(len(before), 2, -1, 2).sum(axis=(1, 2))
            gap = max(gap, float(np.abs(predicted - seen / seen.sum(axis=1, keepdims=True)).max()))
        pairs = zip(found.leakage, found.prefix_leakage(), strict=True)
        leak = max(leak, max(abs(a - b) for a, b in pairs))
    return Answer(
        f"beliefs within {gap:.1g}, leakage within {leak:.1g} of enumeration",
        law(gap < 1e-12 and leak < 1e-9),
        "The update is right; in (13) the kernel of step k - 1 must condition on the releases up to k - 2.",
    )


@answers("S-K3")
def one_letter(quick: bool) -> Answer:
    """Leakage about the prefix is that about the present letter."""
    rng, gap = np.random.default_rng(3), 0.0
    for _ in range(10 if quick else 100):
        found = enumerate_releases(*random_chain(rng, 2), random_kernels(rng), 5)
        pairs = zip(found.leakage, found.prefix_leakage(), strict=True)
        gap = max(gap, max(abs(a - b) for a, b in pairs))
    return Answer(
        f"prefix and present letter leak the same within {gap:.1g}",
        law(gap < 1e-9),
        "Random chains and kernels that read one letter, five steps.",
    )


@answers("S-EQ14")
def expected_distance(quick: bool) -> Answer:
    """The sum over steps against the joint law."""
    rng, gap, cost = np.random.default_rng(14), 0.0, 1.0 - np.eye(3)
    for _ in range(3 if quick else 20):
        start, transition = random_chain(rng, 3)
        kernels = optimum(float(rng.uniform(0.2, 2)))
        found = enumerate_releases(start, transition, kernels, 4)
        gap = max(
            gap,
            abs(mean_distance(found.joints[-1], cost, 4) - walk(start, transition, kernels, cost, 4).cost),
        )
    return Answer(
        f"within {gap:.1g} of enumeration",
        law(gap < 1e-12),
        "Distance of a sequence is the mean of its steps'.",
    )


@answers("S-EQ17")
def batched_distance(quick: bool) -> Answer:
    """The same for batches of two letters."""
    rng, gap, cost = np.random.default_rng(17), 0.0, 1.0 - np.eye(2)
    for _ in range(2 if quick else 10):
        words = in_words(*random_chain(rng, 2), 2, cost)
        kernels = cheapest(1.0, words.cost)
        found = enumerate_releases(words.initial, words.transition, kernels, 3)
        again = walk(words.initial, words.transition, kernels, words.cost, 3).cost
        gap = max(gap, abs(mean_distance(found.joints[-1], words.cost, 3) - again))
    return Answer(
        f"within {gap:.1g} of enumeration", law(gap < 1e-9), "A batch is a letter of the chain of words."
    )


def direct(belief: Floats, cost: Floats, epsilon: float) -> float:
    """The least expected cost by the linear programme as the paper writes it, in the variables a(y | x)."""
    from scipy.optimize import linprog

    n, m = cost.shape
    eye, below = np.eye(n * m), []
    law_of = np.array([(eye.reshape(n, m, n, m)[:, y] * belief[:, None, None]).sum(axis=0) for y in range(m)])
    for x in range(n):
        for y in range(m):
            q, a = law_of[y].ravel(), eye[x * m + y]
            below += [a - math.exp(epsilon) * q, math.exp(-epsilon) * q - a]
    sums = np.kron(np.eye(n), np.ones(m))
    objective = (belief[:, None] * cost).ravel()
    found = linprog(objective, np.array(below), np.zeros(len(below)), sums, np.ones(n), method="highs-ds")
    if found.fun is None:
        raise ArithmeticError(f"the linear programme found no optimum: {found.message}")
    return float(found.fun)


@answers("S-EQ30")
def batch_programme(quick: bool) -> Answer:
    """The programme of (30) against the one in structure form."""
    rng, gap = np.random.default_rng(30), 0.0
    for _ in range(5 if quick else 50):
        words = in_words(*random_chain(rng, 2), int(rng.integers(1, 4)), 1.0 - np.eye(2))
        epsilon = float(rng.uniform(0.3, 2))
        kernel = cheapest(epsilon, words.cost)(words.initial[None, :])[0]
        ours = float((words.initial[:, None] * kernel * words.cost).sum())
        gap = max(gap, abs(ours - direct(words.initial, words.cost, epsilon)))
    return Answer(
        f"optima within {gap:.1g} of each other",
        law(gap < 1e-6),
        "The same programme in the variables K and Q, which solves faster and more accurately.",
    )

"""Belief updates and expected distances of the paper, recursion against enumeration.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Sections IV and V.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.papers.item import Finding, Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items._sequence import listed, verdict
from privopt.benchmarks.papers.sequences import (
    cheapest,
    enumerate_releases,
    in_words,
    optimum,
    random_chain,
    random_kernels,
    randomised_response,
    walk,
)
from privopt.measures.sequence.leakage import sequence_leakage
from privopt.models import MarkovChain


def _always(kernel: Floats, beliefs: Floats) -> Floats:
    return np.tile(kernel, (len(beliefs), 1, 1))


@reproduces("S-D1")
def sequence_notion(setting: Setting) -> Reproduced:
    """Leakage of sequences by enumeration against the library's measure."""
    rng, gap = np.random.default_rng(1), 0.0
    for _ in range(5 if setting.quick else 50):
        n = int(rng.integers(2, 4))
        start, transition = random_chain(rng, n)
        kernel = rng.dirichlet(np.ones(n), n)
        enumerated = enumerate_releases(start, transition, partial(_always, kernel), 4)
        measured = sequence_leakage(MarkovChain.normalised(transition, initial=start), kernel, 4)
        gap = max(gap, abs(enumerated.sequence_leakage - measured) / measured)
    return Reproduced(
        f"enumeration and the library's walk agree within {gap:.1g}, relatively",
        verdict(gap < 1e-9),
        "“Pr(leakage > ε) ≤ δ” is read as a statement about the joint distribution of data and releases; the maximum of the definition is "
        "no random event.",
    )


@reproduces("S-D4")
def other_notions(setting: Setting) -> Reproduced:
    """One mechanism under each notion."""
    enumerated = enumerate_releases(
        np.full(2, 0.5), np.array([[0.8, 0.2], [0.3, 0.7]]), randomised_response(0.7), 1
    )
    likelihoods = enumerated.joints[0] / enumerated.joints[0].sum(axis=0)
    local = float(np.log(likelihoods.max(axis=1) / likelihoods.min(axis=1)).max())
    logs, chance = enumerated.logs()
    values = [local, enumerated.sequence_leakage, float(chance @ logs)]
    return Reproduced(
        f"randomised response at .7 on a fair bit: LDP {listed(values[:1])}, sequence information {listed(values[1:2])}, mutual information {listed(values[2:])}",
        verdict(values[0] >= values[1] >= values[2] and math.isclose(values[0], 0.7)),
        "Definitions; on one letter with a known prior the notions are ordered as shown.",
    )


def _drawing(what: str) -> Reproduced:
    return Reproduced("nothing to compute", Finding.NOT_REPRODUCIBLE, what)


@reproduces("S-F1")
def figure_1(setting: Setting) -> Reproduced:
    """A drawing."""
    return _drawing("A drawing of the two settings; only its caption is known.")


@reproduces("S-F2")
def figure_2(setting: Setting) -> Reproduced:
    """A drawing."""
    return _drawing("A drawing of conditional randomised response; only its caption is known.")


@reproduces("S-FUT")
def future(setting: Setting) -> Reproduced:
    """Plans."""
    return _drawing(
        "Plans for later work; batches of up to 4096 words are released here with a bound on what is lost."
    )


def mean_distance(joint: Floats, cost: Floats, steps: int) -> float:
    """Mean over the steps of E[cost], from a joint distribution of whole sequences (m^T, n^T)."""
    m, n = cost.shape[1], cost.shape[0]
    total = 0.0
    for step in range(steps):
        split = joint.reshape(m**step, m, m ** (steps - step - 1), n**step, n, n ** (steps - step - 1))
        total += float((split.sum(axis=(0, 2, 3, 5)) * cost.T).sum())
    return total / steps


@reproduces("S-EQ12")
def belief_update(setting: Setting) -> Reproduced:
    """The recursion for the belief against the posterior of an enumerated distribution."""
    rng, gap, leak = np.random.default_rng(12), 0.0, 0.0
    for _ in range(10 if setting.quick else 100):
        start, transition = random_chain(rng, 2)
        enumerated = enumerate_releases(start, transition, random_kernels(rng), 4)
        for before, after in zip(enumerated.joints[:-1], enumerated.joints[1:], strict=True):
            last = before.reshape(len(before), -1, 2).sum(axis=1)
            predicted = (last / last.sum(axis=1, keepdims=True)) @ transition
            seen = after.reshape(len(before), 2, -1, 2).sum(axis=(1, 2))
            gap = max(gap, float(np.abs(predicted - seen / seen.sum(axis=1, keepdims=True)).max()))
        pairs = zip(enumerated.leakage, enumerated.prefix_leakage(), strict=True)
        leak = max(leak, max(abs(a - b) for a, b in pairs))
    return Reproduced(
        f"beliefs within {gap:.1g}, leakage within {leak:.1g} of enumeration",
        verdict(gap < 1e-12 and leak < 1e-9),
        "The update is right; in (13) the kernel of step k - 1 must condition on the releases up to k - 2.",
    )


@reproduces("S-K3")
def one_letter(setting: Setting) -> Reproduced:
    """Leakage about the prefix is that about the present letter."""
    rng, gap = np.random.default_rng(3), 0.0
    for _ in range(10 if setting.quick else 100):
        enumerated = enumerate_releases(*random_chain(rng, 2), random_kernels(rng), 5)
        pairs = zip(enumerated.leakage, enumerated.prefix_leakage(), strict=True)
        gap = max(gap, max(abs(a - b) for a, b in pairs))
    return Reproduced(
        f"prefix and present letter leak the same within {gap:.1g}",
        verdict(gap < 1e-9),
        "Random chains and kernels that read one letter, five steps.",
    )


@reproduces("S-EQ14")
def expected_distance(setting: Setting) -> Reproduced:
    """The sum over steps against the joint distribution."""
    rng, gap, cost = np.random.default_rng(14), 0.0, 1.0 - np.eye(3)
    for _ in range(3 if setting.quick else 20):
        start, transition = random_chain(rng, 3)
        kernels = optimum(float(rng.uniform(0.2, 2)))
        enumerated = enumerate_releases(start, transition, kernels, 4)
        gap = max(
            gap,
            abs(
                mean_distance(enumerated.joints[-1], cost, 4) - walk(start, transition, kernels, cost, 4).cost
            ),
        )
    return Reproduced(
        f"within {gap:.1g} of enumeration",
        verdict(gap < 1e-12),
        "Distance of a sequence is the mean of its steps'.",
    )


@reproduces("S-EQ17")
def batched_distance(setting: Setting) -> Reproduced:
    """The same for batches of two letters."""
    rng, gap, cost = np.random.default_rng(17), 0.0, 1.0 - np.eye(2)
    for _ in range(2 if setting.quick else 10):
        words = in_words(*random_chain(rng, 2), 2, cost)
        kernels = cheapest(1.0, words.cost)
        enumerated = enumerate_releases(words.initial, words.transition, kernels, 3)
        again = walk(words.initial, words.transition, kernels, words.cost, 3).cost
        gap = max(gap, abs(mean_distance(enumerated.joints[-1], words.cost, 3) - again))
    return Reproduced(
        f"within {gap:.1g} of enumeration", verdict(gap < 1e-9), "A batch is a letter of the chain of words."
    )


def direct(belief: Floats, cost: Floats, epsilon: float) -> float:
    """The least expected cost by the linear program as the paper writes it, in the variables a(y | x)."""
    from scipy.optimize import linprog

    n, m = cost.shape
    eye, below = np.eye(n * m), []
    distribution_of = np.array(
        [(eye.reshape(n, m, n, m)[:, y] * belief[:, None, None]).sum(axis=0) for y in range(m)]
    )
    for x in range(n):
        for y in range(m):
            q, a = distribution_of[y].ravel(), eye[x * m + y]
            below += [a - math.exp(epsilon) * q, math.exp(-epsilon) * q - a]
    sums = np.kron(np.eye(n), np.ones(m))
    objective = (belief[:, None] * cost).ravel()
    solution = linprog(objective, np.array(below), np.zeros(len(below)), sums, np.ones(n), method="highs-ds")
    if solution.fun is None:
        raise ArithmeticError(f"the linear program found no optimum: {solution.message}")
    return float(solution.fun)


@reproduces("S-EQ30")
def batch_program(setting: Setting) -> Reproduced:
    """The program of (30) against the one in structure form."""
    rng, gap = np.random.default_rng(30), 0.0
    for _ in range(5 if setting.quick else 50):
        words = in_words(*random_chain(rng, 2), int(rng.integers(1, 4)), 1.0 - np.eye(2))
        epsilon = float(rng.uniform(0.3, 2))
        kernel = cheapest(epsilon, words.cost)(words.initial[None, :])[0]
        ours = float((words.initial[:, None] * kernel * words.cost).sum())
        gap = max(gap, abs(ours - direct(words.initial, words.cost, epsilon)))
    return Reproduced(
        f"optima within {gap:.1g} of each other",
        verdict(gap < 1e-6),
        "The same program in the variables K and Q, which solves faster and more accurately.",
    )

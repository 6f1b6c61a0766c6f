"""Theorems 1 to 3 of the paper and what it says about other notions of privacy, on small chains by enumeration.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Sections II and III.
"""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.papers.item import Finding, Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items._sequence import listed, verdict
from privopt.benchmarks.papers.sequences import (
    enumerate_releases,
    leakages,
    printed,
    random_chain,
    random_kernels,
    randomised_response,
)
from privopt.measures.sequence.composition import composition

STEPS, LEVEL, DELTA = 200, 0.2, 1e-5
"""Where the bounds of Theorem 2 are evaluated; the paper prints no numbers."""


def theorem_2(steps: int, epsilon: float, delta: float) -> float:
    """The bound for single releases as printed."""
    return steps * epsilon * math.expm1(epsilon) + math.sqrt(steps) * epsilon * math.sqrt(
        2 * math.log(1 / delta)
    )


def mean_loss(belief: Floats, kernel: Floats) -> float:
    """Mean of ln a(y | x) / Q(y): the mutual information of one step, in nats."""
    joint, used = belief[:, None] * kernel, belief[:, None] * kernel > 0
    return float((joint[used] * np.log((kernel / (belief @ kernel))[used])).sum())


def level_of(kernel: Floats) -> float:
    """Local differential privacy of a kernel."""
    return float(np.log(kernel.max(axis=0) / kernel.min(axis=0)).max())


@reproduces("S-TH1")
def theorem_1(setting: Setting) -> Reproduced:
    """Leakages add up to a bound."""
    rng, most = np.random.default_rng(1), 0.0
    for _ in range(20 if setting.quick else 200):
        n, steps = (2, int(rng.integers(2, 6))) if rng.random() < 0.7 else (3, 3)
        enumerated = enumerate_releases(*random_chain(rng, n), random_kernels(rng), steps)
        most = max(most, enumerated.sequence_leakage / sum(enumerated.leakage))
    return Reproduced(
        f"leakage of the sequence at most {listed([most])} of the sum of its steps",
        verdict(most <= 1 + 1e-9),
        "Random chains and kernels; with batches the sum has a term a batch, not a letter.",
    )


@reproduces("S-TH2a")
def single(setting: Setting) -> Reproduced:
    """Values of the bound beside sharper ones."""
    tanh = STEPS * LEVEL * math.tanh(LEVEL / 2) + LEVEL * math.sqrt(2 * STEPS * math.log(1 / DELTA))
    ours, linear = composition([LEVEL] * STEPS, DELTA), STEPS * LEVEL
    bound = theorem_2(STEPS, LEVEL, DELTA)
    weak = [theorem_2(STEPS, e, DELTA) for e in (0.5, 1.0)]
    return Reproduced(
        f"{listed([bound, tanh, ours, linear], 5)} (printed, with tanh, Chernoff, sum) at T = 200, ε = .2, δ = 1e-5",
        verdict(ours <= bound),
        f"Valid and weak: at ε = .5 and 1 it gives {listed(weak)} where the sums are 100 and 200.",
    )


@reproduces("S-TH2b")
def batched(setting: Setting) -> Reproduced:
    """The batched bound has tau where its root belongs."""
    wrong = STEPS * LEVEL * math.expm1(LEVEL) + STEPS * LEVEL * math.sqrt(2 * math.log(1 / DELTA))
    linear = STEPS * LEVEL
    return Reproduced(
        f"{listed([wrong], 5)} at τ = 200, ε = .2, δ = 1e-5, more than the sum {listed([linear])}",
        verdict(wrong <= linear),
        "The second term must have the root of τ; as printed the bound is never below the sum for δ < e^-1/2.",
    )


@reproduces("S-EQ35")
def mean_of_step(setting: Setting) -> Reproduced:
    """Mean loss of a step against both bounds."""
    rng, most = np.random.default_rng(35), 0.0
    for _ in range(200 if setting.quick else 5000):
        n, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.1, 3))
        belief = rng.dirichlet(np.ones(n))
        kernel = random_kernels(rng, epsilon)(belief[None, :])[0]
        most = max(most, mean_loss(belief, kernel) / (epsilon * math.tanh(epsilon / 2)))
    return Reproduced(
        f"at most {listed([most])} of ε tanh(ε/2), which is below ε(e^ε - 1)",
        verdict(most <= 1 + 1e-9),
        "Random beliefs and kernels; the mean is a divergence of distributions whose ratio is in [e^-ε, e^ε].",
    )


@reproduces("S-MIP")
def mutual_information(setting: Setting) -> Reproduced:
    """The same with epsilon itself."""
    rng, most = np.random.default_rng(36), 0.0
    for _ in range(200 if setting.quick else 5000):
        n, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.1, 3))
        belief = rng.dirichlet(np.ones(n))
        most = max(most, mean_loss(belief, random_kernels(rng, epsilon)(belief[None, :])[0]) / epsilon)
    return Reproduced(
        f"mutual information at most {listed([most])} of ε",
        verdict(most <= 1),
        "Random beliefs and kernels; ε tanh(ε/2) holds too.",
    )


@reproduces("S-EQ36")
def tail(setting: Setting) -> Reproduced:
    """Tail of the loss of whole sequences, by enumeration."""
    rng, most, steps, epsilon = np.random.default_rng(37), 0.0, 7, 0.5
    for _ in range(3 if setting.quick else 15):
        enumerated = enumerate_releases(*random_chain(rng, 2), random_kernels(rng, epsilon), steps)
        logs, chance = enumerated.logs()
        for delta in (0.5, 0.2, 0.05):
            sharp = steps * epsilon * math.tanh(epsilon / 2)
            sharp += epsilon * math.sqrt(2 * steps * math.log(1 / delta))
            most = max(most, float(chance[logs > sharp].sum()) / delta)
            most = max(most, float(chance[logs > composition([epsilon] * steps, delta)].sum()) / delta)
    return Reproduced(
        f"Pr(loss above the bound) at most {listed([most])} δ",
        verdict(most <= 1),
        "It holds even for the sharper bounds; in the first line leakage of the sequence is at most, not equal to, the sum.",
    )


@reproduces("S-TH3")
def theorem_3(setting: Setting) -> Reproduced:
    """Both implications."""
    rng, forth, back = np.random.default_rng(3), 0.0, 0.0
    for _ in range(100 if setting.quick else 2000):
        n, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.2, 2))
        belief = rng.dirichlet(np.ones(n))
        local = _local(rng, n, epsilon)
        sharp = math.log(belief.min() + (1 - belief.min()) * math.exp(epsilon))
        forth = max(forth, float(leakages(belief[None, :], local[None])[0]) / sharp)
        back = max(back, level_of(random_kernels(rng, epsilon)(belief[None, :])[0]) / (2 * epsilon))
    outside = np.vstack([randomised_response(1.0)(np.full((1, 2), 0.5))[0], [[1.0 - 1e-9, 1e-9]]])
    far = level_of(outside)
    return Reproduced(
        f"ε-LDP leaks at most {listed([forth])} of ln(β_min + (1 - β_min) e^ε); ε-SIP is at most {listed([back])} of 2ε-LDP",
        verdict(forth <= 1 + 1e-9 and back <= 1 + 1e-9),
        f"The second part is about letters the prior allows: a kernel may treat an impossible letter so that LDP is {listed([far])} at "
        "ε = 1, and the sequence stays private.",
    )


def _local(rng: np.random.Generator, n: int, epsilon: float) -> Floats:
    """A random kernel mixed with a constant distribution until it is LDP at most epsilon."""
    kernel, constant = rng.dirichlet(np.ones(n), n), rng.dirichlet(np.ones(n))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        inside = level_of(middle * kernel + (1 - middle) * constant) <= epsilon
        low, high = (middle, high) if inside else (low, middle)
    return np.asarray(low * kernel + (1 - low) * constant)


@reproduces("S-MIS")
def wrong_prior(setting: Setting) -> Reproduced:
    """An adversary with another prior."""
    kernel = printed(1.0)(np.full((1, 2), 0.5))[0]
    priors = np.array([[0.3, 0.7], [0.1, 0.9], [0.05, 0.95]])
    leaks = leakages(priors, np.tile(kernel, (3, 1, 1)))
    return Reproduced(
        f"{listed(leaks)} for priors (.3, .7), (.1, .9), (.05, .95); kernel for (.5, .5), ε = 1",
        verdict(bool((leaks <= 1).all())),
        f"A wrong prior can see more, never more than LDP of the kernel, here {listed([level_of(kernel)])}.",
    )


@reproduces("S-LDPC")
def local_composes(setting: Setting) -> Reproduced:
    """LDP adds up exactly; the leakage of the sequence is less."""
    start, transition = np.full(2, 0.5), np.array([[0.8, 0.2], [0.3, 0.7]])
    enumerated = enumerate_releases(start, transition, randomised_response(0.7), 6)
    likelihoods = enumerated.joints[-1] / enumerated.joints[-1].sum(axis=0)
    local = level_of(likelihoods.T)
    return Reproduced(
        f"LDP of six releases {listed([local])} = 6 × .7; leakage of the sequence {listed([enumerated.sequence_leakage], 6)}",
        verdict(abs(local - 4.2) < 1e-9),
        "So a fair comparison sets randomised response by the leakage of its sequence.",
    )


@reproduces("S-INT")
def identical(setting: Setting) -> Reproduced:
    """K releases of k identical letters."""
    levels = []
    for k in range(1, 6):
        enumerated = enumerate_releases(np.full(2, 0.5), np.eye(2), randomised_response(0.5), k)
        seen = enumerated.joints[-1][:, enumerated.joints[-1].sum(axis=0) > 0]
        levels.append(level_of((seen / seen.sum(axis=0)).T))
    return Reproduced(
        f"{listed(levels)} for k = 1 to 5 identical binary letters, ε = .5",
        Finding.MATCHES if np.allclose(levels, 0.5 * np.arange(1, 6)) else Finding.OFF,
        "Exact when all k outputs agree; less where the letters differ.",
    )

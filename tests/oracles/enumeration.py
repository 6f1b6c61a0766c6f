"""Brute force: every sequence and every output written out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

import privopt as po


def output_distributions(
    chain: po.MarkovChain, private: int, table: list[list[Fraction]]
) -> dict[int, dict[tuple[int, ...], Fraction]]:
    """Pr(output | private value), exactly; -1 stands for a redacted record."""
    n, k = len(table), chain.k
    joint: dict[int, dict[tuple[int, ...], Fraction]] = {x: {} for x in range(k)}
    for sequence in itertools.product(range(k), repeat=n):
        probability = chain.exact_initial.fraction(sequence[0])
        for t in range(n - 1):
            probability *= chain.exact_step(t)[sequence[t]].fraction(sequence[t + 1])
        if probability == 0:
            continue
        for hidden in itertools.product((False, True), repeat=n):
            weight = probability
            for t, h in enumerate(hidden):
                weight *= table[t][sequence[t]] if h else 1 - table[t][sequence[t]]
            if weight:
                output = tuple(-1 if h else v for h, v in zip(hidden, sequence, strict=True))
                shown = joint[sequence[private]]
                shown[output] = shown.get(output, Fraction(0)) + weight
    return {x: {y: w / sum(shown.values()) for y, w in shown.items()} for x, shown in joint.items() if shown}


def largest_ratio(distributions: dict[int, dict[tuple[int, ...], Fraction]]) -> Fraction | None:
    """Largest ratio of output probabilities over pairs of private values; None for infinity."""
    largest = Fraction(1)
    for a, b in itertools.permutations(distributions, 2):
        for output, weight in distributions[a].items():
            if distributions[b].get(output, Fraction(0)) == 0:
                return None
            largest = max(largest, weight / distributions[b][output])
    return largest


def leakage(chain: po.MarkovChain, private: int, probabilities: np.ndarray) -> float:
    """The leakage by enumeration, in nats."""
    ratio = largest_ratio(output_distributions(chain, private, fractions(probabilities)))
    return math.inf if ratio is None else math.log(ratio)


def fractions(probabilities: np.ndarray) -> list[list[Fraction]]:
    """Exact values of floats."""
    return [[Fraction(p) for p in row] for row in probabilities.tolist()]


def utility(chain: po.MarkovChain, probabilities: np.ndarray, weights: list[float]) -> Fraction:
    """The exact utility by propagating the exact distribution."""
    now = [chain.exact_initial.fraction(i) for i in range(chain.k)]
    kept = Fraction(0)
    for t, row in enumerate(fractions(probabilities)):
        kept += Fraction(weights[t]) * sum(now[v] * (1 - row[v]) for v in range(chain.k))
        if t + 1 < len(weights):
            step = chain.exact_step(t)
            now = [
                sum((now[i] * step[i].fraction(j) for i in range(chain.k)), Fraction(0))
                for j in range(chain.k)
            ]
    return kept / sum(Fraction(w) for w in weights)


def random_chain(rng: np.random.Generator, k: int, kind: str, length: int) -> po.MarkovChain:
    """A chain of one of three kinds: stationary, started (not stationary), or stepwise (inhomogeneous)."""

    def matrix() -> np.ndarray:
        return rng.dirichlet(np.ones(k), size=k)

    if kind == "stationary":
        return po.MarkovChain.normalised(matrix())
    if kind == "started":
        return po.MarkovChain.normalised(matrix(), initial=rng.dirichlet(np.ones(k)))
    return po.MarkovChain.normalised(
        [matrix() for _ in range(max(1, length - 1))], initial=rng.dirichlet(np.ones(k))
    )


def random_table(rng: np.random.Generator, length: int, k: int) -> np.ndarray:
    """Redaction probabilities with many zeros and ones among them."""
    table = rng.random((length, k))
    table[rng.random((length, k)) < 0.25] = 0.0
    table[rng.random((length, k)) < 0.25] = 1.0
    return table

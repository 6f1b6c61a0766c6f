"""Redaction against an adversary who knows other records: every sequence, output, set of records and values written out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

import privopt as po


def informed_leakage(chain: po.MarkovChain, private: int, probabilities: np.ndarray) -> float:
    """The largest log-ratio of Pr(output | X_p = a, known) and Pr(output | X_p = b, known), in exact rationals."""
    largest = informed_ratio(chain, private, probabilities)
    return math.inf if largest is None else math.log(largest)


def informed_ratio(chain: po.MarkovChain, private: int, probabilities: np.ndarray) -> Fraction | None:
    """The ratio itself; None for infinity."""
    n, k = probabilities.shape
    table = [[Fraction(x) for x in row] for row in probabilities.tolist()]
    probability = {}
    for x in itertools.product(range(k), repeat=n):
        weight = chain.exact_initial.fraction(x[0])
        for t in range(n - 1):
            weight *= chain.exact_step(t)[x[t]].fraction(x[t + 1])
        if weight:
            probability[x] = weight
    shown = {}
    for x, weight in probability.items():
        outputs = {(): weight}
        for t, v in enumerate(x):
            outputs = {
                (*y, seen): w * q
                for y, w in outputs.items()
                for seen, q in ((-1, table[t][v]), (v, 1 - table[t][v]))
                if q
            }
        shown[x] = outputs
    largest, others = Fraction(1), [t for t in range(n) if t != private]
    for size in range(n):
        for known in itertools.combinations(others, size):
            totals: dict[tuple[int, ...], dict[int, Fraction]] = {}
            joint: dict[tuple[int, ...], dict[int, dict[tuple[int, ...], Fraction]]] = {}
            for x, outputs in shown.items():
                told, a = tuple(x[t] for t in known), x[private]
                totals.setdefault(told, {}).setdefault(a, Fraction(0))
                totals[told][a] += probability[x]
                into = joint.setdefault(told, {}).setdefault(a, {})
                for y, w in outputs.items():
                    into[y] = into.get(y, Fraction(0)) + w
            for told, by_value in joint.items():
                for a, b in itertools.permutations(by_value, 2):
                    for y, w in by_value[a].items():
                        other = by_value[b].get(y)
                        if not other:
                            return None
                        largest = max(largest, (w / totals[told][a]) / (other / totals[told][b]))
    return largest

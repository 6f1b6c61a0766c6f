"""Bayesian leakage by the definition, in many digits: every adversary of a noisy count, and chains of two states."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

from mpmath import exp, log, mp, mpf

import privopt as po

Distribution = dict[int, Fraction]


def counts(chain: po.MarkovChain, state: object, n: int) -> Iterator[list[Distribution]]:
    """For each adversary and target: the exact distributions of the count, one a possible value of the target."""
    place = chain.states.index(state)
    words = {}
    for word in product(range(chain.k), repeat=n):
        p = chain.exact_initial.fraction(word[0])
        for t, (a, b) in enumerate(pairwise(word)):
            p *= chain.exact_step(t)[a].fraction(b)
        if p:
            words[word] = p
    for i in range(n):
        for pattern in product([None, *range(chain.k)], repeat=n):
            if pattern[i] is not None:
                continue
            rows = []
            for x in range(chain.k):
                fits = {
                    w: p
                    for w, p in words.items()
                    if w[i] == x and all(k is None or k == v for k, v in zip(pattern, w, strict=True))
                }
                if fits:
                    total, weights = sum(fits.values()), dict[int, Fraction]()
                    for w, p in fits.items():
                        weights[w.count(place)] = weights.get(w.count(place), Fraction(0)) + p / total
                    rows.append(weights)
            if len(rows) > 1:
                yield rows


@lru_cache(maxsize=512)
def noisy_count(chain: po.MarkovChain, state: object, n: int, tau: float, digits: int = 60) -> mpf:
    """The leakage of noise of level tau on the count, at outputs between the integers and beyond them too."""
    outputs = range(-2, 2 * n + 3)  # in halves
    with mp.workdps(digits):
        worst, powers = mpf(0), [exp(-mpf(tau) * d / 2) for d in range(2 * n + 4)]
        for distributions in counts(chain, state, n):
            for y in outputs:
                values = [
                    sum(mpf(p.numerator) / p.denominator * powers[abs(y - 2 * c)] for c, p in weights.items())
                    for weights in distributions
                ]
                worst = max(worst, log(max(values) / min(values)))
        return worst


def any_mechanism(chain: po.MarkovChain, n: int, tau: float, digits: int = 60) -> mpf:
    """The supremum over the mechanisms of a level, for two states and positive probabilities, each adversary by itself."""
    with mp.workdps(digits):
        step = [[mpf(r.weights[j]) / r.total for j in range(2)] for r in chain.exact_step(0)]
        first = [mpf(w) / chain.exact_initial.total for w in chain.exact_initial.weights]
        growth, best = exp(mpf(tau)), mpf(0)
        for t in range(n):
            left = _side([[row[x] for row in step] for x in range(2)], first, t, growth)
            right = _side(step, [mpf(1), mpf(1)], n - 1 - t, growth)
            best = max(
                best, *(tau + log(a[x]) + log(b[x]) for a, b in product(left, right) for x in range(2))
            )
        return best


def _side(step: Any, first: Any, depth: int, growth: Any) -> list[tuple[Any, Any]]:
    """G(1, 0) and G(0, 1) of every adversary of a side: nothing known, or the nearest known record at a distance."""
    starts = [(first, depth)]
    starts += [([step[x][z] for x in range(2)], d - 1) for d in range(1, depth + 1) for z in range(2)]
    pairs = []
    for weights, unknown in starts:
        h, up, down = weights, mpf(1), mpf(1)
        for _ in range(unknown):
            ends = (1 / (growth * down), growth * up)
            rows = [[step[x][u] * h[u] for u in range(2)] for x in range(2)]
            h = [sum(row) for row in rows]
            means = [[(rows[x][0] + rows[x][1] * f) / h[x] for x in range(2)] for f in ends]
            up, down = max(m[1] / m[0] for m in means), max(m[0] / m[1] for m in means)
        pairs.append((up, down))
    return pairs

"""The leakage of noise on the count of a short chain: every adversary, every output, from exact integer weights.

For what an adversary knows and a value of the target, the law of the count does not depend on the noise. So it is tabulated
once, as integers. With noise of level tau the density at y is proportional to sum_c P(c) e^(-tau |y - c|), for Laplace
and for discrete Laplace noise alike. Between integers the logarithm of a ratio of two such densities is monotone, and it is
constant outside 0 .. n, so its extremes are at the integers 0 .. n.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from privopt._exact import ball_ceiling
from privopt._labels import Label
from privopt.measures._bound import Bound
from privopt.models import MarkovChain
from privopt.problems._observation import Floats

if TYPE_CHECKING:
    from flint import arb

Law = tuple[int, ...]
Case = dict[int, Law]
"""For each value of the target, the weights of the counts 0 .. n."""


@lru_cache(maxsize=64)
def cases(chain: MarkovChain, state: Label, length: int) -> tuple[Case, ...]:
    """For every target and all that can be known of other records: the laws of the count, a value of the target each."""
    weights = _weights(chain, length)
    place = chain.states.index(state)
    found: dict[tuple[object, ...], dict[int, list[int]]] = {}
    for word, weight in weights.items():
        count = word.count(place)
        for i in range(length):
            others = [j for j in range(length) if j != i]
            for size in range(length):
                for known in combinations(others, size):
                    key = (i, known, tuple(word[j] for j in known))
                    laws = found.setdefault(key, {})
                    laws.setdefault(word[i], [0] * (length + 1))[count] += weight
    return tuple({x: tuple(law) for x, law in laws.items()} for laws in found.values() if len(laws) > 1)


def _weights(chain: MarkovChain, length: int) -> dict[tuple[int, ...], int]:
    """Integer weights of the sequences of positive probability, in the proportions of their exact law."""
    exact: dict[tuple[int, ...], Fraction] = {}
    rows = [chain.exact_step(t) for t in range(length - 1)]
    for word in product(range(chain.k), repeat=length):
        p = chain.exact_initial.fraction(word[0])
        for row, (a, b) in zip(rows, pairwise(word), strict=True):
            p *= row[a].fraction(b)
        if p > 0:
            exact[word] = p
    scale = math.lcm(*(p.denominator for p in exact.values()))
    return {word: p.numerator * (scale // p.denominator) for word, p in exact.items()}


@lru_cache(maxsize=64)
def _pairs(chain: MarkovChain, state: Label, length: int) -> tuple[Floats, Floats]:
    """Laws of the count for both values of every pair, in floats, shape (pairs, n + 1) each."""
    left, right = [], []
    for case in cases(chain, state, length):
        laws = [[float(Fraction(w, sum(law))) for w in law] for law in case.values()]
        for a, b in combinations(laws, 2):
            left.append(a)
            right.append(b)
    shape = (-1, length + 1)
    return np.array(left).reshape(shape), np.array(right).reshape(shape)


def enumerated(chain: MarkovChain, state: Label, length: int, tau: float) -> Bound:
    """The leakage of noise of level tau on the count of a state, in floats.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> round(enumerated(chain, 1, 5, 0.5).value, 10)
    1.2544221173
    """
    left, right = _pairs(chain, state, length)
    outputs = np.arange(length + 1.0)
    noise = np.exp(-tau * np.abs(outputs[:, None] - outputs[None, :]))
    value = float(np.abs(np.log(left @ noise) - np.log(right @ noise)).max(initial=0.0))
    return Bound(value, True, "exact-small", "targets_in_interval")


def prove_enumerated(chain: MarkovChain, state: Label, length: int, tau: float) -> float:
    """A float that is proved to be at least that leakage, in balls.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> 0 <= prove_enumerated(chain, 1, 3, 0.5) - enumerated(chain, 1, 3, 0.5).value < 1e-12
    True
    """
    from flint import arb, ctx

    saved = ctx.prec
    try:
        ctx.prec = 128
        powers = [(-arb(tau) * d).exp() for d in range(length + 1)]
        most = 1.0
        for case in cases(chain, state, length):
            tables = [[_density(law, powers, y) for y in range(length + 1)] for law in case.values()]
            for y in range(length + 1):
                values = [table[y] for table in tables]
                for a in values:
                    for b in values:
                        if not a / b <= most:
                            most = max(most, ball_ceiling(a / b))
        return ball_ceiling(arb(most).log())
    finally:
        ctx.prec = saved


def _density(law: Law, powers: list[arb], y: int) -> arb:
    """The density of the noisy count at y, up to a factor that does not depend on the law."""
    from flint import arb

    total = sum(law)
    return sum((arb(w) * powers[abs(y - c)] for c, w in enumerate(law) if w), arb(0)) / total

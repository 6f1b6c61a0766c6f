"""The leakage of noise on the count of a short chain: every adversary, every output, from exact integer weights.

For what an adversary knows and a value of the target, the distribution of the count does not depend on the noise. So it is
tabulated once, as integers. With noise of level tau the density at y is proportional to sum_c P(c) e^(-tau |y - c|), for
Laplace and for discrete Laplace noise alike. Between integers the logarithm of a ratio of two such densities is monotone, and
it is constant outside 0 .. n, so its extremes are at the integers 0 .. n. Counts that differ by what is known leak the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import MAX_BITS, ball_ceiling, ball_floor
from privopt.files.labels import Label
from privopt.measures.bayesian.tables import EXACT_SMALL
from privopt.measures.bound import Bound
from privopt.models import MarkovChain

if TYPE_CHECKING:
    from flint import arb

Weights: TypeAlias = tuple[int, ...]
Case: TypeAlias = tuple[Weights, ...]
"""For each value of the target, the weights of the counts 0, 1, 2, ..."""

_BITS = 128
_BEYOND = 1e300  # a larger level is read as this one: its exponents would be no floats, and every budget is far below
_FAR = 600.0  # e^-600 times a probability is still a float


@lru_cache(maxsize=64)
def cases(chain: MarkovChain, state: Label, length: int) -> tuple[Case, ...]:
    """For all targets and all that can be known of other records: the distributions of the count, one a value of the target.

    Each appears once, without the counts that are known, in lowest terms.
    """
    weights = _weights(chain, length)
    place = chain.states.index(state)
    table: dict[tuple[object, ...], dict[int, list[int]]] = {}
    for word, weight in weights.items():
        count = word.count(place)
        for i in range(length):
            others = [j for j in range(length) if j != i]
            for size in range(length):
                for known in combinations(others, size):
                    key = (i, known, tuple(word[j] for j in known))
                    rows = table.setdefault(key, {})
                    rows.setdefault(word[i], [0] * (length + 1))[count] += weight
    several = (rows.values() for rows in table.values() if len(rows) > 1)
    return tuple(sorted({_reduced(rows) for rows in several}))


def _reduced(rows: Iterable[list[int]]) -> Case:
    """The same distributions without common counts of weight 0 at either end, each in lowest terms, in order."""
    table = list(rows)
    used = [c for c, column in enumerate(zip(*table, strict=True)) if any(column)]
    cut = [row[used[0] : used[-1] + 1] for row in table]
    return tuple(sorted({tuple(w // math.gcd(*row) for w in row) for row in cut}))


def leaks_its_level(chain: MarkovChain, state: Label, length: int) -> bool:
    """Whether noise of every level leaks that level: someone knows all but a record that is counted for one of two values.

    Examples
    --------
    >>> swing, turn = MarkovChain([[0.2, 0.8], [0.8, 0.2]]), MarkovChain([[0, 1], [1, 0]])
    >>> leaks_its_level(swing, 1, 2), leaks_its_level(turn, 1, 2)
    (True, False)
    """
    sure = (
        {row.index(max(row)) for row in case if sum(map(bool, row)) == 1}
        for case in cases(chain, state, length)
    )
    return any(len(counts) > 1 for counts in sure)


def _weights(chain: MarkovChain, length: int) -> dict[tuple[int, ...], int]:
    """Integer weights of the sequences of positive probability, in the proportions of their exact distribution."""
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
    """Distributions of the count for both values of every pair, in floats, shape (pairs, n + 1) each."""
    left, right = [], []
    for case in cases(chain, state, length):
        rows = [_floats(row, length + 1) for row in case]
        for a, b in combinations(rows, 2):
            left.append(a)
            right.append(b)
    shape = (-1, length + 1)
    return np.array(left).reshape(shape), np.array(right).reshape(shape)


def _floats(row: Weights, width: int) -> list[float]:
    total = sum(row)
    return [float(Fraction(w, total)) for w in row] + [0.0] * (width - len(row))


def enumerated(chain: MarkovChain, state: Label, length: int, tau: float) -> Bound:
    """The leakage of noise of level tau on the count of a state, in floats; that of level 1e300 above it.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> round(enumerated(chain, 1, 5, 0.5).value, 10)
    1.2544221173
    """
    from scipy.special import logsumexp

    left, right = _pairs(chain, state, length)
    outputs = np.arange(length + 1.0)
    tau = min(tau, _BEYOND)
    exponents = -tau * np.abs(outputs[:, None] - outputs[None, :])
    if tau * length < _FAR:
        noise = np.exp(exponents)
        value = float(np.abs(np.log(left @ noise) - np.log(right @ noise)).max(initial=0.0))
    else:
        # where e^-tau is no float
        one, other = (logsumexp(exponents, b=rows[:, :, None], axis=1) for rows in (left, right))
        value = float(np.abs(one - other).max(initial=0.0))
    return Bound(value, True, EXACT_SMALL, "targets_in_interval")


@lru_cache(maxsize=256)
def enclose_enumerated(chain: MarkovChain, state: Label, length: int, tau: float) -> tuple[float, float]:
    """Floats around that leakage, proved in balls; the upper one is inf where they do not decide.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> lo, hi = enclose_enumerated(chain, 1, 5, 0.5)
    >>> abs(lo - 1.2544221173) < 1e-10, 0 <= hi - lo < 1e-15
    (True, True)
    """
    from flint import ctx

    low, high, bits = 0.0, math.inf, _BITS
    while bits <= MAX_BITS:
        with ctx.workprec(bits):
            low, high = _enclosed(cases(chain, state, length), tau)
        if high - low <= 2.0**-50 * low or high <= 2.0**-60 * min(tau, 1.0):
            break
        bits *= 2
    return low, high


def _enclosed(table: tuple[Case, ...], tau: float) -> tuple[float, float]:
    from flint import arb

    width = max((len(row) for case in table for row in case), default=0)
    powers = [(-arb(tau) * d).exp() for d in range(width)]
    largest = arb(1)
    for case in table:
        for y in range(len(case[0])):
            values = [_density(row, powers, y) for row in case]
            top, bottom = values[0], values[0]
            for value in values[1:]:
                top, bottom = top.max(value), bottom.min(value)
            largest = largest.max(top / bottom)
    logarithm = largest.log()
    if not logarithm.is_finite():
        return 0.0, math.inf
    return max(ball_floor(logarithm), 0.0) + 0.0, ball_ceiling(logarithm)


def _density(row: Weights, powers: list[arb], y: int) -> arb:
    """The density of the noisy count at y, up to a factor that does not depend on the distribution."""
    from flint import arb

    return sum((arb(w) * powers[abs(y - c)] for c, w in enumerate(row) if w), arb(0)) / sum(row)

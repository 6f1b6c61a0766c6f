"""Bayesian leakage by the definition: every adversary, every mechanism or every output, on all records at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations, product

import numpy as np

from privopt.arrays import Floats
from privopt.models import MarkovChain

Pair = tuple[Floats, Floats]


def joint(chain: MarkovChain, length: int) -> Floats:
    """The joint distribution of a chain, product by product."""
    distribution = np.zeros((chain.k,) * length)
    for word in product(range(chain.k), repeat=length):
        p = float(chain.initial[word[0]])
        for t in range(length - 1):
            p *= float(chain.step(t)[word[t], word[t + 1]])
        distribution[word] = p
    return distribution


def adversaries(distribution: Floats, most_known: int | None = None) -> Iterator[Pair]:
    """Distributions of all records given what is known and the one or the other value of a target, where both are possible."""
    n = distribution.ndim
    for target in range(n):
        others = [j for j in range(n) if j != target]
        for size in range(n if most_known is None else most_known + 1):
            for known in combinations(others, size):
                for values in product(*(range(distribution.shape[j]) for j in known)):
                    yield from _two(distribution, dict(zip(known, values, strict=True)), target)


def _two(distribution: Floats, known: dict[int, int], target: int) -> Iterator[Pair]:
    rows = []
    for value in range(distribution.shape[target]):
        where = tuple({**known, target: value}.get(j, slice(None)) for j in range(distribution.ndim))
        part = np.zeros_like(distribution)
        part[where] = distribution[where]
        if part.sum() > 0:
            rows.append(part / part.sum())
    yield from permutations(rows, 2)


def leakage(distribution: Floats, kernel: Floats) -> float:
    """Leakage of a mechanism with finitely many outputs: ``kernel[y]`` is Pr(y | x), an axis a record.

    Examples
    --------
    >>> same = np.array([[0.5, 0.0], [0.0, 0.5]])
    >>> first = np.array([[[0.75, 0.75], [0.25, 0.25]], [[0.25, 0.25], [0.75, 0.75]]])
    >>> round(float(np.exp(leakage(same, first))), 12)
    3.0
    """
    rows, worst = kernel.reshape(len(kernel), -1), 0.0
    for above, below in adversaries(distribution):
        one, other = rows @ above.ravel(), rows @ below.ravel()
        worst = max(worst, float(np.log(one / other).max()))
    return worst


def worst_mechanism(distribution: Floats, tau: float) -> float:
    """The most that a mechanism of level tau leaks: a linear program an adversary, over Pr(y | x) of one output on all records."""
    from scipy.optimize import linprog

    limits = _neighbours(distribution.shape, tau)
    worst = 0.0
    for above, below in adversaries(distribution):
        answer = linprog(
            -above.ravel(), limits, np.zeros(len(limits)), below.ravel()[None], [1.0], method="highs"
        )
        if answer.status != 0 or answer.fun is None:
            raise ArithmeticError(f"a linear program failed: {answer.message}")
        worst = max(worst, math.log(-answer.fun))
    return worst


def _neighbours(shape: tuple[int, ...], tau: float) -> Floats:
    """Rows of f(x) - e^tau f(x') <= 0 for words that differ in one record."""
    number = np.arange(math.prod(shape)).reshape(shape)
    rows = []
    for word in product(*map(range, shape)):
        for j, value in product(range(len(shape)), range(max(shape))):
            if value < shape[j] and value != word[j]:
                row = np.zeros(number.size)
                row[number[word]], row[number[(*word[:j], value, *word[j + 1 :])]] = 1.0, -math.exp(tau)
                rows.append(row)
    return np.array(rows)


def response(distribution: Floats, tau: float) -> Floats:
    """The kernel of randomised response on every record of two states."""
    keep = math.exp(tau) / (math.exp(tau) + 1)
    words = list(product(range(2), repeat=distribution.ndim))
    kernel = np.zeros((len(words), *distribution.shape))
    for y, x in product(range(len(words)), words):
        same = sum(a == b for a, b in zip(words[y], x, strict=True))
        kernel[(y, *x)] = keep**same * (1 - keep) ** (distribution.ndim - same)
    return kernel


def counted(distribution: Floats, tau: float) -> Floats:
    """Densities of the noisy count of ones at outputs that reach into both tails, as ``kernel[y]``."""
    sums = np.indices(distribution.shape).sum(axis=0)
    outputs = np.arange(-2.0, distribution.ndim + 2.01, 0.25)
    kernel: Floats = np.exp(-tau * np.abs(outputs.reshape(-1, *(1,) * distribution.ndim) - sums))
    return kernel


def coefficients(covariance: Floats) -> Iterator[Floats]:
    """For every adversary with somebody unknown, how the means of the unknown records move with the target.

    From the precision matrix, -(P_UU)^-1 P_Ui, which no other code here uses.
    """
    precision, m = np.linalg.inv(covariance), len(covariance)
    for i in range(m):
        others = [j for j in range(m) if j != i]
        for size in range(1, m):
            for unknown in combinations(others, size):
                inner = precision[np.ix_(unknown, unknown)]
                yield np.asarray(np.linalg.solve(inner, -precision[list(unknown), i]), dtype=np.float64)


def chain(rng: np.random.Generator, states: int, positive: bool = False) -> MarkovChain:
    """A stationary chain, in every third case with a zero if it need not be positive."""
    rows = rng.dirichlet(np.full(states, 0.8), size=states) + 1e-3
    if not positive and rng.random() < 1 / 3:
        rows[-1, -1] = 0.0
    return MarkovChain.normalised(rows.tolist())


def covariance(rng: np.random.Generator, m: int) -> Floats:
    """A random covariance matrix, strong or weak."""
    factors = rng.normal(size=(m, m + 1))
    full: Floats = factors @ factors.T
    return full + float(rng.choice([0.0, 1.0, 10.0])) * np.diag(np.diag(full))

"""Random instances and small functions that the items on Bayesian privacy share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from privopt.benchmarks.papers.bayesian_oracle import Floats, chain
from privopt.benchmarks.papers.item import Finding, Reproduced
from privopt.benchmarks.papers.items import _bayesian_data as data
from privopt.benchmarks.papers.verdicts import substitute
from privopt.models import MarkovChain

LP = 1e-6
"""What the tolerance of linear programmes may explain."""
SOME_BUDGETS = (0.1, 1.0, 5.0, 20.0)


def on(real: bool, found: Reproduced) -> Reproduced:
    """A verdict that needs the records: without them nothing is said of the paper."""
    if real or found.finding is Finding.NOT_REPRODUCIBLE:
        return found
    why = "The records are absent: computed on seeded records that follow the printed parameters."
    return substitute(found.ours, why, found.exhibits)


def level(rng: np.random.Generator) -> float:
    """A level of differential privacy."""
    return float(rng.uniform(0.05, 2.5))


def law(rng: np.random.Generator, records: int, zeros: bool = False) -> Floats:
    """A random joint law of binary records, with impossible words if asked."""
    weights = rng.dirichlet(np.full(2**records, 0.7))
    if zeros:
        weights = weights * (rng.random(2**records) > 0.25) + 1e-3 * (np.arange(2**records) == 0)
    found: Floats = (weights / weights.sum()).reshape((2,) * records)
    return found


def independent(rng: np.random.Generator, records: int) -> Floats:
    """A joint law of independent binary records."""
    found = np.ones(())
    for share in rng.uniform(0.05, 0.95, records):
        found = np.multiply.outer(found, np.array([1 - share, share]))
    return found


def grouped(rng: np.random.Generator, sizes: tuple[int, ...]) -> Floats:
    """Independent groups of binary records that depend on each other in any way."""
    found = np.ones(())
    for size in sizes:
        found = np.multiply.outer(found, law(rng, size))
    return found


def positive_chain(rng: np.random.Generator, states: int) -> MarkovChain:
    """A stationary chain with positive transition probabilities."""
    return chain(rng, states, positive=True)


def limited(rng: np.random.Generator, m: int) -> tuple[Floats, float]:
    """A correlation matrix, and its largest correlation rho, with rho (m - 2) < 1."""
    while True:
        rho = float(rng.uniform(0.01, min(0.95, 0.99 / max(1, m - 2))))
        signs = rng.choice([-1.0, 1.0], size=(m, m)) if rng.random() < 0.5 else np.ones((m, m))
        entries = rho * signs * (rng.random((m, m)) if rng.random() < 0.5 else 1.0)
        upper = np.triu(entries, 1)
        matrix: Floats = upper + upper.T + np.eye(m)
        if np.linalg.eigvalsh(matrix).min() > 1e-6:
            return matrix, float(np.abs(upper).max()) if m > 1 else 0.0


def threshold(m: int) -> float:
    """Equation (4).

    Examples
    --------
    >>> [round(threshold(m), 6) for m in (2, 3, 4, 5)]
    [1.0, 0.470588, 0.3, 0.219178]
    """
    return (m - 1) / (1.25 * m * m - 3 * m + 2)


def two_bits(r: int) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Table 2, a row a value of the first bit."""
    first = (Fraction(1, r**2), Fraction(1, r**3))
    second = (Fraction(r - 1, r**2), Fraction(r**3 - r**2 - 1, r**3))
    return first, second


def squared_correlation(table: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]) -> Fraction:
    """Square of the Pearson coefficient of two bits."""
    p, q = sum(table[1], Fraction()), table[0][1] + table[1][1]
    covariance = table[1][1] - p * q
    return covariance**2 / (p * (1 - p) * q * (1 - q))


def floats(table: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]) -> Floats:
    """A table of fractions as an array."""
    return np.array([[float(cell) for cell in row] for row in table])


def clipped_moment(mean: float, sd: float, clip: tuple[float, float], rate: float) -> float:
    """E[exp(rate (c(V) - high))] of a clipped Gaussian V.

    Examples
    --------
    >>> round(clipped_moment(0.0, 1.0, (-1.0, 1.0), 0.0), 12)
    1.0
    """
    from scipy.integrate import quad
    from scipy.stats import norm

    low, high = clip
    law = norm(mean, sd)
    near = [point for point in (mean - 5 * sd, mean, mean + 5 * sd) if low < point < high]
    inside = quad(
        lambda v: math.exp(rate * (v - high)) * law.pdf(v), low, high, points=near or None, limit=200
    )
    return float(inside[0] + math.exp(rate * (low - high)) * law.cdf(low) + law.sf(high))


def clipped_tail(x: float, other: float, rho: float, clip: tuple[float, float] = (40.0, 160.0)) -> float:
    """What a very large output of the clipped Laplace sum of level 1 tells about one of two records of mean 100 and sd 15."""
    rate, sd = 1 / (clip[1] - clip[0]), 15 * math.sqrt(1 - rho * rho)
    own = [min(max(value, clip[0]), clip[1]) for value in (x, other)]
    means = [100 + rho * (value - 100) for value in (x, other)]
    told = [math.log(clipped_moment(mean, sd, clip, rate)) for mean in means]
    return rate * (own[0] - own[1]) + told[0] - told[1]


def floors() -> tuple[float, ...]:
    """4 ln gamma of the printed matrices, in the order of Table 3."""
    return tuple(4 * math.log(data.raw_gamma(name)) for name in data.PRINTED)


def integer_counts(
    matrix: tuple[tuple[float, float], tuple[float, float]], total: int
) -> Iterator[tuple[int, ...]]:
    """Counts of the four transitions of a sequence that give a printed matrix of three digits."""
    (_, up), (down, _) = matrix
    for zeros in range(1, total):
        for ups in {round(zeros * up) + d for d in (-1, 0, 1)}:
            ones = total - zeros
            for downs in (ups - 1, ups, ups + 1):
                if abs(ups / zeros - up) <= 5e-4 and abs(downs / ones - down) <= 5e-4:
                    yield zeros - ups, ups, downs, ones - downs

"""Random joint laws and channels, and definitions of leakage measures written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.models import JointDistribution

Floats = NDArray[np.float64]
Law = Callable[[Floats], float]
Pairs = list[tuple[int, int]]


def channel(rng: np.random.Generator, inputs: int, outputs: int) -> Floats:
    """Rows Pr(y|x), all positive."""
    rows = rng.gamma(rng.uniform(0.3, 2), size=(inputs, outputs)) + 0.01
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def joint(rng: np.random.Generator, most: int = 5) -> Floats:
    """A positive joint law of at least two secrets and two releases."""
    shape = rng.integers(2, most, 2)
    cells = rng.gamma(rng.uniform(0.3, 2), size=shape) + 0.01
    return np.asarray(cells / cells.sum())


def order(rng: np.random.Generator) -> float:
    """An order above 1, often near it."""
    return float(1 + np.exp(rng.uniform(-3, 3)))


def events(outputs: int) -> NDArray[np.int64]:
    """Every event but the impossible and the sure one, a column each."""
    numbers = np.arange(1, 2**outputs - 1)
    return np.asarray(numbers[None, :] >> np.arange(outputs)[:, None] & 1)


def hamming(bits: int) -> Pairs:
    """Databases of bits that differ in one of them."""
    return [(a, a | 1 << i) for a in range(2**bits) for i in range(bits) if not a >> i & 1]


def everything(inputs: int) -> Pairs:
    """All pairs."""
    return [(a, b) for a in range(inputs) for b in range(a)]


def level_by_events(rows: Floats, pairs: Pairs) -> float:
    """The differential privacy level by its definition, over all events."""
    chances = rows @ events(rows.shape[1])
    return max(float(np.abs(np.log(chances[a] / chances[b])).max()) for a, b in pairs)


def delta_by_events(rows: Floats, epsilon: float, pairs: Pairs) -> float:
    """The smallest delta at an epsilon by its definition, over all events."""
    chances = rows @ events(rows.shape[1])
    both = [*pairs, *((b, a) for a, b in pairs)]
    return max(0.0, *(float((chances[a] - math.exp(epsilon) * chances[b]).max()) for a, b in both))


def laplace_rows(centres: range, ends: NDArray[np.int64], epsilon: float) -> Floats:
    """Laws of a count plus Laplace noise of scale 1 / epsilon, in bins with integer ends, and the two tails."""
    found = []
    for centre in centres:
        z = epsilon * (ends - centre)
        near = np.minimum(np.abs(z[1:]), np.abs(z[:-1]))
        inner = 0.5 * np.exp(-near) * -np.expm1(-np.diff(z))
        found.append(np.concatenate([[0.5 * math.exp(z[0])], inner, [0.5 * math.exp(-z[-1])]]))
    return np.array(found)


def laplace_information(records: int, gap: int, epsilon: float) -> float:
    """I(X;Y) in bits, X uniform on 0, gap, ..., records and Y = X + Laplace noise, by Gauss's quadrature of h(Y)."""
    atoms = records // gap + 1
    decay = math.exp(-epsilon * gap)
    nodes, weights = _gauss()
    t = gap * (nodes + 1) / 2
    left = -np.expm1(-epsilon * gap * np.arange(1, atoms)) / (1 - decay)
    density = np.outer(left, np.exp(-epsilon * t)) + np.outer(left[::-1], np.exp(-epsilon * (gap - t)))
    density *= epsilon / (2 * atoms)
    inside = float((-density * np.log(density) @ weights).sum()) * gap / 2
    height = epsilon / (2 * atoms) * -math.expm1(-epsilon * gap * atoms) / (1 - decay)
    tails = 2 * height / epsilon * (1 - math.log(height))
    return (inside + tails - 1 - math.log(2 / epsilon)) / math.log(2)


@cache
def _gauss() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(160)
    return np.asarray(nodes), np.asarray(weights)


def column_lifts(table: Floats, prior: Floats, alpha: float) -> Floats:
    """Alpha-lift of each column, (sum_s P(s) lift^alpha)^(1/alpha)."""
    lifts = table / table.sum(axis=0) / prior[:, None]
    return np.asarray((prior @ lifts**alpha) ** (1 / alpha))


def best_reward(law: Floats, alpha: float) -> float:
    """The largest expected reward sum_s P(s) q(s)^(1 - 1/alpha) over beliefs q, by a search from the uniform one."""
    from scipy.optimize import minimize
    from scipy.special import log_softmax, logsumexp

    power = 1 - 1 / alpha

    def lost(z: Floats) -> tuple[float, Floats]:
        # The logarithm of the reward, since the reward itself is flat far from its maximum.
        belief = log_softmax(z)
        terms = np.log(law) + power * belief
        total = float(logsumexp(terms))
        return -total, power * (np.exp(belief) - np.exp(terms - total))

    search: Any = minimize  # its stubs know fewer calls
    found = search(lost, np.zeros(len(law)), jac=True, method="BFGS", tol=1e-8)
    return math.exp(-float(found.fun))


def sibson(prior: Floats, rows: Floats, alpha: float) -> float:
    """Sibson's information as printed."""
    return alpha / (alpha - 1) * math.log(float(((prior @ rows**alpha) ** (1 / alpha)).sum()))


def arimoto(prior: Floats, rows: Floats, alpha: float) -> float:
    """Arimoto's information as printed."""
    cells = prior[:, None] * rows
    seen = float(((cells**alpha).sum(axis=0) ** (1 / alpha)).sum())
    return alpha / (alpha - 1) * math.log(seen / float((prior**alpha).sum() ** (1 / alpha)))


def over_priors(measure: Callable[[Floats, Floats, float], float], rows: Floats, alpha: float) -> float:
    """The largest value over priors, by a numerical search."""
    from scipy.optimize import minimize
    from scipy.special import softmax

    def lost(z: Floats) -> float:
        return -measure(softmax(z), rows, alpha)

    search: Any = minimize  # its stubs know fewer calls
    found = search(lost, np.zeros(len(rows)), method="BFGS", tol=1e-12)
    return -float(found.fun)


def split(rows: Floats, parts: NDArray[np.int64], prior: Floats) -> Floats:
    """The joint law of S and Y where S is X with its symbol x split into equally likely parts[x]."""
    return np.asarray(np.repeat(rows * (prior / parts)[:, None], parts, axis=0))


def behind(rng: np.random.Generator, prior: Floats, rows: Floats) -> Floats:
    """The joint law of Y and a random secret of three values behind X."""
    return np.asarray((channel(rng, len(rows), 3) * prior[:, None]).T @ rows)


def law_of(table: Floats) -> JointDistribution:
    """A joint law from cells that sum to 1 up to rounding."""
    return JointDistribution.normalised(table)

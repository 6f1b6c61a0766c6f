"""A private kernel on words with its value and what proves it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.solvers.common.words.pricing import Table

LARGEST = 34.0
"""Beyond, e^-epsilon would be lost in rounding; what is private at a lower level is private."""


@dataclass(frozen=True, eq=False)
class WordAnswer:
    """A kernel for n inputs and m releases.

    Parameters
    ----------
    kernel : array (n, m)
        a(y | x); within the budget but for rounding.
    value, bound : float
        Its expected distortion, and one that no private kernel goes below.
    lam : array (n,)
        Prices that prove the bound, in the unit of the distortion.
    iterations : int
    stop : str
        Why the search ended.
    """

    kernel: Floats
    value: float
    bound: float
    lam: Floats
    iterations: int
    stop: str

    @property
    def gap(self) -> float:
        """How much the value may be above the optimum, as a share of the value."""
        return (self.value - self.bound) / self.value if self.value > 0 else 0.0


def finish(
    p: Floats, cost: Floats, epsilon: float, step: Floats, lam: Floats, iterations: int, stop: str
) -> WordAnswer:
    """The private kernel that K makes, shape (n, m), and the bound of prices lam; p may hold zeros.

    Examples
    --------
    >>> found = finish(np.array([0.6, 0.4]), 1 - np.eye(2), 0.5, np.eye(2), np.array([0.0, 0.0]), 0, "given")
    >>> round(found.value, 12), found.bound <= found.value
    (0.291134716662, True)
    """
    levels = Levels.of(min(epsilon, LARGEST))
    law = p @ step
    law = law / law.sum()
    step = step + (1.0 - step.sum(axis=1)).clip(0.0)[:, None] * law
    step = step / step.sum(axis=1, keepdims=True)
    law = p @ step
    kernel = levels.room * step + levels.low * law
    return settle(p, cost, epsilon, kernel, lam, iterations, stop)


def settle(
    p: Floats, cost: Floats, epsilon: float, kernel: Floats, lam: Floats, iterations: int, stop: str
) -> WordAnswer:
    """A kernel a(y | x) that is private but for rounding, repaired, with the bound of prices lam.

    Examples
    --------
    >>> settle(np.array([0.5, 0.5]), 1 - np.eye(2), 0.4, np.eye(2), np.zeros(2), 0, "given").value.__round__(6)
    0.33516
    """
    kernel = np.where((p > 0)[:, None], kernel, p @ kernel)
    kernel = repair(p, kernel / kernel.sum(axis=1, keepdims=True), min(epsilon, LARGEST))
    seen, levels = p > 0, Levels.of(epsilon)
    bound = -math.inf
    if np.isfinite(lam).all():
        bound = Table.of(p[seen], cost[seen], levels).bound(levels.room * lam[seen])
    return WordAnswer(kernel, float(p @ (kernel * cost).sum(axis=1)), bound, lam, iterations, stop)


def repair(p: Floats, kernel: Floats, epsilon: float) -> Floats:
    """Mix a kernel with its own output law until every ratio a(y | x) / Q(y) lies in [e^-epsilon, e^epsilon].

    Examples
    --------
    >>> mixed = repair(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]]), 0.4)
    >>> round(float((mixed[0, 0] - 0.55) / (0.9 - 0.55)), 6)  # what is kept; the rest is the output law
    0.423874
    """
    law = p @ kernel
    seen = kernel[p > 0]
    ratio = np.divide(seen, law, out=np.ones_like(seen), where=law > 0)
    low, high = float(ratio.min()), float(ratio.max())
    floor, roof = math.exp(-epsilon), math.exp(epsilon)
    share = 0.0
    if low < floor:
        share = (floor - low) / (1 - low)
    if high > roof:
        share = max(share, (high - roof) / (high - 1))
    if share == 0:
        return kernel
    share = min(1.0, share * (1 + 2.0**-50) + 2.0**-52)
    return np.asarray((1 - share) * kernel + share * law)


def release_everything(p: Floats, cost: Floats, epsilon: float) -> WordAnswer | None:
    """The constant release where nothing may leak, the best release of each input where anything may."""
    m = cost.shape[1]
    if epsilon == 0:
        kernel = np.tile(np.eye(m)[np.argmin(p @ cost)], (len(p), 1))
        value = float((p @ cost).min())
        return WordAnswer(kernel, value, value - _rounding(cost), np.zeros(len(p)), 0, "all or nothing")
    if epsilon == math.inf:
        kernel, lam = np.eye(m)[cost.argmin(axis=1)], cost.min(axis=1)
        value = float(p @ lam)
        return WordAnswer(kernel, value, value - _rounding(cost), lam, 0, "all or nothing")
    return None


def _rounding(cost: Floats) -> float:
    return (len(cost) + 16) * 2.0**-51 * float(np.abs(cost).max())

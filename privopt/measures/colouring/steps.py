"""How far a probability may move along an edge: one step up, many steps, and whole orbits.

A probability travels with its complement, as the pair (p, r): each is kept to full relative accuracy, so that errors
of 1e-79 survive. Next to p the largest value is U(p) = min(e^eps p + delta, 1 - e^-eps (1 - p - delta), 1), which
bends at a = (1 - delta) / (1 + e^eps), where U(a) = 1 - a. The smallest is L(p) = 1 - U(1 - p): swap the pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats

Pair = tuple[Floats, Floats]
"""Probabilities and their complements."""

GUARD = 2.0**-48
"""By how much, relatively, a guarded step stays below the budget: 32 units of rounding."""
LARGEST = 705.0
"""e to a little more overflows, and e to its negative loses digits; a smaller epsilon is always safe."""
LEAST = 1e-8
"""Below this epsilon, roundings of e^epsilon are seen in the number of steps."""
TINY = 5e-308
"""Complements above delta are not lowered further: next to less than delta there is no room for more, and products stay accurate."""


@dataclass(frozen=True)
class Step:
    """U and L for one budget: ``growth`` = e^epsilon, ``decay`` = e^-epsilon, ``kink`` = a, ``floor`` of complements."""

    epsilon: float
    delta: float
    growth: float
    decay: float
    kink: float
    floor: float

    def up(self, p: Floats, r: Floats) -> Pair:
        """(U(p), 1 - U(p)), elementwise."""
        steep = p <= self.kink
        grown = self.growth * p + self.delta
        left = np.maximum(r - self.delta, 0.0)
        rest = np.maximum(self.decay * left, np.minimum(left, self.floor))
        # 1 - e^eps p - delta = a + e^eps (a - p): no cancellation, and exact at the kink.
        bent = self.kink + self.growth * np.maximum(self.kink - p, 0.0)
        return np.where(steep, grown, 1.0 - rest), np.where(steep, bent, rest)

    def down(self, p: Floats, r: Floats) -> Pair:
        """(L(p), 1 - L(p)), elementwise."""
        rest, least = self.up(r, p)
        return least, rest

    def power(self, p: Floats, r: Floats, k: NDArray[np.int64]) -> Pair:
        """(U^k(p), 1 - U^k(p)) in closed form, elementwise: first the steep steps, then the flat ones."""
        if self.epsilon == 0:
            grown = p + k * self.delta
            rest = np.maximum(r - k * self.delta, 0.0)
            return np.where(grown <= 0.5, grown, 1.0 - rest), np.where(grown <= 0.5, 1.0 - grown, rest)
        steep = np.minimum(self.steep_steps(p), k)
        rise = np.expm1(np.minimum(steep * self.epsilon, LARGEST))
        grown = p + rise * p + self._share(rise)
        kept = np.where(steep > 0, np.maximum(1.0 - grown, 0.0), r)
        way = (k - steep) * self.epsilon
        rest = kept * np.exp(-way) - self._share(-np.expm1(-way))
        rest = np.maximum(rest, np.minimum(kept, self.floor) if self.delta == 0 else 0.0)
        flat = k > steep
        return np.where(flat, 1.0 - rest, np.minimum(grown, 1.0)), np.where(flat, rest, kept)

    def _share(self, rise: Floats) -> Floats:
        """The part of the delta in a sum of steps."""
        if self.delta == 0:
            return np.zeros_like(rise)
        return np.asarray(self.delta * (rise / math.expm1(min(self.epsilon, LARGEST))))

    def steep_steps(self, p: Floats) -> NDArray[np.int64]:
        """How many steps start at or below the kink."""
        scale = (1.0 - self.decay * self.decay) * p + self.delta * self.decay * (1.0 + self.decay)
        with np.errstate(divide="ignore"):
            ratio = (self.decay * -math.expm1(-self.epsilon) + 2 * self.delta * self.decay**2) / scale
            count = np.floor(np.log(ratio) / self.epsilon) + 1
        return np.where(p > self.kink, 0, np.clip(count, 0, 2.0**62)).astype(np.int64)

    def orbit(self, p: float, r: float, count: int) -> Pair:
        """(U^i(p), 1 - U^i(p)) for i = 0 .. count, step by step; shorter if it stays at the last value.

        Errors below 5e-308 are lowered further only by delta.
        """
        if self.delta == 0 and self.epsilon > LEAST and 0 < p:
            return self._products(p, r, count)
        high, low = [p], [r]
        for _ in range(count):
            steep, before = p <= self.kink, (p, r)
            if steep:
                p, r = self.growth * p + self.delta, self.kink + self.growth * (self.kink - p)
            else:
                r = max(r - self.delta, 0.0)
                r = max(self.decay * r, min(r, self.floor))
                p = 1.0 - r
            if (p, r) == before:
                break
            high.append(p)
            low.append(r)
        return np.array(high), np.array(low)

    def _products(self, p: float, r: float, count: int) -> Pair:
        """The same without delta, where all is products of one factor: millions of steps at once, digit for digit."""
        steep = _powers(p, self.growth, min(count, _needed(self.kink / p, self.epsilon)))
        steep = steep[: int(np.searchsorted(steep, self.kink, side="right")) + 1]
        rest = np.append(r, self.kink + self.growth * (self.kink - steep[:-1]))
        left = count - (len(steep) - 1)
        if left == 0 or steep[-1] <= self.kink:
            return steep, rest
        most = max(float(rest[-1]) / self.floor, 1.0)
        flat = np.maximum(
            _powers(float(rest[-1]), self.decay, min(left, _needed(most, self.epsilon))),
            min(float(rest[-1]), self.floor),
        )
        flat = flat[: int(np.count_nonzero(flat > self.floor)) + 1]
        return np.concatenate((steep, 1.0 - flat[1:])), np.concatenate((rest, flat[1:]))


def _needed(ratio: float, epsilon: float) -> int:
    """Enough factors e^epsilon, or a little less each, to grow by a ratio."""
    return int(min(max(0.0, math.log(ratio)) / epsilon * (1 + 1e-6) + 4, 2.0**62))


def _powers(first: float, factor: float, count: int) -> Floats:
    """A number times 0 to ``count`` factors, multiplied one by one."""
    chain = np.full(count + 1, factor)
    chain[0] = first
    with np.errstate(over="ignore"):  # what is beyond the largest float is beyond every kink
        return np.asarray(np.multiply.accumulate(chain))


def step(epsilon: float, delta: float, margin: float = 0.0) -> Step:
    """The step of a budget; with a margin, e^epsilon and delta are lowered by it relatively.

    Examples
    --------
    >>> import math
    >>> one = step(math.log(2), 0.0)
    >>> [x.round(12).tolist() for x in one.up(np.array([0.05, 0.4, 0.7]), np.array([0.95, 0.6, 0.3]))]
    [[0.1, 0.7, 0.85], [0.9, 0.3, 0.15]]
    """
    top = min(epsilon, LARGEST)
    growth, decay = math.exp(top) * (1.0 - margin), math.exp(-top) / (1.0 - margin)
    lowered = top + math.log1p(-margin)
    if growth <= 1.0:
        lowered, growth, decay = 0.0, 1.0, 1.0
    # Without growth only delta can leave room for rounding, and then it must do so for probabilities up to 1.
    rest = delta * (1.0 - margin) if growth > 1.0 or not margin else max(delta - margin, 0.0)
    return Step(lowered, rest, growth, decay, (1.0 - rest) * decay / (1.0 + decay), TINY)

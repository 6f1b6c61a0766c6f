"""Influence by distance in a stationary binary chain with one matrix for every step, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from privopt.models import MarkovChain

FARTHEST = 2**62
"""Distance reported when no record is far enough."""


@dataclass(frozen=True)
class BinaryChain:
    """Pr(0 -> 1) and Pr(1 -> 0)."""

    alpha: float
    beta: float

    @classmethod
    def of(cls, chain: MarkovChain) -> Self | None:
        """The two probabilities, or None if the chain is of another kind."""
        if chain.k != 2 or not chain.homogeneous or not chain.stationary:
            return None
        return cls(float(chain.transition[0, 1]), float(chain.transition[1, 0]))

    @property
    def second(self) -> float:
        """Second eigenvalue of the matrix."""
        return 1.0 - self.alpha - self.beta

    def influence(self, distance: int) -> float:
        """Max-influence of a record on another one at this distance >= 1; falls with the distance."""
        power = self.second**distance
        if abs(power) >= 1:
            return math.inf
        # The rarer value tells more: odds of the common one to it, times the power of the eigenvalue.
        odds = max(self.alpha / self.beta, self.beta / self.alpha)
        tells = [
            math.inf if ratio * power <= -1 else abs(math.log1p(ratio * power) - math.log1p(-power))
            for ratio in (odds, 1 / odds)
        ]
        return max(tells)

    def first_within(self, budget: float) -> int:
        """Smallest distance >= 1 whose max-influence is at most the budget, :data:`FARTHEST` if none is."""
        if self.second != 0 and budget == 0:
            return FARTHEST
        high = 1
        while self.influence(high) > budget:
            high *= 2
            if high >= FARTHEST:
                return FARTHEST
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if self.influence(middle) > budget:
                low = middle
            else:
                high = middle
        return high

"""Boxes of posteriors with the secants of the entropy on them, and the tree that their splits make."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.problems.local_information_privacy.tree import Pricing

DIGITS = 12
"""Significant digits of the multipliers in a proof."""


@dataclass(frozen=True)
class Box:
    """low <= B v <= high, with the secants constant + slopes . t of -sum t ln t on it; ``foot`` is the curve at low."""

    low: Floats
    high: Floats
    foot: Floats
    slopes: Floats
    constant: float

    @classmethod
    def first(cls, pricing: Pricing) -> Box:
        """The box that holds every allowed posterior."""
        low, high = pricing.first_box()
        constant, slopes = pricing.secants(low, high)
        return cls(low, high, -low * np.log(np.maximum(low, 1e-300)), slopes, float(constant))

    def split(self, k: int, t: float) -> tuple[Box, Box]:
        """The parts with t_k <= t and t_k >= t; only the secant of that coordinate changes."""
        at, top = _phi(t), _phi(float(self.high[k]))
        low, high = float(self.low[k]), float(self.high[k])
        foot = float(self.foot[k])
        below = (at - foot) / (t - low) if t > low else 0.0
        above = (top - at) / (high - t) if high > t else 0.0
        rest = self.constant - (foot - float(self.slopes[k]) * low)
        return (
            Box(self.low, _with(self.high, k, t), self.foot, _with(self.slopes, k, below), rest + foot - below * low),
            Box(_with(self.low, k, t), self.high, _with(self.foot, k, at), _with(self.slopes, k, above), rest + at - above * t),
        )  # fmt: skip

    def secants_at(self, t: Floats) -> Floats:
        """The secant of each coordinate at a point."""
        return self.foot + self.slopes * (t - self.low)


def _phi(t: float) -> float:
    return -t * math.log(t) if t > 0 else 0.0


def _with(array: Floats, k: int, value: float) -> Floats:
    changed = array.copy()
    changed[k] = value
    return changed


@dataclass
class Node:
    """A box of the tree: a leaf with multipliers of some rows, or split at coordinate ``k`` and ``t``."""

    rows: NDArray[np.int64]
    values: Floats
    k: int = -1
    t: float = math.nan
    parts: tuple[Node, ...] = ()

    @property
    def size(self) -> int:
        """About the characters that a leaf takes in a file."""
        return 28 + 21 * len(self.rows)

    def full(self, count: int) -> Floats:
        """The multipliers of all rows."""
        found = np.zeros(count)
        found[self.rows] = self.values
        return found

    def keep(self, full: Floats) -> None:
        """Take the multipliers, given for all rows."""
        self.rows = np.flatnonzero(full)
        self.values = full[self.rows]

    def preorder(self) -> list[dict[str, object]]:
        """The tree as a proof is written."""
        found: list[dict[str, object]] = []
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.parts:
                found.append({"k": node.k, "t": node.t})
                waiting += [node.parts[1], node.parts[0]]
            else:
                found.append({"rows": node.rows.tolist(), "values": node.values.tolist()})
        return found


def rounded(values: Floats) -> Floats:
    """Values >= 0 to DIGITS significant digits."""
    positive = values > 0
    power = np.floor(np.log10(np.where(positive, values, 1.0)))
    scale = 10.0 ** (DIGITS - 1 - power)
    return np.where(positive, np.round(values * scale) / scale, 0.0)

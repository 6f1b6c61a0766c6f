"""Partitions whose blocks may all break the bounds, at a price for the mass of their violations."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.solvers.local_information_privacy._merge_subsets import best_blocks, best_values, members
from privopt.solvers.local_information_privacy.merge_blocks import BAND, Blocks

MOST = 15
"""Observations up to which this is done; every price costs 3^n additions."""

STEPS = 14


def priced_partition(blocks: Blocks) -> tuple[Bools | None, float]:
    """The best partition found within delta, and an upper bound on the worth of every partition within delta.

    For a price c per unit of violating mass the partition of most worth - c mass comes from dynamic
    programming over subsets, and its value + c delta bounds all partitions within delta (weak duality). The
    least price whose partition keeps delta is found by bisection.
    """
    table = members(blocks.size)
    worth, mass = blocks.worth(table), blocks.broken_mass(table)
    delta = blocks.problem.delta * (1 - BAND)
    low, high, bound, found = 0.0, math.inf, math.inf, None
    for _ in range(STEPS):
        price = 2 * low + 1.0 if high == math.inf else (low + high) / 2
        value, chosen = _best(worth - price * mass)
        bound = min(bound, value + price * blocks.problem.delta)
        if mass[chosen].sum() <= delta:
            high, found = price, chosen
        else:
            low = price
    return None if found is None else np.asarray(table[found]), bound


def _best(value: Floats) -> tuple[float, list[int]]:
    best = best_values(value)
    return float(best[-1]), best_blocks(value, best, len(value) - 1)

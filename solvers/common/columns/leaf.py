"""Tangent laws and multipliers of the leaves of a proof, short to write."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.problems.trade_off.tree import Cost

LEAST = 1e-12
"""Entries of a tangent law below this are raised to it."""

DIGITS, FINE = 6, 8
"""Significant digits that are kept of laws over boxes of v, and of laws and multipliers over boxes of C v."""


def shortened(values: Floats, digits: int) -> Floats:
    """Non-negative numbers rounded to a few significant digits."""
    scale = 10.0 ** np.minimum(digits - 1 - np.floor(np.log10(np.maximum(values, 1e-300))), 300)
    scale = np.where(scale > 0, scale, 1.0)
    return np.asarray(np.where(values > 1e-30, np.round(values * scale) / scale, 0.0))


def tangent_laws(cost: Cost, points: Floats, digits: int) -> Floats:
    """The laws D v at which tangents are taken, positive and short to write."""
    laws = np.maximum(points, 0.0) @ cost.tangents.T
    return shortened(np.maximum(laws / laws.sum(axis=1, keepdims=True), LEAST), digits)

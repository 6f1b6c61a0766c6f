"""Vertices of the polytope of allowed posteriors of a secret that is released itself, all of them."""

from __future__ import annotations

import itertools
import math

import numpy as np

import privopt as po
from privopt.arrays import Floats


def staircases(p: Floats, epsilon: float) -> Floats:
    """Every vertex of the polytope of LDP posteriors of the secret, each sign pattern normalised."""
    signs = np.array(list(itertools.product((0.0, epsilon), repeat=len(p))))
    weights = p * np.exp(signs)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def corners(p: Floats, lower: float, upper: float) -> Floats:
    """Every vertex of the box of LIP posteriors cut by the simplex: all but one at an end."""
    low, high = math.exp(-lower) * p, np.minimum(1.0, math.exp(upper) * p)
    made = []
    for odd in range(len(p)):
        for signs in itertools.product((False, True), repeat=len(p)):
            v = np.where(signs, high, low)
            v[odd] += 1.0 - v.sum()
            if low[odd] - 1e-13 <= v[odd] <= high[odd] + 1e-13:
                made.append(v)
    return np.array(made)


def itself(p: Floats, **options: object) -> po.LocalInformationPrivacy:
    return po.LocalInformationPrivacy(po.JointDistribution.normalised(np.diag(p)), **options)  # type: ignore[arg-type]

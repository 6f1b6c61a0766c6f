"""Upper bounds on the utility of one step, proved from a price for each letter by arithmetic alone.

The dual is ``{"kind": "structure", "lam": [...]}``, one number a letter. Write L = e^-epsilon and
theta = 1 / (e^epsilon + 1). A channel keeps the bounds exactly when it is (1 - L) K(y | x) + L Q(y) with a kernel K of
output law Q and K(y | x) <= Q(y) / theta. So for any prices lam and nu = (1 - L) lam,

    E[D] = sum nu(x) P(x) + sum over y of Q(y) (L mean of D(., y) + mean of (1 - L) D(x, y) - nu(x) under y's group)

and the group of y has a law of at most P(x) / theta: its mean is at least that over the cheapest mass theta. Hence
E[D] >= nu . P + min over y of [L mean of D(., y) + mean over the cheapest theta of ((1 - L) D(., y) - nu)].
Any prices prove a bound; the multipliers of an optimal programme prove the optimum.

Rounding: beliefs, 1 - L, theta and each partial sum are off by a few units of 2^-53 a term, and the terms are sorted, so
the sum over a group telescopes: the error is at most (n + 16) 2^-51 times the size of prices and distortions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privopt.mechanisms._hamming_cases import Levels
from privopt.problems._observation import Floats

if TYPE_CHECKING:
    from privopt.problems.belief_release import BeliefRelease


def check_dual(problem: BeliefRelease, dual: object) -> float | None:
    """The upper bound on utility that a dual proves, or None."""
    if not isinstance(dual, dict) or dual.get("kind") != "structure":
        return None
    try:
        lam = np.array(dual.get("lam"), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if lam.shape != (len(problem.letters),) or not np.isfinite(lam).all():
        return None
    found = structure_bound(problem, lam)
    return found if math.isfinite(found) else None


def structure_bound(problem: BeliefRelease, lam: Floats) -> float:
    """The upper bound on utility of prices lam, shape (n,), its allowance for rounding included.

    Examples
    --------
    >>> from privopt.problems.belief_release import BeliefRelease
    >>> problem = BeliefRelease([0.85, 0.15], 1.0)
    >>> round(structure_bound(problem, np.zeros(2)), 12), round(structure_bound(problem, np.array([0, 0.5])), 12)
    (-0.055181916176, -0.102590958088)
    """
    seen = problem.support
    return priced_bound(problem.p[seen], problem.matrix[seen], problem.budget, lam[seen])


def priced_bound(p: Floats, cost: Floats, budget: float, lam: Floats) -> float:
    """The same for positive probabilities p, shape (k,), distortions (k, m) and prices (k,).

    Examples
    --------
    >>> round(priced_bound(np.array([0.85, 0.15]), 1 - np.eye(2), 1.0, np.array([0, 0.5])), 12)
    -0.102590958088
    """
    levels = Levels.of(budget)
    with np.errstate(over="ignore", invalid="ignore"):
        nu = levels.room * lam
        nu = nu - nu[np.argmax(p)]
        priced = levels.room * cost - nu[:, None]
        order = np.argsort(priced, axis=0, kind="stable")
        cheap = np.take_along_axis(priced, order, axis=0)
        if levels.theta > 0:
            sums = np.minimum(np.cumsum(p[order], axis=0), levels.theta)
            groups = (np.diff(sums, axis=0, prepend=0.0) / levels.theta * cheap).sum(axis=0)
        else:
            groups = cheap[0]
        least = (levels.low * (p @ cost) + groups).min()
        size = max(float(np.abs(cost).max()), float(np.abs(nu).max()))
        return float(-(p @ nu + least) + (len(p) + 16) * 2.0**-51 * size)

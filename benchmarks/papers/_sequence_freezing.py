"""Algorithm 2 of the paper in a reading that runs: steps entry by entry, each entry stopped by the first bound it breaks.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Algorithm 2. As printed it adds
the derivative of a distance that is to be small, tests posteriors against e^epsilon and lets rows lose their sum. Read here:
an entry moves against its derivative, its row is divided by its sum, and the step is undone if the ratio of the entry's column
to its mean leaves the bounds for any word; then the entry is stopped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.benchmarks.papers.sequences import Floats

_PASSES = 2000


@dataclass(frozen=True, eq=False)
class Frozen:
    """Where it stopped: the kernel, its cost, the passes, and how many words its checks visit in the first pass."""

    kernel: Floats
    cost: float
    passes: int
    checks_a_pass: int


def frozen_at_start(belief: Floats, epsilon: float) -> float:
    """Share of entries that the printed test stops in the first pass: 1 / belief outside [e^-epsilon, e^epsilon].

    Examples
    --------
    >>> frozen_at_start(np.full(4, 0.25), 1.0), frozen_at_start(np.full(2, 0.5), 1.0)
    (1.0, 0.0)
    """
    stopped = bool((1 / belief > math.exp(epsilon)).any() or (1 / belief < math.exp(-epsilon)).any())
    return float(stopped)


def freezing(belief: Floats, cost: Floats, epsilon: float, step: float) -> Frozen:
    """Run it from the uniform kernel until every entry has stopped.

    Examples
    --------
    >>> found = freezing(np.array([0.5, 0.5]), 1 - np.eye(2), 1.0, 0.01)
    >>> found.checks_a_pass, found.cost > 0.18
    (8, True)
    """
    n, m = cost.shape
    kernel = np.full((n, m), 1.0 / m)
    active = np.ones((n, m), dtype=bool)
    slopes = belief[:, None] * cost
    slopes = slopes - slopes.mean(axis=1, keepdims=True)
    low, high, passes, checks = math.exp(-epsilon), math.exp(epsilon), 0, 0
    while active.any() and passes < _PASSES:
        passes += 1
        for x, y in np.argwhere(active):
            before = kernel[x].copy()
            kernel[x, y] = max(kernel[x, y] - step * slopes[x, y], 0.0)
            kernel[x] /= kernel[x].sum()
            ratios = kernel / (belief @ kernel)
            checks += n * (passes == 1)
            if slopes[x, y] == 0 or ratios.min() < low or ratios.max() > high:
                kernel[x], active[x, y] = before, False
    return Frozen(kernel, float((belief[:, None] * kernel * cost).sum()), passes, checks)

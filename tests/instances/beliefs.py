"""Random beliefs about the next letter."""

from __future__ import annotations

from typing import Any

import numpy as np


def random_belief(rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Even or uneven, with ties, zeros or letters down to 1e-300."""
    n = int(rng.integers(1, 9))
    belief = rng.dirichlet(np.full(n, rng.choice([0.1, 0.5, 1.0, 5.0, 50.0])))
    kind = rng.integers(5)
    if kind == 0:
        belief = np.round(belief, 1)
    if kind == 1:
        belief = belief * np.where(rng.random(n) < 0.4, 10.0 ** -rng.integers(1, 300, n), 1.0)
    if kind == 2:
        belief = np.ones(n)
    return belief / belief.sum() if belief.sum() > 0 else np.ones(n) / n

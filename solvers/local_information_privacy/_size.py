"""How many vertices a polytope of posteriors has, by trying some of its systems."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.systems import system
from privopt.problems.local_information_privacy.vertices import TOLERANCE, solve_systems

ROUNDS = 12
SUPPORTS = 150


@lru_cache(maxsize=64)
def expected_vertices(problem: LocalInformationPrivacy) -> float:
    """The number of vertices, estimated from a share of the supports and tight rows; always the same for a problem.

    Degenerate vertices count once for each system that finds them.
    """
    rng = np.random.default_rng(0)
    given = system(problem)
    n, total = given.rows.shape[1], 0.0
    for k in range(1, min(n, given.largest) + 1):
        if not (every := math.comb(n, k) * given.count(k - 1)):
            continue
        hits = 0
        for _ in range(ROUNDS):
            tight = np.array([given.draw(rng, k - 1)], dtype=np.int64)
            supports = np.sort(rng.random((SUPPORTS, n)).argpartition(k - 1, axis=1)[:, :k], axis=1)
            hits += len(solve_systems(given, tight, supports, TOLERANCE))
        total += every * hits / (ROUNDS * SUPPORTS)
    return total


def description_seconds(problem: LocalInformationPrivacy) -> float:
    """Predicted seconds of a double description, within a factor of four or so where it was measured."""
    given = system(problem)
    count = expected_vertices(problem)
    return 0.05 + 4e-6 * count * sum(given.rows.shape) * (1.0 + count / 1e4)

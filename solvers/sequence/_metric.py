"""Whether a distortion is a metric on the possible letters."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.problems.belief_release.problem import BeliefRelease

ROUNDING = 1e-12
"""Of the triangle inequality, relative to the largest distortion; the bound is proved afresh in any case."""


def is_metric(cost: Floats) -> bool:
    """Whether a square matrix is symmetric, non-negative, 0 on the diagonal, and keeps the triangle inequality.

    Examples
    --------
    >>> is_metric(np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])), is_metric(np.array([[0.0, 1, 4], [1, 0, 1], [4, 1, 0]]))
    (True, False)
    """
    if cost.shape[0] != cost.shape[1] or (cost < 0).any() or np.diag(cost).any() or (cost != cost.T).any():
        return False
    slack = ROUNDING * float(cost.max(initial=0.0))
    return all(bool((cost <= via[:, None] + via[None, :] + slack).all()) for via in cost)


def every_letter_is_heavy(problem: BeliefRelease) -> bool:
    """Whether each possible letter has probability at least theta: then it may be a group of its own."""
    return bool((problem.p[problem.support] >= Levels.of(problem.budget).theta).all())


def possible_costs(problem: BeliefRelease) -> Floats:
    """The distortion between possible letters, of a square matrix."""
    return problem.matrix[np.ix_(problem.support, problem.support)]

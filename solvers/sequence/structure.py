"""The linear programme of one step: all releases at once for few letters, those that matter for many."""

from __future__ import annotations

from privopt.arrays import Floats
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.solvers.common.words.programme import Solved, solve_programme
from privopt.solvers.common.words.restricted import solve_restricted

MANY = 80
"""Releases beyond which only some enter the programme at first; the others are priced."""


def solve_structure(p: Floats, cost: Floats, levels: Levels, seconds: float) -> Solved | None:
    """The optimum for positive probabilities p (k,) and distortions (k, m) of the size of 1; None if not in time."""
    solve = solve_restricted if cost.shape[1] > MANY else solve_programme
    return solve(p, cost, levels, seconds)

"""The level at which a step is solved, and proposals with their prices."""

from __future__ import annotations

import math

import numpy as np

from privopt._solver import Proposal
from privopt.problems._belief_bound import structure_bound
from privopt.problems._observation import Floats
from privopt.problems.belief_release import BeliefRelease

LARGEST = 34.0
"""Beyond, e^-epsilon would be lost in rounding; what is private at a lower level is private, and costs 1e-14 more."""


def level(problem: BeliefRelease) -> float:
    """The budget, or ``LARGEST`` where a finite budget is more."""
    return problem.budget if problem.budget == math.inf else min(problem.budget, LARGEST)


def priced(
    problem: BeliefRelease, matrix: Floats, lam: Floats, stats: dict[str, float | int | str]
) -> Proposal:
    """A channel with the bound that prices prove."""
    lam = np.where(np.isfinite(lam), lam, 0.0)
    dual = {"kind": "structure", "lam": lam.tolist()}
    return Proposal(problem.answer(matrix), structure_bound(problem, lam), dual, stats=stats)


def unbound(problem: BeliefRelease, stats: dict[str, float | int | str]) -> Proposal | None:
    """The constant release where nothing may leak, the best release of each letter where anything may."""
    if problem.budget == 0:
        return priced(problem, problem.constant().matrix, np.zeros(len(problem.letters)), stats)
    if problem.budget == math.inf:
        best = problem.matrix.argmin(axis=1)
        return priced(problem, np.eye(problem.matrix.shape[1])[best], problem.matrix.min(axis=1), stats)
    return None

"""The answer where nothing binds: every posterior is allowed, so the observation itself is released."""

from __future__ import annotations

import numpy as np

from privopt.core.solver import Proposal
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.rows import posterior_rows

ANALYTIC = {"kind": "analytic"}
"""The proof of :func:`privopt.problems.local_information_privacy.bound.analytic_bound`."""


def whole_release(problem: LocalInformationPrivacy) -> Proposal | None:
    """Release the observation, or for a distortion its best column, if no row of the polytope can be broken."""
    if len(posterior_rows(problem)):
        return None
    n = len(problem.observation.p_w)
    matrix = np.eye(n)
    if problem.matrix is not None:
        best = (problem.observation.x_given_w.T @ problem.matrix).argmin(axis=1)
        matrix = np.eye(problem.matrix.shape[1])[best]
    stats: dict[str, float | int | str] = {
        "iterations": 0,
        "vertices": len(problem.observation.support),
        "stop": "no bound can be broken",
    }
    return Proposal(problem.answer(matrix), analytic_bound(problem), ANALYTIC, stats=stats)


def independent(problem: LocalInformationPrivacy) -> bool:
    """Whether the bounds force the release to be independent of the secret: one side at 0 forces the other."""
    return problem.budget == 0 if problem.notion == "ldp" else min(problem.lower, problem.upper) == 0


def width(problem: LocalInformationPrivacy) -> float:
    """How far apart the least and the greatest lift may be; inf if one side is free, unless the other is 0."""
    if independent(problem):
        return 0.0
    lower, upper = (problem.budget,) * 2 if problem.notion == "ldp" else (problem.lower, problem.upper)
    return float(np.expm1(min(upper, 700.0)) - np.expm1(-lower)) if max(lower, upper) < np.inf else np.inf

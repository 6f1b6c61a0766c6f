"""All vertices of the polytope of posteriors by double description in floats, then a linear programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.systems import system
from privopt.solvers.local_information_privacy._float_form import float_proposal
from privopt.solvers.local_information_privacy._size import description_seconds, expected_vertices
from privopt.solvers.local_information_privacy._whole import independent, whole_release, width


def cdd_vertices(inequalities: Floats, equations: Floats) -> Floats:
    """Vertices of {v >= 0, sum v = 1, inequalities v <= 0, equations v = 0} as cdd finds them, a row each.

    On thin slabs the double description in floats silently loses vertices.

    Parameters
    ----------
    inequalities : array (r, n)
    equations : array (q, n)

    Examples
    --------
    >>> cdd_vertices(np.array([[1.0, -1.0]]), np.zeros((0, 2))).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    import cdd

    api: Any = cdd  # its calls have no types
    n = inequalities.shape[1]
    equal = np.vstack([np.concatenate([[1.0], -np.ones(n)]), np.pad(equations, ((0, 0), (1, 0)))])
    unequal = np.vstack([np.pad(-inequalities, ((0, 0), (1, 0))), np.pad(np.eye(n), ((0, 0), (1, 0)))])
    matrix = api.matrix_from_array(
        np.vstack([equal, unequal]).tolist(),
        lin_set=range(len(equal)),
        rep_type=api.RepType.INEQUALITY,
    )
    found = api.copy_generators(api.polyhedron_from_matrix(matrix)).array
    points = np.array(found, dtype=np.float64).reshape(-1, n + 1)
    return np.maximum(points[points[:, 0] == 1.0, 1:], 0.0)


THINNEST = 1e-4
"""The least width of the lifts at which cdd was never seen to lose a vertex."""

LONGEST = 600.0
"""Predicted seconds beyond which the enumeration is hopeless."""


@register
@dataclass(frozen=True)
class VerticesCdd(Solver[LocalInformationPrivacy]):
    """Every vertex of the posterior polytope by cdd's double description in floats; then a linear programme.

    The lectures on privacy-utility trade-offs: an optimal release uses only vertices of the polytope of
    allowed posteriors. On thin slabs cdd loses vertices without an error, so they are refused.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "vertices-cdd"
    requires: ClassVar[tuple[str, ...]] = ("cdd",)
    interruptible: ClassVar[bool] = False

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for delta = 0."""
        return Guarantee.OPTIMAL if problem.delta == 0 else Guarantee.FEASIBLE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """A process of its own, the double description, the linear programme and its check."""
        return 1.0 + 2.0 * description_seconds(problem)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse thin slabs, perfect privacy and hopeless sizes."""
        if whole_release(problem) is not None:
            return None
        if independent(problem):
            return "floats cannot make the release exactly independent of the secret; perfect-privacy does"
        if (wide := width(problem)) < THINNEST:
            return f"lifts may differ by {wide:.1e} only; below {THINNEST:g} cdd silently loses vertices"
        if self.cost(problem) > LONGEST:
            return f"about {expected_vertices(problem):.1e} vertices, which would take about {self.cost(problem):.1e} s"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture; whether vertices were lost shows when the bound is checked."""
        if (whole := whole_release(problem)) is not None:
            return whole
        rows = system(problem).rows
        stop = "every vertex that cdd found"
        return float_proposal(problem, cdd_vertices(rows, rows[:0]), budget, complete=True, stop=stop)

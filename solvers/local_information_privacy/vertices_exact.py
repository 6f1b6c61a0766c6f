"""All vertices of the polytope of posteriors by exact double description, then a linear programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy._exact_form import exact_proposal
from privopt.solvers.local_information_privacy._rational import rational_vertices
from privopt.solvers.local_information_privacy._size import description_seconds, expected_vertices
from privopt.solvers.local_information_privacy._whole import whole_release, width

GUARD = 30_000
"""Vertices, as estimated, beyond which exact arithmetic is too slow."""

THINNEST = 1e-8
"""Widths of lifts below this, other than 0, make a linear programme that floats cannot solve."""


@register
@dataclass(frozen=True)
class VerticesExact(Solver[LocalInformationPrivacy]):
    """Every vertex of the posterior polytope in exact rationals, by PPL; then a linear programme.

    The lectures on privacy-utility trade-offs: an optimal release uses only vertices of the polytope of
    allowed posteriors. The law is the exact one; e^-lower is rounded up and e^upper down at 1e-12, so
    that no posterior breaks a bound, however thin the slab. Weights are solved exactly too.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "vertices-exact"
    requires: ClassVar[tuple[str, ...]] = ("ppl",)
    interruptible: ClassVar[bool] = False

    guard: int = GUARD

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for delta = 0."""
        return Guarantee.OPTIMAL if problem.delta == 0 else Guarantee.FEASIBLE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """A process of its own, the double description, the linear programme and its check."""
        return 1.0 + 3.0 * description_seconds(problem)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse the thinnest slabs and what has too many vertices."""
        if whole_release(problem) is not None:
            return None
        if 0 < (wide := width(problem)) < THINNEST:
            return f"lifts may differ by {wide:.1e} only, which swamps the linear programme; perfect-privacy takes it"
        if expected_vertices(problem) > self.guard:
            return f"about {expected_vertices(problem):.1e} vertices, more than its guard of {self.guard}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture, in Fractions."""
        if (whole := whole_release(problem)) is not None:
            return whole
        return exact_proposal(problem, rational_vertices(problem), budget)

"""All vertices of the polytope of posteriors by small linear systems, then a linear programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.systems import system, work
from privopt.problems.local_information_privacy.vertices import TOLERANCE, vertices
from privopt.solvers.local_information_privacy._float_form import float_proposal
from privopt.solvers.local_information_privacy._size import expected_vertices
from privopt.solvers.local_information_privacy._vertex_form import enumeration_seconds
from privopt.solvers.local_information_privacy._whole import independent, whole_release, width

LONGEST = 600.0
"""Predicted seconds beyond which the enumeration is hopeless."""

MAX_CELLS = 4e7
"""Entries of the table of vertices that fit in memory several times over."""

THINNEST = 1e-8
"""Widths of lifts below this, other than 0, drown in the rounding of float64."""


SHARE = 1e-8
"""Share of the width by which a vertex may miss a bound: the repair of the channel costs this share of its utility."""

ROUNDING = 2e-15
"""What float64 resolves."""


@register
@dataclass(frozen=True)
class VerticesSystems(Solver[LocalInformationPrivacy]):
    """Every vertex of the posterior polytope by small linear systems, batched; then a linear programme.

    The lectures on privacy-utility trade-offs: an optimal release uses only vertices of the polytope of
    allowed posteriors. Each support and each choice of tight rows gives one small system.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "vertices-systems"

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for delta = 0."""
        return Guarantee.OPTIMAL if problem.delta == 0 else Guarantee.FEASIBLE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """The systems, solved once to answer and once to check, and the linear programme over their vertices."""
        seconds = 2.0 * enumeration_seconds(problem)
        if seconds > LONGEST:
            return seconds
        return 0.1 + seconds + 4e-7 * expected_vertices(problem) * len(problem.observation.support)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse hopeless enumerations, perfect privacy, and slabs that drown in rounding."""
        if independent(problem) and whole_release(problem) is None:
            return "floats cannot make the release exactly independent of the secret; perfect-privacy does"
        if 0 < width(problem) < THINNEST:
            return f"lifts may differ by {width(problem):.1e} only, which rounding swamps; perfect-privacy takes it"
        if self.cost(problem) > LONGEST:
            return f"it would solve {work(system(problem)):.1e} systems, in about {self.cost(problem):.1e} s"
        if (cells := expected_vertices(problem) * len(problem.observation.support)) > MAX_CELLS:
            return f"its linear programme would have about {cells:.1e} entries, more than {MAX_CELLS:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture; a third of the time is left for it and for the proof."""
        if (whole := whole_release(problem)) is not None:
            return whole
        stop, found, complete = 0.6 * budget.remaining, [], True
        tolerance = max(min(TOLERANCE, SHARE * width(problem)), ROUNDING)
        for batch in vertices(system(problem), tolerance):
            if len(batch):
                found.append(batch)
            if budget.remaining < stop:
                complete = False
                break
        posteriors = np.concatenate(found) if found else np.zeros((0, len(problem.observation.support)))
        why = "every vertex tried" if complete else "out of time before every vertex was tried"
        return float_proposal(problem, posteriors, budget, complete=complete, stop=why)

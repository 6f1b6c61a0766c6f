"""The best deterministic release: every partition of the symbols is tried, or shown to be no better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.solvers.common import exact_partition


@register
@dataclass(frozen=True)
class ExactMerging(Solver[InformationBottleneck]):
    """Dynamic programming over subsets for a weighed objective, branch and bound over partitions else.

    For up to 18 symbols of positive probability with a weighed objective, else up to 16. Optimal among mergings; a
    randomised release may be better, so for form "stochastic" nothing is proved.
    """

    solves: ClassVar = InformationBottleneck
    name: ClassVar[str] = "exact-merging"

    def guarantee(self, problem: InformationBottleneck) -> Guarantee:
        """Optimal for the form "merging"."""
        return Guarantee.OPTIMAL if problem.form == "merging" else Guarantee.FEASIBLE

    def cost(self, problem: InformationBottleneck) -> float:
        """Seconds at the limits, growing threefold with each symbol."""
        return exact_partition.predicted_seconds(problem)

    def refuse(self, problem: InformationBottleneck) -> str | None:
        """Refuse alphabets beyond the limits."""
        return exact_partition.refusal(problem)

    def run(self, problem: InformationBottleneck, budget: Budget) -> Proposal:
        """Propose the best merging, and the bound where it is one."""
        return exact_partition.exact_proposal(problem, budget)

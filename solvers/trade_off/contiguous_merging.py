"""The best merging into intervals of ordered columns, or nodes of hierarchies, for a privacy funnel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.contiguous import candidates
from privopt.solvers.trade_off.mergings import Stats, first_kept, impossible, proposed

NOT_ASKED = "it keeps to orders and hierarchies, which this problem does not ask for (contiguous=True)"


@register
@dataclass(frozen=True)
class ContiguousFunnel(Solver[PrivacyFunnel]):
    """The best merging into intervals of an ordered column, or into nodes of a hierarchy; of several columns into boxes.

    Both informations are sums over blocks. A weighed objective has a dynamic program over intervals, nodes or boxes; under
    a floor or a cap the partitions of one column that no other one beats are kept, and those of several are searched by
    weights. With one column that is proved by trying again.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "contiguous-merging"
    contiguous: ClassVar[bool] = True

    def guarantee(self, problem: PrivacyFunnel) -> Guarantee:
        """Optimal for one column without missing or rare values."""
        return Guarantee.OPTIMAL if problem.shape.is_single else Guarantee.FEASIBLE

    def cost(self, problem: PrivacyFunnel) -> float:
        """A table of all boxes, and under a floor or a cap the partitions that are kept of each part."""
        weighed, symbols = problem.mode == "trade_off", len(problem.observation.p_w)
        if problem.shape.single is not None:
            steps = 1 if weighed else 20
            return 0.01 + steps * min(problem.shape.size, 10**5) * (2e-6 + 4e-9 * symbols)
        return 0.05 + (1 if weighed else 2) * min(problem.shape.size, 10**4) * (3e-5 + 2e-8 * symbols)

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse problems whose blocks may be any."""
        return None if problem.contiguous else NOT_ASKED

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the merging, with the bound that every partition was tried where it was."""
        if (none := impossible(problem)) is not None:
            return none
        budget.progress(0.0, "trying intervals and nodes")
        tried = candidates(problem, budget.remaining / 3)
        if tried is None:
            return proposed(problem, None, {"iterations": 0, "stop": "too many boxes"})
        release = first_kept(problem, tried.assignments)
        stats: Stats = {"iterations": len(tried.assignments), "stop": "partitions into boxes tried"}
        if tried.bound is None or analytic_bound(problem) <= tried.bound[1]:
            return proposed(problem, release, stats)
        return Proposal(
            problem.anchor() if release is None else release,
            tried.bound[1],
            {"kind": "contiguous"},
            stats=stats,
        )

"""The best deterministic release: every partition of the symbols is tried, or shown to be no better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.partitions import best_partition, limit_of
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.mergings import Stats, impossible, proposed, release_of

T = TypeVar("T", bound=TradeOff)

MOST_CELLS = 50_000_000
"""Pairs of a block of symbols and a value of the secret, or of another useful symbol, that fit in memory."""


class Partitions(Solver[T]):
    """Dynamic programming over subsets for a weighed objective, branch and bound over partitions else."""

    name: ClassVar[str] = "exact-merging"

    def guarantee(self, problem: T) -> Guarantee:
        """Optimal for the form "merging"."""
        return Guarantee.OPTIMAL if problem.form == "merging" else Guarantee.FEASIBLE

    def cost(self, problem: T) -> float:
        """About 1 s for 16 symbols under a floor or a cap, or for 18 with a weighed objective; threefold with each."""
        n = len(problem.observation.support)
        return 0.01 + (4e-8 if problem.is_floor or problem.is_cap else 3e-9) * 3.0**n + 8e-8 * _cells(problem)

    def refuse(self, problem: T) -> str | None:
        """Refuse alphabets beyond the limits."""
        size, limit = len(problem.observation.support), limit_of(problem)
        if size > limit:
            return f"it goes through the partitions of at most {limit} symbols, this problem has {size}"
        if (cells := _cells(problem)) > MOST_CELLS:
            return f"its blocks have {cells:.1e} probabilities with the secret, at most {MOST_CELLS:.0e} fit"
        return None

    def run(self, problem: T, budget: Budget) -> Proposal:
        """Propose the best merging; for form "merging" with the bound that every partition was tried.

        In another process that is tried again, so that at most half of the time is used.
        """
        if (none := impossible(problem)) is not None:
            return none
        budget.progress(0.0, "trying every partition")
        best = best_partition(problem, budget.remaining / 2)
        if best is None:
            return proposed(problem, None, {"iterations": 0, "stop": "out of time"})
        release = release_of(problem, best.assignment[problem.observation.support])
        stats: Stats = {"iterations": best.branches, "stop": "every partition tried"}
        if problem.form != "merging" or analytic_bound(problem) <= best.bound[1]:
            return proposed(problem, release, stats)  # a met analytic bound needs no second search
        return Proposal(release, best.bound[1], {"kind": "partitions"}, stats=stats)


@register
@dataclass(frozen=True)
class ExactMerging(Partitions[PrivacyFunnel]):
    """The best deterministic release: every partition of the symbols is tried, or shown to be no better.

    Dynamic programming over subsets for a weighed objective, branch and bound over partitions else.

    For up to 18 symbols of positive probability with a weighed objective, else up to 16. Optimal among mergings; a
    randomised release may be better, so for form "stochastic" nothing is proved.
    """

    solves: ClassVar = PrivacyFunnel


@register
@dataclass(frozen=True)
class ExactBottleneckMerging(Partitions[InformationBottleneck]):
    """The best deterministic release: every partition of the symbols is tried, or shown to be no better.

    Dynamic programming over subsets for a weighed objective, branch and bound over partitions else.

    Optimal among mergings, for as many symbols as with the funnel.
    """

    solves: ClassVar = InformationBottleneck


def _cells(problem: TradeOff) -> float:
    """Of all blocks: their probabilities with the secret, and with the useful symbol where it is another one."""
    observed = problem.observation
    useful = 0 if observed.useful is None else len(observed.p_x)
    return 2.0 ** len(observed.support) * (len(observed.p_s) + useful)

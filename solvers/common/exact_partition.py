"""The best of all mergings as a proposal, for either question."""

from __future__ import annotations

from privopt.core.solver import Budget, Proposal
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.partitions import best_partition, limit_of
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.common.merging_answer import Stats, impossible, proposed, release_of


def refusal(problem: TradeOff) -> str | None:
    """Why there are too many symbols, or None."""
    size, limit = len(problem.observation.support), limit_of(problem)
    if size <= limit:
        return None
    return f"it goes through the partitions of at most {limit} symbols, this problem has {size}"


def predicted_seconds(problem: TradeOff) -> float:
    """About 1 s for 16 symbols under a floor or a cap, or for 18 with a weighed objective."""
    n = len(problem.observation.support)
    return 0.01 + (4e-8 if problem.is_floor or problem.is_cap else 3e-9) * 3.0**n


def exact_proposal(problem: TradeOff, budget: Budget) -> Proposal:
    """The best merging; with form "merging" the bound that every partition was tried, which is tried again.

    At most half of the time is used, as the check takes as long again.
    """
    if (none := impossible(problem)) is not None:
        return none
    budget.progress(0.0, "trying every partition")
    best = best_partition(problem, budget.remaining / 2)
    if best is None:
        return proposed(problem, None, {"iterations": 0, "stop": "out of time"})
    support = problem.observation.support
    release = release_of(problem, best.assignment[support])
    stats: Stats = {"iterations": best.branches, "stop": "every partition tried"}
    found = proposed(problem, release, stats)
    if problem.form != "merging" or analytic_bound(problem) <= best.bound[1]:
        return found  # the analytic bound is met, and needs no second search
    return Proposal(found.mechanism, best.bound[1], {"kind": "partitions"}, stats=stats)

"""Pairwise merging: join the two blocks of the best score, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.common.merging_answer import impossible
from privopt.solvers.common.merging_table import merging_table
from privopt.solvers.common.pair_path import max_symbols, merge_path, predicted_seconds
from privopt.solvers.trade_off._pairwise import funnel_rule, path_proposal, refusal, settled_score


@register
@dataclass(frozen=True)
class Greedy(Solver[PrivacyFunnel]):
    """Merge the pair that lowers I(S;Y) most and keeps the floor on I(X;Y), as long as there is one.

    Under a cap on I(S;Y) merging ends as soon as it is kept; with a weighed objective, when no merge pays.
    What two blocks lose by merging depends on them only, so scores stay until one of the two is merged. Equal scores
    (to 2^-44 nats, ratios to 2^-32) go to the lowest pair, a block counting as its first symbol.

    Source: the lectures on privacy-utility trade-offs, merging algorithm for the privacy funnel.

    Parameters
    ----------
    rule : {"skip", "first"}
        "skip" takes the best pair among those that keep the floor; "first" ends when the best pair of all does not.
    score : {"leakage", "ratio", "lagrangian"}, optional
        The fall dS of I(S;Y), dS over the fall dX of I(X;Y), or dS - multiplier dX, ending when no pair makes it
        positive. By default "leakage", and "lagrangian" with a weighed objective.
    multiplier : float, optional
        For score "lagrangian" under a floor or a cap; ``trade_off`` else.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "greedy"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: nothing is proved."""

    rule: str = "skip"
    score: str | None = None
    multiplier: float | None = None

    def cost(self, problem: PrivacyFunnel) -> float:
        """Quadratic in the number of symbols."""
        return predicted_seconds(len(problem.observation.support), len(problem.observation.p_s))

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse alphabets that are too large, and options that do not fit."""
        size = len(problem.observation.support)
        if size > max_symbols():
            return f"it merges at most {max_symbols()} symbols here, this problem has {size} (more with privopt[fast])"
        return refusal(problem, self.rule, self.score, self.multiplier)

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the merging at the end of the path."""
        if (none := impossible(problem)) is not None:
            return none
        rule = funnel_rule(problem, self.rule, settled_score(problem, self.score), self.multiplier or 0.0)
        return path_proposal(problem, merge_path(merging_table(problem), rule, budget))

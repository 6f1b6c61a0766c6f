"""The watchdog with alpha-lift as risk: a mean of the lifts in place of the largest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.values import read_order
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy._merge_answer import merging, proposed, refusal
from privopt.solvers.local_information_privacy.merge_blocks import BAND, Blocks
from privopt.solvers.local_information_privacy.watchdog import alpha_risks, one_block


@register
@dataclass(frozen=True)
class AlphaLiftWatchdog(Solver[LocalInformationPrivacy]):
    """Merge the symbols whose alpha-lift exceeds the upper bound, a milder test than the largest lift.

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), tunable
    alpha-lift: the risk of a symbol is ln (sum_s P(s) lift^alpha)^(1/alpha), and merging is again optimal on the
    high-risk set. At alpha = inf the risk is the largest log-lift. An alpha-lift within the bound does not
    keep single lifts within it, and the merged symbol may stay above.

    Parameters
    ----------
    alpha : float
        Order in [1, inf]; at 1 nothing is at risk.
    absorb : bool
        Add symbols of the lowest resulting risk to the merged one until its alpha-lift keeps the bound.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "alpha-lift-watchdog"

    alpha: float = 2.0
    absorb: bool = False

    def __post_init__(self) -> None:
        read_order(self.alpha)

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Feasible where the result keeps the bounds on single lifts, which is tried; else for comparison."""
        blocks = Blocks(problem)
        return Guarantee.FEASIBLE if blocks.keep(self.parts(blocks)) else Guarantee.BASELINE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """One test a symbol."""
        return 1e-3 + 1e-6 * len(problem.observation.support) ** 2

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse utilities other than mutual information, LDP, and questions without an upper bound."""
        if problem.notion == "ldp":
            return 'alpha-lift bounds lifts, this problem has notion "ldp", which bounds their ratios'
        if problem.upper == math.inf:
            return "alpha-lift bounds lifts from above, this problem has no upper bound"
        return refusal(problem)

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the merging."""
        blocks = Blocks(problem)
        parts = self.parts(blocks)
        stats: dict[str, float | int | str] = {
            "iterations": 1,
            "blocks": len(parts),
            "alpha_lift": float(alpha_risks(blocks, parts, self.alpha).max()),
            "stop": "merged",
        }
        return proposed(blocks, merging(blocks, parts), parts, stats)

    def parts(self, blocks: Blocks) -> Bools:
        """The partition: one block of high risk, the others as they are."""
        limit = blocks.problem.upper + BAND
        high = alpha_risks(blocks, blocks.singles, self.alpha) > limit
        while self.absorb and high.any() and not high.all():
            if alpha_risks(blocks, high[None, :], self.alpha)[0] <= limit:
                break
            low = np.flatnonzero(~high)
            high[low[int(np.argmin(alpha_risks(blocks, high | blocks.singles[low], self.alpha)))]] = True
        return one_block(high)

"""The watchdog of the lectures: release low-risk symbols as they are, and all others as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.arrays import Bools
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy._merge_answer import merging, proposed, refusal
from privopt.solvers.local_information_privacy.merge_blocks import Blocks
from privopt.solvers.local_information_privacy.watchdog import absorbed, high_risk, one_block, violations


@register
@dataclass(frozen=True)
class WatchdogMerge(Solver[LocalInformationPrivacy]):
    """Publish low-risk symbols, merge all high-risk ones into one symbol, which may still leak too much.

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), the watchdog: no
    randomisation within the high-risk set leaks less than its merge. But the merge need not keep the
    bounds, plainly so where the set has one symbol; the judge then mixes in noise. ``subset-merging``
    is never worse.

    Parameters
    ----------
    absorb : bool
        Add low-risk symbols to the merged one until it keeps the bounds.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "watchdog-merge"

    absorb: bool = False

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Feasible where the merge keeps the bounds, which is tried; else published for comparison."""
        blocks = Blocks(problem)
        return Guarantee.FEASIBLE if blocks.keep(one_block(self._high(blocks))) else Guarantee.BASELINE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """One test a symbol."""
        return 1e-3 + 1e-6 * len(problem.observation.support) ** 2

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse utilities other than mutual information."""
        return refusal(problem)

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the merging."""
        blocks = Blocks(problem)
        parts = one_block(self._high(blocks))
        stats = {"iterations": 1, "blocks": len(parts), "stop": "merged", **violations(blocks, parts)}
        return proposed(blocks, merging(blocks, parts), parts, stats)

    def _high(self, blocks: Blocks) -> Bools:
        high = high_risk(blocks)
        return absorbed(blocks, high) if self.absorb else high

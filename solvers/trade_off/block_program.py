"""The best deterministic release by a linear program over all blocks, and the few partitions that its prices leave.

A partition covers every symbol once. Relaxed, that is a linear program with a column for each of the 2^n blocks and, under a floor or
a cap, one row more. Columns are generated: the blocks that are cheapest by the prices between those of the program and the best ones
so far (in-out separation: Ben-Ameur and Neto, "Acceleration of cutting-plane and column generation algorithms: Applications to network
design", Networks 2007) join it.
The relaxation is nearly tight: within what it leaves open lie some hundred blocks and some thousand partitions, of which the best is
found by going through them, further and further from the relaxation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.priced_blocks import MAX_PRICED, Prices
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.blocks.generation import program_of
from privopt.solvers.trade_off.mergings import Stats, impossible, keeps_bound, proposed, release_of

T = TypeVar("T", bound=TradeOff)

LONGEST = 10.0
"""Seconds that partitions are sought for without a proof, at most, whatever the limit."""

MOST_ALIKE = 48
"""Symbols of a bottleneck, at most: symbols that are alike share its blocks, which are large, and too many are nearly as good."""


class Blocks(Solver[T]):
    """Column generation over all blocks, then the partitions within what it leaves open."""

    name: ClassVar[str] = "block-program"

    def guarantee(self, problem: T) -> Guarantee:
        """Optimal: of all mergings, which it is for."""
        return Guarantee.OPTIMAL

    def cost(self, problem: T) -> float:
        """Some tenths of a second for 20 symbols, seconds for 30; what it has found by then it has of 60, without a proof."""
        observed = problem.observation
        rows = 1 + len(observed.p_s) + (0 if observed.useful is None else len(observed.p_x))
        return 0.03 + 5e-5 * rows * 1.33 ** min(len(observed.support), 30)

    def refuse(self, problem: T) -> str | None:
        """Refuse channels, and alphabets whose blocks are no numbers of 64 bits."""
        if problem.form != "merging":
            return 'it seeks mergings: ask form="merging"'
        size, most = len(problem.observation.support), MAX_PRICED if problem.is_funnel else MOST_ALIKE
        if size <= most:
            return None
        return f"it prices blocks of at most {most} symbols, this problem has {size}: block-exchange takes any number"

    def run(self, problem: T, budget: Budget) -> Proposal:
        """Propose the best merging with the prices that prove it, or the best that was seen with the bound of the prices.

        Some of the time is left for the check, which looks for the same blocks again.
        """
        if (none := impossible(problem)) is not None:
            return none
        left = budget.remaining
        program = program_of(problem, budget, time.monotonic() + 0.7 * left)
        outcome = program.solved(min(0.1 * left, LONGEST))
        best, prices = outcome.best, outcome.prices
        release = None if best.blocks is None else release_of(problem, program.assignment(best.blocks))
        stop = "every partition within the prices tried" if best.closed else "out of time"
        stats: Stats = {"iterations": program.rounds, "stop": stop}
        if release is None or not keeps_bound(problem, release):
            return proposed(problem, None, stats)
        if prices is None:
            return proposed(problem, release, stats)
        claimed = prices.goal.offset[1] - (best.cost if best.closed else prices.base)
        if analytic_bound(problem) <= claimed:
            return proposed(problem, release, stats)
        return Proposal(
            release, claimed, dual_of(problem, prices, best.cost if best.closed else None), stats=stats
        )


@register
@dataclass(frozen=True)
class BlockProgram(Blocks[PrivacyFunnel]):
    """The best deterministic release by a linear program over all blocks, and the partitions that its prices leave.

    The prices prove it: about 30 symbols in seconds, at most 62. Lists of blocks are bounded: with 20 values of S and 60
    symbols they take .2 GB.
    """

    solves: ClassVar = PrivacyFunnel


@register
@dataclass(frozen=True)
class BottleneckBlockProgram(Blocks[InformationBottleneck]):
    """The best deterministic release by a linear program over all blocks, and the partitions that its prices leave.

    The prices prove it: about 30 symbols in seconds, at most 48. Lists of blocks are bounded, as with the funnel.
    """

    solves: ClassVar = InformationBottleneck


def dual_of(problem: TradeOff, prices: Prices, cost: float | None) -> dict[str, object]:
    """The prices in the order of the observations of positive probability, and up to which cost partitions are compared."""
    places = np.searchsorted(problem.observation.support, prices.costs.symbols)
    pi = np.zeros(prices.size)
    pi[places] = prices.prices
    return {
        "kind": "blocks",
        "multiplier": prices.multiplier,
        "pi": pi.tolist(),
        "cost": cost,
    }

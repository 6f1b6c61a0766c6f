"""The watchdog with a probability delta of violations: some high-risk symbols are released as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy import boost_search as heuristics
from privopt.solvers.local_information_privacy._boost_priced import MOST as PRICED
from privopt.solvers.local_information_privacy._boost_priced import STEPS, priced_partition
from privopt.solvers.local_information_privacy._merge_answer import Stats, merging, proposed, refusal
from privopt.solvers.local_information_privacy._merge_fast import limit, predicted_seconds
from privopt.solvers.local_information_privacy.boost import (
    MOST,
    one_super_symbol,
    partition,
    several_super_symbols,
)
from privopt.solvers.local_information_privacy.merge_blocks import Blocks
from privopt.solvers.local_information_privacy.merge_search import search
from privopt.solvers.local_information_privacy.watchdog import absorbed, high_risk, one_block, violations


@register
@dataclass(frozen=True)
class WatchdogBoosting(Solver[LocalInformationPrivacy]):
    """Release some high-risk symbols as they are, within delta, and merge the rest into allowed blocks.

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), utility boosting by
    delta-relaxation, with two changes: the violations of the merged symbol count too, and the rest may
    become several blocks. One merged symbol: every choice is tried up to 22 high-risk symbols; several:
    up to 17 (19 with numba) observations in all. Above, greedy choices and exchanges.

    Parameters
    ----------
    several : bool
        Try several merged symbols too; the better answer is proposed. False: one, as in the lectures.
    count_merged : bool
        False: the lectures' rule, which forgets the merged symbol and may break delta; one symbol only.
    rounds : int
        Cuts tried by the search for several blocks.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "watchdog-boosting"

    several: bool = True
    count_merged: bool = True
    rounds: int = 600

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Private always where the merged symbol counts; else published for comparison."""
        return Guarantee.FEASIBLE if self.count_merged else Guarantee.BASELINE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """2^k choices of k high-risk symbols, and 3^n additions."""
        blocks = Blocks(problem)
        k, n = int(high_risk(blocks).sum()), blocks.size
        seconds = 2e-3 + (4e-7 * 2.0**k if k <= MOST else 1e-5 * k * k)
        if self.several and self.count_merged:
            steps = STEPS if n <= PRICED else 2
            seconds += steps * predicted_seconds(n) if n <= limit() else 4e-3 * self.rounds
        return seconds

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse utilities other than mutual information, and delta = 0, where there is nothing to spend."""
        if problem.delta == 0:
            return "it spends delta, this problem has delta = 0; subset-merging is for that"
        return refusal(problem)

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the better of one merged symbol and several."""
        blocks = Blocks(problem)
        high = high_risk(blocks)
        if not high.any() or blocks.keep(blocks.singles):
            return self._proposed(blocks, blocks.singles, {"stop": "nothing needs merging"})
        one, stop, count = self._one(blocks, high, budget)
        options = [] if one is None else [one]
        bound = math.inf
        if self.several and self.count_merged:
            more, bound = self._several(blocks, high, budget)
            options += more
        if not options:
            options = [one_block(absorbed(blocks, high))]
            stop = "no choice keeps delta, low-risk symbols absorbed"
        worth = [float(blocks.worth(parts).sum()) for parts in options]
        stats: dict[str, float | int | str] = {"iterations": count, "stop": stop}
        if bound < math.inf:
            stats["deterministic_bound"] = bound
        if problem.observation.useful is None:
            stats["one_symbol_bound"] = heuristics.choice_bound(blocks, high)
        return self._proposed(blocks, options[int(np.argmax(worth))], stats)

    def _proposed(self, blocks: Blocks, parts: Bools, stats: Stats) -> Proposal:
        found = {"blocks": len(parts), **stats, **violations(blocks, parts)}
        return proposed(blocks, merging(blocks, parts), parts, found)

    def _one(self, blocks: Blocks, high: Bools, budget: Budget) -> tuple[Bools | None, str, int]:
        """The best answer with one merged symbol, how it was found, and the choices tried."""
        k = int(high.sum())
        if k <= MOST:
            merged = one_super_symbol(blocks, high, count_merged=self.count_merged)
            parts = None if merged is None else partition(high & ~merged, merged, high)
            return parts, "every choice tried", 1 << k
        rule = heuristics.Rule(blocks, high, count_merged=self.count_merged)
        limited = replace(budget, deadline=budget.deadline - 0.6 * budget.remaining)
        found = []
        for order in heuristics.greedy_orders(blocks, high).values():
            merged = heuristics.greedy(order, high, rule)
            if rule.keeps(merged):
                merged = heuristics.exchanged(blocks, high, merged, rule, limited)
                found.append(partition(high & ~merged, merged, high))
        best = max(found, key=lambda parts: float(blocks.worth(parts).sum()), default=None)
        return best, "greedy choices and exchanges", 3 * k

    def _several(self, blocks: Blocks, high: Bools, budget: Budget) -> tuple[list[Bools], float]:
        """Answers with several merged symbols, and a bound on all such answers (inf if none is known)."""
        n, bound = blocks.size, math.inf
        if n <= limit() and predicted_seconds(n) < budget.remaining:
            exact = several_super_symbols(blocks, high)
            found = [] if exact is None else [exact]
        else:
            found = [search(blocks, blocks.singles, budget, self.rounds)[0]]
        if n <= PRICED and STEPS * predicted_seconds(n) < budget.remaining:
            priced, bound = priced_partition(blocks)
            found += [] if priced is None else [priced]
        orders = ("ratio", "mass", "gain")
        lifted = [
            heuristics.lifted_out(blocks, parts, order, budget, self.rounds if n > limit() else 0)
            for parts in found
            for order in orders
        ]
        return [parts for parts in (*found, *lifted) if blocks.keep(parts)], bound

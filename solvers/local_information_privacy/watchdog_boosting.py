"""Spending a probability delta of violations: some high-risk symbols are released as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import channel_from_posteriors
from privopt.solvers.local_information_privacy.merging.blocks import Blocks, Stats, merging, proposed, refusal
from privopt.solvers.local_information_privacy.merging.choices import (
    MOST,
    PRICED,
    PRICES,
    Rule,
    choice_bound,
    exchanged,
    greedy,
    greedy_orders,
    lifted_out,
    one_super_symbol,
    partition,
    priced_partition,
    several_super_symbols,
)
from privopt.solvers.local_information_privacy.merging.partitions import (
    limit,
    members,
    predicted_seconds,
    rows,
    search,
)
from privopt.solvers.local_information_privacy.vertices.systems import costs, system, vertices, work
from privopt.solvers.local_information_privacy.watchdog import absorbed, high_risk, one_block, violations


@register
@dataclass(frozen=True)
class WatchdogBoosting(Solver[LocalInformationPrivacy]):
    """The watchdog with a probability delta of violations: some high-risk symbols are released as they are.

    Release some high-risk symbols as they are, within delta, and merge the rest into allowed blocks.

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
            steps = PRICES if n <= PRICED else 2
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
            stats["one_symbol_bound"] = choice_bound(blocks, high)
        return self._proposed(blocks, options[int(np.argmax(worth))], stats)

    def _proposed(self, blocks: Blocks, parts: Bools, stats: Stats) -> Proposal:
        every = {"blocks": len(parts), **stats, **violations(blocks, parts)}
        return proposed(blocks, merging(blocks, parts), every)

    def _one(self, blocks: Blocks, high: Bools, budget: Budget) -> tuple[Bools | None, str, int]:
        """The best answer with one merged symbol, how it came about, and the choices tried."""
        k = int(high.sum())
        if k <= MOST:
            merged = one_super_symbol(blocks, high, count_merged=self.count_merged)
            parts = None if merged is None else partition(high & ~merged, merged, high)
            return parts, "every choice tried", 1 << k
        rule = Rule(blocks, high, count_merged=self.count_merged)
        limited = replace(budget, deadline=budget.deadline - 0.6 * budget.remaining)
        options = []
        for order in greedy_orders(blocks, high).values():
            merged = greedy(order, high, rule)
            if rule.keeps(merged):
                merged = exchanged(blocks, high, merged, rule, limited)
                options.append(partition(high & ~merged, merged, high))
        best = max(options, key=lambda parts: float(blocks.worth(parts).sum()), default=None)
        return best, "greedy choices and exchanges", 3 * k

    def _several(self, blocks: Blocks, high: Bools, budget: Budget) -> tuple[list[Bools], float]:
        """Answers with several merged symbols, and a bound on all such answers (inf if none is known)."""
        n, bound = blocks.size, math.inf
        if n <= limit() and predicted_seconds(n) < budget.remaining:
            exact = several_super_symbols(blocks, high)
            options = [] if exact is None else [exact]
        else:
            options = [rows(search(blocks, budget, self.rounds)[0], blocks.size)]
        if n <= PRICED and PRICES * predicted_seconds(n) < budget.remaining:
            priced, bound = priced_partition(blocks)
            options += [] if priced is None else [priced]
        orders = ("ratio", "mass", "gain")
        lifted = [
            lifted_out(blocks, parts, order, budget, self.rounds if n > limit() else 0)
            for parts in options
            for order in orders
        ]
        return [parts for parts in (*options, *lifted) if blocks.keep(parts)], bound


MOST_SYSTEMS = 2_000_000
"""Small systems whose solution, for the vertices, takes seconds."""

BLOCKS = 12
"""Observations up to which every block is offered; above, single ones and pairs."""

ROOM = 1e-7
"""Share of delta, and of the bounds on the allowed posteriors, that is left to rounding."""

LEAST = 1e-6
"""Bounds below this, in nats, leave rounding no room."""


@register
@dataclass(frozen=True)
class RandomisedBoosting(Solver[LocalInformationPrivacy]):
    """Spending delta in a randomised release: allowed posteriors mixed with a few that break the bounds.

    The best mixture of allowed posteriors with blocks released beyond the bounds, within delta.

    Joins the two ideas of the lectures on privacy-utility trade-offs: the optimal release as a linear programme
    over the vertices of the posterior polytope, and boosting by delta. Blocks that break the bounds, single
    observations among them, are further columns, and one more row says that their violations have probability
    at most delta. So it is never worse than either, up to rounding.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "randomised-boosting"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Private; other posteriors beyond the bounds could be better still."""

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """The systems and the linear programme."""
        n = len(problem.observation.support)
        return 0.1 + 1e-6 * work(system(problem)) + 1e-5 * 2.0 ** min(n, BLOCKS)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse delta = 0, utilities other than mutual information, and too many vertices."""
        if problem.delta == 0:
            return "it spends delta, this problem has delta = 0; column-generation is for that"
        if (other := refusal(problem)) is not None:
            return other
        if min(problem.lower, problem.upper) < LEAST:
            return f"a bound is below {LEAST:g} nats, which leaves rounding no room; perfect-privacy takes it"
        if (count := work(system(problem))) > MOST_SYSTEMS:
            return f"it would solve {count:.1e} systems for the vertices, more than {MOST_SYSTEMS:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the mixture."""
        blocks = Blocks(problem)
        if blocks.keep(blocks.singles):
            stats = {"stop": "nothing needs noise"}
            return proposed(blocks, merging(blocks, blocks.singles), stats)
        allowed = []
        for batch in vertices(system(_tighter(problem)), 1e-3 * ROOM * min(1.0, problem.budget)):
            allowed.append(batch)
            if budget.remaining <= 0:
                break
        free, mass = _blocks_beyond(blocks)
        p = problem.observation.p_w[blocks.support]
        columns = np.vstack([*allowed, p, free])
        spent = np.concatenate([np.zeros(len(columns) - len(free)), mass])
        weights = _mixture(costs(problem, columns), columns, spent, p, problem.delta * (1 - ROOM))
        counts = {"iterations": 1, "vertices": len(columns) - len(free), "blocks_offered": len(free)}
        stop = "the best mixture" if budget.remaining > 0 else "out of time before every vertex was found"
        return Proposal(channel_from_posteriors(problem, weights, columns), stats={**counts, "stop": stop})


def _tighter(problem: LocalInformationPrivacy) -> LocalInformationPrivacy:
    """The problem with bounds that rounding cannot carry beyond its own.

    A repair would not do here: mixing in noise adds to the mass of the pairs that may break the bounds.
    """
    lower, upper = ((1 - ROOM) * level for level in (problem.lower, problem.upper))
    return LocalInformationPrivacy(problem.joint, lower=lower, upper=upper)


def _blocks_beyond(blocks: Blocks) -> tuple[Floats, Floats]:
    """The posteriors of blocks that break the bounds, and the conditional probability of violations."""
    offered = _offered(blocks.size)
    mass = blocks.broken_mass(offered)
    beyond = blocks.broken(offered).any(axis=1)
    joint = offered[beyond] * blocks.joint.sum(axis=1)[None, :]
    whole = joint.sum(axis=1)
    return np.asarray(joint / whole[:, None]), np.asarray(mass[beyond] / whole)


def _offered(n: int) -> Bools:
    if n <= BLOCKS:
        return members(n)[1:]
    singles = np.eye(n, dtype=bool)
    first, second = np.triu_indices(n, 1)
    return np.concatenate([singles, singles[first] | singles[second]])


def _mixture(price: Floats, columns: Floats, spent: Floats, p: Floats, delta: float) -> Floats:
    """Weights >= 0 of least price, whose posteriors average to p and whose violations stay within delta."""
    from scipy.optimize import linprog

    solution = linprog(price, A_ub=spent[None, :], b_ub=[delta], A_eq=columns.T, b_eq=p, method="highs")
    if solution.x is None:
        raise ArithmeticError(f"the mixture was not found: {solution.message}")
    return np.maximum(np.asarray(solution.x, dtype=np.float64), 0.0)

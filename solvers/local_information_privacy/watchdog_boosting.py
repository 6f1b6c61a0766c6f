"""Spending a probability delta of violations: some high-risk symbols are released as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.core.highs import Rows, minimise
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import priced_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.spending import MOST as MOST_BROKEN
from privopt.problems.local_information_privacy.spending import bounded, broken_sets
from privopt.problems.local_information_privacy.vertices import grouped, secret_groups
from privopt.solvers.local_information_privacy.answer import (
    channel_from_posteriors,
    too_many_rows,
)
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
from privopt.solvers.local_information_privacy.vertices.systems import System, costs, system, vertices, work
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
        """2^k choices of k high-risk symbols, and 3^n additions, unless nothing needs merging."""
        blocks = Blocks(problem)
        high = high_risk(blocks)
        k, n = int(high.sum()), blocks.size
        if k == 0 or blocks.keep(blocks.singles):
            return 2e-3
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
        limited = budget.earlier(0.6)
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

MOST_PROVED = 3_000_000
"""Small systems of all sets of broken secrets together up to which every vertex of every set is offered, and the bound is proved."""

ROOM = 2e-8
"""Share of delta, and of the bounds on the allowed posteriors, that is left to rounding."""

LEAST = 1e-6
"""Bounds below this, in nats, leave rounding no room."""


@register
@dataclass(frozen=True)
class RandomisedBoosting(Solver[LocalInformationPrivacy]):
    """Spending delta in a randomised release: allowed posteriors mixed with some that break the bounds.

    Joins the two ideas of the lectures on privacy-utility trade-offs: the optimal release as a linear program
    over the vertices of the posterior polytope, and boosting by delta. One more row of the program says that violations
    have probability at most delta. For a few secrets the posteriors beyond the bounds are the vertices of
    the polytopes that leave out the bounds of some secrets, which holds an optimal release, and its prices prove that.
    Otherwise they are blocks of observations, single ones among them: never worse than either idea, up to rounding.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "randomised-boosting"

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal where every set of secrets that may be broken is within reach; else private."""
        return Guarantee.OPTIMAL if _work(problem) <= MOST_PROVED else Guarantee.FEASIBLE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """The systems, solved again where the bound is checked, and the linear program, unless nothing needs noise."""
        blocks = Blocks(problem)
        if blocks.keep(blocks.singles):
            return 2e-3
        n, every = len(problem.observation.support), _work(problem)
        seconds = 2e-6 * every if every <= MOST_PROVED else 1e-6 * work(system(problem))
        return 0.1 + seconds + 1e-5 * 2.0 ** min(n, BLOCKS)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse delta = 0, utilities other than mutual information, and too many vertices."""
        if problem.delta == 0:
            return "it spends delta, this problem has delta = 0; column-generation is for that"
        if (other := refusal(problem)) is not None:
            return other
        if min(problem.lower, problem.upper) < LEAST:
            return f"a bound is below {LEAST:g} nats, which leaves rounding no room; perfect-privacy takes it"
        if (reason := too_many_rows(problem)) is not None:
            return reason
        if (count := work(system(problem))) > MOST_SYSTEMS:
            return f"it would solve {count:.1e} systems for the vertices, more than {MOST_SYSTEMS:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the mixture, with its prices as a proof where every vertex was offered."""
        blocks = Blocks(problem)
        if blocks.keep(blocks.singles):
            stats = {"stop": "nothing needs noise"}
            return proposed(blocks, merging(blocks, blocks.singles), stats)
        every = _work(problem) <= MOST_PROVED
        sets: list[tuple[int, ...]] = list(broken_sets(problem)) if every else [()]
        strict, found = _tighter(problem), []
        for broken in sets:
            for batch in vertices(_without(strict, broken), 1e-3 * ROOM * min(1.0, problem.budget)):
                found.append((batch, np.full(len(batch), sets.index(broken))))
                if budget.remaining <= 0:
                    break
        p = problem.observation.p_w[blocks.support]
        posteriors = np.vstack([batch for batch, _ in found])
        spent = _spent(problem, sets, np.concatenate([of for _, of in found]), posteriors)
        free, mass = _blocks_beyond(blocks)
        columns = np.vstack([posteriors, p, free])
        price = costs(problem, columns)
        best = mixture(price, columns, np.concatenate([spent, [0.0], mass]), p, problem.delta * (1 - ROOM))
        counts = {"iterations": 1, "vertices": len(posteriors), "blocks_offered": len(free)}
        complete = every and budget.remaining > 0
        stop = "the best mixture" if budget.remaining > 0 else "out of time before every vertex was found"
        channel = channel_from_posteriors(problem, best.weights, columns)
        if not complete:
            return Proposal(channel, stats={**counts, "stop": stop})
        dual = {"kind": "spending", "pi": best.prices.tolist(), "price": best.price}
        bound = priced_bound(problem, best.prices, 0.0) + best.price * problem.delta
        return Proposal(channel, bound, dual, stats={**counts, "stop": stop})


def _groups(
    problem: LocalInformationPrivacy, broken: tuple[int, ...]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """Places of the rows that are left without some secrets, and which are the two sides of one secret."""
    polytope = problem.polytope
    kept = [place for place, row in enumerate(polytope.kept) if polytope.names[row][0] not in broken]
    new = {place: i for i, place in enumerate(kept)}
    groups = (tuple(new[place] for place in group if place in new) for group in secret_groups(polytope))
    return kept, [group for group in groups if group]


def _without(problem: LocalInformationPrivacy, broken: tuple[int, ...]) -> System:
    """The polytope that leaves out the bounds of some secrets."""
    kept, groups = _groups(problem, broken)
    rows = system(problem).rows[kept]
    return System(rows, rows, grouped(groups))


@lru_cache(maxsize=8)
def _work(problem: LocalInformationPrivacy) -> float:
    """Number of systems of all sets of broken secrets; inf where these are too many."""
    if len(bounded(problem)) > MOST_BROKEN:
        return math.inf
    return float(sum(work(_without(problem, broken)) for broken in broken_sets(problem)))


def _spent(
    problem: LocalInformationPrivacy, sets: list[tuple[int, ...]], of: NDArray[np.int64], posteriors: Floats
) -> Floats:
    """The conditional probability of the secrets whose bounds a posterior may break."""
    observed = problem.observation
    rows = observed.s_given_w[observed.p_s > 0][:, observed.support]
    shares = np.array([rows[list(broken)].sum(axis=0) for broken in sets])
    return np.asarray((posteriors * shares[of]).sum(axis=1))


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


@dataclass(frozen=True, eq=False)
class Mixture:
    """Weights of the columns, prices of the observations, and the price of a violation."""

    weights: Floats
    prices: Floats
    price: float


def mixture(price: Floats, columns: Floats, spent: Floats, p: Floats, delta: float) -> Mixture:
    """Weights >= 0 of least price, whose posteriors average to p and whose violations stay within delta."""
    solved = minimise(price, Rows.dense(spent[None, :], delta), Rows.dense(columns.T, p))
    if solved is None:
        raise ArithmeticError("the mixture was not found: HiGHS ended without an optimum")
    return Mixture(np.maximum(solved.point, 0.0), solved.prices, float(solved.multipliers[0]))

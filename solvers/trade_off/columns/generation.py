"""Column generation with a proof: master program, local pricing, exact pricing, until the gap is closed or time is out."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.core.problem import Numbers
from privopt.core.solution import TOLERANCE, ZERO
from privopt.core.solver import Budget, Proposal
from privopt.problems.trade_off.bound import analytic_bound, from_weighed, weighed_bound
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.columns.pool import Pool, Prices, first_columns
from privopt.solvers.trade_off.columns.program import Program, channel_of, kept
from privopt.solvers.trade_off.columns.search import Search
from privopt.solvers.trade_off.mergings import impossible, proposed

LOCAL, LOCAL_ONLY, EXACT = 0.55, 0.7, 0.85
"""Shares of the time up to which the first local pricing runs, where the proof is hoped for and where not, and all pricing."""

FIRST_READY, READY = 0.2, 0.03
"""Local pricing ends where its prices would leave this share of the gap if it missed nothing, before the first proof and later."""

COARSE, COARSEST = 0.1, 0.4
"""Share of the gap that a proof may leave at first, so that it ends soon, and where the time is for little more."""

FINER = 8.0
"""Proofs go on to a tolerance so much smaller, at the same prices, while nothing turns up that costs clearly less than its price."""

QUIET = 6
"""Rounds without progress after which local pricing ends."""

STALLS = 4
"""Proofs without progress after which the run ends."""

QUITE = 1e-3
"""Share of the gap by which it has to fall for progress."""

LEAST = 1e-12
"""Gaps below this are not sought."""

MET = 400
"""Posteriors taken from a search, those met last."""


def settled(problem: TradeOff) -> Proposal | None:
    """The answer where everything or nothing is optimal, or no release is feasible; else None."""
    if (none := impossible(problem)) is not None:
        return none
    bound = analytic_bound(problem)
    for release in (problem.nothing(), problem.everything()):
        reading = problem.evaluate(release)
        if reading.violation <= 1e-12 and bound - reading.objective <= closing(problem, reading) / 10:
            return Proposal(release, bound, {"kind": "analytic"}, stats={"stop": "settled without a search"})
    return None


def closing(problem: TradeOff, reading: Numbers) -> float:
    """The gap at which an answer counts as optimal."""
    return max(ZERO, TOLERANCE * problem.scale(reading))


def generate(
    problem: TradeOff, columns: Floats, budget: Budget, tolerance: float, *, hopeful: bool
) -> Proposal:
    """Column generation from some posteriors, besides their average, the single symbols and the blocks of mergings."""
    every = np.vstack([first_columns(Program(problem), budget), columns])
    try:
        run = Generation(problem, every, budget, tolerance, hopeful=hopeful)
        run.run()
    except ArithmeticError as cause:
        return proposed(problem, None, {"stop": str(cause)})
    return run.proposal()


@dataclass(frozen=True)
class Proof:
    """A bound on the objective, with the search that proves it."""

    bound: float
    multiplier: float
    search: Search

    @property
    def dual(self) -> dict[str, object]:
        """What the problem checks."""
        tree = self.search.root.written(len(self.search.cost.tangents))
        return {
            "kind": "pricing",
            "multiplier": self.multiplier,
            "pi": self.search.prices.tolist(),
            "tree": tree,
            "tightened": "everywhere" if self.search.sloped else True,
        }


class Generation:
    """One run of column generation.

    Parameters
    ----------
    problem : TradeOff
    columns : array (m, n)
        First posteriors, with their average and all single symbols among them.
    budget : Budget
    tolerance : float
        Gap at which to stop, relative to the problem's scale.
    hopeful : bool
        Whether exact pricing is expected to end; otherwise local pricing gets more of the time.
    """

    def __init__(
        self, problem: TradeOff, columns: Floats, budget: Budget, tolerance: float, *, hopeful: bool
    ) -> None:
        self.problem, self.budget, self.relative, self.hopeful = problem, budget, tolerance, hopeful
        self.analytic = analytic_bound(problem)
        self.best: Proof | None = None
        self.nodes, self.stop = 0, "out of time"
        self._local = budget.earlier(1 - (LOCAL if hopeful else LOCAL_ONLY))
        self._took, self._hard, self._improving = 0.0, False, 0.0
        self._exact = budget.earlier(1 - EXACT)
        self.pool = Pool(Program(problem), columns, budget.seed, self._exact.deadline)

    @property
    def bound(self) -> float:
        """The best bound proved."""
        return self.analytic if self.best is None else min(self.analytic, self.best.bound)

    @property
    def tolerance(self) -> float:
        """Gap at which to stop, in nats; linear programs in floats tell no less apart than ``LEAST``."""
        return max(LEAST, self.relative * self.pool.scale)

    @property
    def closed(self) -> bool:
        """Whether the gap is closed."""
        return self.bound - self.pool.objective <= self.tolerance

    def run(self) -> None:
        """Alternate local and exact pricing, from coarse proofs to fine ones."""
        stalls = 0
        while not self.closed and stalls < STALLS:
            self.descend()
            if self.closed or self.pool.best is None or self._exact.remaining == 0:
                break
            if self._exact.remaining < self._took / 2:  # no other proof would end
                self.descend(alone=True)
                break
            at, gap = self.pool.best, self.bound - self.pool.objective
            search = self.prove(at)
            self.pool.best, self._local = None, self._exact
            best_prices = at.bound - self.pool.objective <= self.tolerance
            if self.closed or (search.done and not search.columns and best_prices):
                break
            if search.columns:
                self.pool.take(np.array(search.columns[-MET:]), at)
            if gap - (self.bound - self.pool.objective) <= max(self.tolerance / 50, QUITE * gap):
                stalls += 1
        if self.closed:
            self.stop = "gap closed"
        elif self._exact.remaining > self._improving:
            self.stop = "no further progress"

    def descend(self, *, alone: bool = False) -> None:
        """Local pricing until nothing more turns up or, unless no proof follows, little of the gap would be left if nothing was missed."""
        quiet = 0
        while (
            quiet < QUIET
            and self._local.remaining > self._improving
            and self.analytic - self.pool.objective > self.tolerance
        ):
            before, begun = self.pool.objective, time.monotonic()
            self.pool.improve()
            self._improving = time.monotonic() - begun
            self.budget.report(self.pool.objective, self.bound, fraction=0.3)
            ready = FIRST_READY if self.best is None else READY
            best, left = self.pool.best, ready * (self.bound - self.pool.objective)
            if best is None:
                break
            if best.bound - self.pool.objective <= max(left, self.tolerance / 4) and not alone:
                break
            quiet = 0 if self.pool.objective - before > self.tolerance / 50 else quiet + 1

    def prove(self, at: Prices) -> Search:
        """Exact pricing at some prices: to finer and finer tolerances, until a posterior costs clearly less than its price."""
        scale = self._scale(at)
        finest = 0.6 * self.tolerance / scale
        gap, unseen = self.bound - self.pool.objective, at.bound - self.pool.objective
        share = COARSEST if self._hard or self._exact.remaining < 2 * self._took else COARSE
        coarse = max(share * gap, unseen / 2) / scale
        begun = time.monotonic()
        search = Search(at.cost, at.prices, max(finest, coarse), self._exact.deadline)
        while True:
            search.run(self._exact)
            self._keep(at, search)
            ended = not search.done or self._exact.remaining == 0
            if ended or search.tolerance <= finest or -search.least > search.tolerance / FINER:
                break
            search.refine(max(finest, search.tolerance / FINER), self._exact)
        self.nodes += search.nodes
        self._took, self._hard = time.monotonic() - begun, not search.done
        return search

    def _keep(self, at: Prices, search: Search) -> None:
        """The bound of a search, if it is the best one."""
        weighed = weighed_bound(self.problem, at.multiplier, search.prices, search.bound)
        bound = from_weighed(self.problem, at.multiplier, weighed)
        if bound is not None and (self.best is None or bound < self.best.bound):
            self.best = Proof(bound, at.multiplier, search)
        self.budget.report(self.pool.objective, self.bound, fraction=0.6)

    def _scale(self, at: Prices) -> float:
        """How much a reduced cost counts in the objective."""
        capped = self.problem.is_cap and self.problem.is_funnel
        return 1.0 / at.multiplier if capped else 1.0

    def proposal(self) -> Proposal:
        """The best mixture of the columns, with the best bound."""
        pool = self.pool
        release = kept(self.problem, channel_of(self.problem, pool.master.weights, pool.columns))
        stats: dict[str, float | int | str] = {
            "iterations": pool.rounds,
            "columns": len(pool.columns),
            "nodes": self.nodes,
            "stop": self.stop,
        }
        if self.best is None or self.best.bound >= self.analytic:
            return Proposal(release, self.analytic, {"kind": "analytic"}, stats=stats)
        return Proposal(release, self.best.bound, self.best.dual, stats=stats)

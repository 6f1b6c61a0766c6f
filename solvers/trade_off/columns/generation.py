"""Column generation with a proof: master program, local pricing, exact pricing, until the gap is closed or time is out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.core.problem import Numbers
from privopt.core.solution import TOLERANCE, ZERO
from privopt.core.solver import Budget, Proposal
from privopt.problems.trade_off.bound import analytic_bound, from_weighed, weighed_bound
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.columns.pool import Pool, Prices, first_columns
from privopt.solvers.trade_off.columns.programme import Programme, channel_of, kept
from privopt.solvers.trade_off.columns.search import LARGEST, Search
from privopt.solvers.trade_off.mergings import impossible, proposed

LOCAL, LOCAL_ONLY, EXACT = 0.55, 0.85, 0.9
"""Shares of the time up to which local pricing runs, where the proof is hoped for and where not, and exact pricing."""

QUIET = 6
"""Rounds without progress after which local pricing ends."""

STALLS = 4
"""Proofs without progress after which the run ends."""

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
    every = np.vstack([first_columns(Programme(problem), budget), columns])
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
        self._exact = budget.earlier(1 - EXACT)
        self.pool = Pool(Programme(problem), columns, budget.seed, self._exact.deadline)

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
        """Alternate local and exact pricing."""
        stalls = 0
        while not self.closed and stalls < STALLS:
            self.descend()
            if self.closed or self.pool.best is None or self._exact.remaining == 0:
                break
            at, before = self.pool.best, self.pool.objective
            search = self.prove(at, thorough=stalls > 0)
            self.pool.best = None
            if self.closed or not search.columns:
                break
            self.pool.take(np.array(search.columns[-MET:]), at)
            if self.pool.objective - before <= self.tolerance / 50:
                stalls += 1 if search.size < LARGEST else STALLS
        if self.closed:
            self.stop = "gap closed"
        elif self._exact.remaining > 0:
            self.stop = "no further progress"

    def descend(self) -> None:
        """Local pricing until the gap would be closed if nothing was missed, or nothing more turns up."""
        quiet = 0
        while (
            quiet < QUIET
            and self._local.remaining > 0
            and self.analytic - self.pool.objective > self.tolerance
        ):
            before = self.pool.objective
            self.pool.improve()
            self.budget.report(self.pool.objective, self.bound, fraction=0.3)
            best = self.pool.best
            converged = best is not None and best.bound - self.pool.objective <= self.tolerance / 4
            if best is None or (converged and self.hopeful):
                break
            quiet = 0 if self.pool.objective - before > self.tolerance / 50 else quiet + 1

    def prove(self, at: Prices, *, thorough: bool) -> Search:
        """Exact pricing at some prices, until a posterior costs clearly less than its price; to the end where such ones did not help."""
        tolerance = 0.6 * self.tolerance / self._scale(at)
        search = Search(at.cost, at.prices, tolerance, self._exact.deadline)
        search.run(self._exact, -math.inf if thorough else -5 * tolerance)
        self.nodes += search.nodes
        weighed = weighed_bound(self.problem, at.multiplier, search.prices, search.bound)
        bound = from_weighed(self.problem, at.multiplier, weighed)
        if bound is not None and (self.best is None or bound < self.best.bound):
            self.best = Proof(bound, at.multiplier, search)
        self.budget.report(self.pool.objective, self.bound, fraction=0.6)
        return search

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

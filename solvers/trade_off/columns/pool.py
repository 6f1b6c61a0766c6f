"""The columns met so far: which come first, the master program over them, and local pricing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.trade_off.bound import from_weighed, weighed_bound
from privopt.problems.trade_off.problem import TradeOff
from privopt.problems.trade_off.tree import Cost, cost_of
from privopt.solvers.trade_off.columns.descent import alternate, descend, marginal_costs, reduced_costs
from privopt.solvers.trade_off.columns.program import Master, Program
from privopt.solvers.trade_off.mergings import merging_table
from privopt.solvers.trade_off.pairs import PairRule, merge_path

CELLS = 40_000
"""Entries of the starts of a round of local pricing."""

FIRST, ROUNDS, POLISH, TOGETHER = 40, 110, 300, 300
"""Steps of all starts, of the better quarter, of its different ends, and of the whole release."""

AGAIN = 40
"""Known columns from which walks start again, those that are cheapest at the prices."""

ALIKE = 1e-4
"""Columns that agree to this in every entry are one, in a round."""

EQUAL = 1e-8
"""Columns nearer than this to one in the pool are not taken in."""

MOST = 1500
"""Columns above which those that cost most are dropped."""

TRIED = 5
"""Posteriors that cost least which enter a release of a bottleneck at a time: theirs have full support, and mix to no other."""

WEIGHTS = (0.0, 0.05, 0.15, 0.3, 0.5)
"""Multipliers at which mergings are followed."""

MOST_MERGED = 150
"""Symbols up to which mergings are followed."""


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of the observations at a multiplier, with the bound that they would prove if nothing was missed."""

    multiplier: float
    prices: Floats
    cost: Cost
    bound: float = math.inf


class Pool:
    """Columns with their master program.

    Attributes
    ----------
    columns : array (m, n)
    master : Master
    best : Prices or None
        Those whose bound would be the best.
    rounds : int
        Master programs solved.
    """

    def __init__(self, program: Program, columns: Floats, seed: int, deadline: float = math.inf) -> None:
        self.program, self.columns, self.deadline = program, columns, deadline
        self.rng = np.random.default_rng(seed)
        self.rounds = 0
        self.best: Prices | None = None
        self.resolve()

    @property
    def objective(self) -> float:
        """Of the problem, at the master's optimum."""
        return self.program.objective(self.master.value)

    @property
    def scale(self) -> float:
        """What gaps are compared with, at the master's optimum."""
        return self.program.scale(self.master.weights, self.columns)

    def resolve(self) -> None:
        """Solve the master program over all columns."""
        p = self.program
        try:
            self.master = m = p.mixed(self.columns, self.deadline)
        except ArithmeticError:
            if self.rounds == 0:
                raise
            self.columns = self.columns[: len(self.master.weights)]  # the mixture before stands
            return
        self.rounds += 1
        if len(self.columns) > MOST:
            reduced = p.costs(self.columns) - self.columns @ m.prices
            if p.is_bounded:
                reduced += m.dual * p.row(self.columns)
            kept = np.sort(reduced.argsort(kind="stable")[: MOST // 2])
            self.columns, self.master = self.columns[kept], Master(m.weights[kept], m.prices, m.dual, m.value)

    def improve(self) -> None:
        """One round: the release moves as a whole, posteriors are priced, the master is solved again."""
        at = self._prices()
        if at is None:
            return
        used = self.columns[self.master.weights > 0]
        joint = self.master.weights[self.master.weights > 0, None] * used
        joint = alternate(at.cost, self.program.p_w, joint, TOGETHER, deadline=self.deadline)
        moved = joint / joint.sum(axis=1, keepdims=True)
        self._add(moved)
        smooth = Prices(at.multiplier, marginal_costs(at.cost, self.program.p_w, joint), at.cost)
        others = self.columns[self.rng.integers(len(self.columns), size=len(used))]
        count = max(60, min(800, CELLS // used.shape[1]))
        starts = np.vstack(
            [random_starts(self.program, np.vstack([used, others]), count, self.rng), used, moved]
        )
        met = self.price(smooth, starts)
        if at.cost.sloped and len(met):
            joint = alternate(
                at.cost, self.program.p_w, with_more(joint, met[:TRIED]), TOGETHER, deadline=self.deadline
            )
            self._add(joint / joint.sum(axis=1, keepdims=True))
        self.price(at, starts)
        self.resolve()

    def take(self, starts: Floats, at: Prices) -> None:
        """Walk downhill from some posteriors at some prices, and solve the master again."""
        self.price(at, starts)
        self.resolve()

    def price(self, at: Prices, starts: Floats) -> Floats:
        """Add the different ends of negative reduced cost of walks downhill, the least first, shape (m, n)."""
        known = reduced_costs(at.cost, at.prices, self.columns)
        starts = np.vstack([starts, self.columns[known.argsort(kind="stable")[:AGAIN]]])
        ends = descend(at.cost, at.prices, starts, FIRST, self.deadline)
        better = reduced_costs(at.cost, at.prices, ends).argsort(kind="stable")[: max(60, len(ends) // 4)]
        ends = descend(at.cost, at.prices, ends[better], ROUNDS, self.deadline)
        reduced = reduced_costs(at.cost, at.prices, ends)
        order = reduced.argsort(kind="stable")
        order = order[reduced[order] < -1e-10]
        least, fresh = min(0.0, float(known.min())), ends[:0]
        if len(order):
            few = _different(ends[order], 2 * ends.shape[1] + 20)
            fresh = descend(at.cost, at.prices, few, POLISH, self.deadline)
            least = min(least, float(reduced_costs(at.cost, at.prices, fresh).min()))
            self._add(fresh)
        self._remember(at, least)
        return fresh

    def _remember(self, at: Prices, least: float) -> None:
        weighed = weighed_bound(self.program.problem, at.multiplier, at.prices, least)
        bound = from_weighed(self.program.problem, at.multiplier, weighed)
        if bound is not None and (self.best is None or bound < self.best.bound):
            self.best = Prices(at.multiplier, at.prices, at.cost, bound)

    def _prices(self) -> Prices | None:
        """Those of the master; None where they do not say what a posterior is worth."""
        scaled = self.program.scaled(self.master.prices, self.master.dual)
        if scaled is None:
            return None
        cost = cost_of(self.program.problem, scaled[0])
        return None if cost.convex <= 0 else Prices(*scaled, cost)

    def _add(self, columns: Floats) -> None:
        """Take in what is not there yet: programs with equal columns make trouble."""
        new = [v for v in columns if np.abs(self.columns - v).max(axis=1).min() > EQUAL]
        self.columns = np.vstack([self.columns, *new])


def with_more(joint: Floats, columns: Floats) -> Floats:
    """The joint distribution of release and observation (m, n) with posteriors (k, n) as further releases, as likely as half of what there is allows.

    Examples
    --------
    >>> with_more(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])).tolist()
    [[0.25, 0.5], [0.25, 0.0]]
    """
    p_w = joint.sum(axis=0)
    met = columns > 0
    weights = np.where(met, p_w / np.where(met, columns, 1.0), np.inf).min(axis=1) / (2 * len(columns))
    entering = weights[:, None] * columns
    return np.vstack([joint * (1.0 - entering.sum(axis=0) / p_w), entering])


def _different(columns: Floats, most: int) -> Floats:
    """The first columns that are not alike, at most so many."""
    kept: list[int] = []
    for i in range(len(columns)):
        if len(kept) == most:
            break
        if not kept or np.abs(columns[kept] - columns[i]).max(axis=1).min() > ALIKE:
            kept.append(i)
    return columns[kept]


def first_columns(program: Program, budget: Budget) -> Floats:
    """The distribution itself, every single symbol, and the blocks of some mergings, shape (m, n)."""
    n = len(program.p_w)
    columns = [np.eye(n), program.p_w[None]]
    if 2 < n <= MOST_MERGED:
        for multiplier in WEIGHTS:
            if budget.remaining > 0:
                columns.append(merged_posteriors(program.problem, multiplier, budget))
    return np.vstack(columns)


def merged_posteriors(problem: TradeOff, multiplier: float, budget: Budget) -> Floats:
    """Posteriors of the blocks met, shape (m, n), when the best pair is merged, on I(S;Y) - multiplier I(X;Y), again and again."""
    table = merging_table(problem)
    score = "lagrangian" if problem.is_funnel else "closeness"
    blocks, met = np.diag(table.mass), [np.zeros((0, table.size))]
    for first, second in merge_path(table, PairRule(score, multiplier), budget).pairs.tolist():
        blocks[first] += blocks[second]
        met.append(blocks[first : first + 1] / blocks[first].sum())
    return np.vstack(met)


def random_starts(program: Program, used: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Posteriors to walk from: few symbols at random, and columns in use mixed with their average and with each other."""
    n = len(program.p_w)
    most = min(n, len(program.secret) + 1)
    sizes = rng.integers(min(2, n), most + 1, size=count)
    keys = rng.random((count, n)).argsort(axis=1).argsort(axis=1)
    few = rng.exponential(size=(count, n)) * (keys < sizes[:, None])
    share = rng.random((count // 2, 1)) ** 2
    first, second = used[rng.integers(len(used), size=(2, count // 2))]
    partner = np.where(rng.random((count // 2, 1)) < 0.5, second, program.p_w[None])
    starts = np.vstack([few, (1 - share) * first + share * partner])
    return np.asarray(starts / starts.sum(axis=1, keepdims=True))

"""The least expected change by linear programming, with the tables that stay as equations, or a proof that no channel keeps them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import FINEST, Least, Rows, minimise, sifted
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.models.metric import Metric
from privopt.problems.metric_privacy.bound import dual_of
from privopt.problems.post_randomisation.problem import PostRandomisation

MOST_ENTRIES = 4e6
"""Programs with more entries are refused: writing them down alone takes seconds and hundreds of megabytes."""

FARTHEST = 25.0
"""Nats beyond which a pair or a band is left out: what it asks for is below what floats of a program show."""

WIDE = 60
"""Symbols from which on a program with far more cells than rows begins with few of them."""

FLAT = 5
"""How many times as many."""

NEAREST = 10
"""Cells of a column that are there from the start as they cost least, and as many at random."""

JOINING = 4
"""Cells that join at a time, for each symbol."""

MISSED = 1e-7
"""Tables that are missed by more than this, in all, are taken to be impossible, which is then proved."""

INSIDE = 2.0**-29
"""Part of the budget that is kept free where the rest is enough: what rounding takes of a program needs no repair then."""


@register
@dataclass(frozen=True)
class DirectLp(Solver[PostRandomisation]):
    """One linear program by HiGHS; its multipliers prove the bound, or that no channel keeps tables and budget."""

    solves: ClassVar = PostRandomisation
    name: ClassVar[str] = "direct-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL

    def cost(self, problem: PostRandomisation) -> float:
        """Grows with the entries of the program."""
        return float(5e-3 + 2.5e-8 * _entries(problem) ** 1.42)

    def refuse(self, problem: PostRandomisation) -> str | None:
        """Refuse programs that are too large."""
        entries = _entries(problem)
        if entries > MOST_ENTRIES:
            return f"its program has about {entries:.2g} entries, at most {MOST_ENTRIES:.2g}"
        return None

    def run(self, problem: PostRandomisation, budget: Budget) -> Proposal:
        """Propose the channel of the program, brought to the tables exactly, with the bound from its multipliers."""
        cost = problem.observation.p_w[:, None] * problem.costs
        inside = 0 < problem.epsilon < math.inf
        program = _Program.of(problem.with_budget(problem.epsilon * (1 - INSIDE)) if inside else problem)
        answer = program.solve(cost, budget)
        if answer is None and inside:
            program = _Program.of(problem)
            answer = program.solve(cost, budget)
        if answer is None:
            return _impossible(problem, program, budget)
        dual = _dual(problem, program, answer)
        bound = problem.check_bound(-math.inf, dual)
        stop = "solved" if answer.whole else OUT_OF_TIME
        stats: dict[str, float | int | str] = {"iterations": answer.iterations, "stop": stop}
        kept = problem.preserving(answer.matrix)
        return Proposal(problem.answer(answer.matrix) if kept is None else kept, bound, dual, stats=stats)


def _entries(problem: PostRandomisation) -> float:
    """Entries of the program, about."""
    protected, n, rows = problem.sizes
    if isinstance(problem.notion, Metric):
        return float(4 * protected * n + (1 + rows) * n * n)
    return float(2 * np.count_nonzero(problem.joint.table) * n + (1 + rows) * n * n)


@dataclass(frozen=True, eq=False)
class _Answer:
    """A matrix, multipliers of the equations of tables (a row a table row, a column a release), and of the inequalities."""

    matrix: Floats
    prices: Floats
    multipliers: Floats
    iterations: int
    whole: bool


@dataclass(frozen=True, eq=False)
class _Program:
    """Rows sum to 1; tables are kept; inequalities A z <= b, with further variables after the n^2 cells, cell by cell of a row.

    Parameters
    ----------
    n : int
    tables : float array (k, n)
        Rows T: sum_x T[z, x] M[x, y] = T[z, y].
    limits : sparse array, or None
    right : float array
    """

    n: int
    tables: Floats
    limits: Any
    right: Floats
    scale: Floats

    @classmethod
    def of(cls, problem: PostRandomisation) -> _Program:
        """The program of a problem."""
        n, rows = len(problem.symbols), problem.kept_floats
        scale = 1.0 / rows.max(axis=1)
        if isinstance(problem.notion, Metric):
            limits, right = _pairs(problem)
        elif problem.notion == "ldp":
            limits, right = _ratios(problem)
        else:
            limits, right = _lifts(problem)
        return cls(n, rows, limits, right, scale)

    def solve(self, cost: Floats, budget: Budget) -> _Answer | None:
        """Minimise; None where there is no channel, or the time ends."""
        n = self.n
        extra = 0 if self.limits is None else self.limits.shape[1] - n * n
        equations = self._equations(extra)
        return self._minimise(np.concatenate([cost.ravel(), np.zeros(extra)]), equations, budget)

    def nearest(self, budget: Budget) -> tuple[float, _Answer] | None:
        """By how much the tables are missed at least, in all, each row divided by its largest entry."""
        from scipy.sparse import csr_array, hstack, vstack

        n, k = self.n, len(self.tables)
        extra = 0 if self.limits is None else self.limits.shape[1] - n * n
        slack: Any = vstack(
            [csr_array((n, 2 * k * n)), hstack([csr_array(np.eye(k * n)), csr_array(-np.eye(k * n))])]
        )
        equations = hstack([self._equations(extra), slack])
        cost = np.concatenate([np.zeros(n * n + extra), np.ones(2 * k * n)])
        limits = self.limits
        if limits is not None:
            limits = hstack([limits, csr_array((limits.shape[0], 2 * k * n))])
        answer = replace(self, limits=limits)._minimise(cost, equations, budget)
        if answer is None:
            return None
        missed = self.scale[:, None] * (self.tables @ answer.matrix - self.tables)
        return float(np.abs(missed).sum()), answer

    def _equations(self, extra: int) -> Any:
        from scipy.sparse import csr_array, hstack, kron, vstack

        n = self.n
        sums = kron(csr_array(np.eye(n)), np.ones((1, n)))
        kept = kron(csr_array(self.scale[:, None] * self.tables), csr_array(np.eye(n)))
        both = vstack([sums, kept])
        return both if not extra else hstack([both, csr_array((both.shape[0], extra))])

    def _minimise(self, cost: Floats, equations: Any, budget: Budget) -> _Answer | None:
        n, k = self.n, len(self.tables)
        below = Rows.none() if self.limits is None else Rows.sparse(self.limits, self.right)
        right = np.concatenate([np.ones(n), (self.scale[:, None] * self.tables).ravel()])
        equal = Rows.sparse(equations, right)
        solved = self._sifted(cost, below, equal, budget) if self._wide(below) else None
        if solved is None:
            solved = minimise(cost, below, equal, tolerance=FINEST, seconds=budget.remaining)
        if solved is None:
            return None
        matrix = np.clip(solved.point[: n * n].reshape(n, n), 0.0, 1.0)
        prices = -solved.prices[n:].reshape(k, n) * self.scale[:, None]
        matrix /= matrix.sum(axis=1, keepdims=True)
        return _Answer(matrix, prices, solved.multipliers, solved.iterations, solved.whole)

    def _wide(self, below: Rows) -> bool:
        """Whether there are so many cells, and far fewer rows, that most are better left out at first."""
        rows = self.n * (1 + len(self.tables)) + len(below)
        return self.n >= WIDE and self.n * self.n > FLAT * rows

    def _sifted(self, cost: Floats, below: Rows, equal: Rows, budget: Budget) -> Least | None:
        """The same, first over few cells of each column and one unknown that draws a symbol afresh.

        The fresh draw keeps the distribution and every budget, so that there is a point over the first unknowns, unless
        joint tables stay as well.
        """
        n, rng, place = self.n, np.random.default_rng(budget.seed), len(cost)
        fresh = np.tile(self.tables[0] / self.tables[0].sum(), n)
        below, equal = (rows.with_column(place, rows.times(fresh)) for rows in (below, equal))
        first = np.zeros((n, n), dtype=bool)
        order = np.argsort(cost[: n * n].reshape(n, n) + 1e-9 * rng.random((n, n)), axis=0)
        first[order[:NEAREST], np.arange(n)] = True
        first[rng.integers(n, size=(NEAREST, n)), np.arange(n)] = True
        np.fill_diagonal(first, True)
        start = np.concatenate([np.flatnonzero(first), np.arange(n * n, place + 1)])
        costs = np.append(cost, cost[: n * n] @ fresh)
        solved = sifted(
            costs, below, equal, start, each=JOINING * n, tolerance=FINEST, seconds=budget.remaining
        )
        if solved is None:
            return None
        point = solved.point[:place].copy()
        point[: n * n] += solved.point[place] * fresh
        return replace(solved, point=point)


def _given(problem: PostRandomisation) -> Floats:
    """P(x | s), a row a value of S of positive probability."""
    seen = problem.observation.p_s > 0
    return np.asarray(problem.joint.table[seen] / problem.observation.p_s[seen][:, None])


def _lifts(problem: PostRandomisation) -> tuple[Any, Floats]:
    """P(y | s) / P(y) - e^epsilon <= 0, then e^-epsilon - P(y | s) / P(y) <= 0, for s and then y."""
    from scipy.sparse import csr_array, diags_array, kron, vstack

    if problem.epsilon == math.inf:
        return None, np.zeros(0)
    given, p = _given(problem), problem.observation.p_w
    block = kron(csr_array(given), diags_array(1.0 / p))
    high, low = math.exp(min(problem.epsilon, 700.0)), math.exp(-problem.epsilon)
    top = np.minimum(high, 2.0 / np.tile(p, len(given)))  # no lift is above 1 / P(y)
    return vstack([block, -block]), np.concatenate([top, np.full(block.shape[0], -low)])


def _ratios(problem: PostRandomisation) -> tuple[Any, Floats]:
    """With h(y), the largest P(y | s): P(y | s) <= h(y), and e^-epsilon h(y) <= P(y | s), for s and then y."""
    from scipy.sparse import csr_array, diags_array, hstack, kron, vstack

    if problem.epsilon == math.inf:
        return None, np.zeros(0)
    given, p = _given(problem), problem.observation.p_w
    block = kron(csr_array(given), diags_array(1.0 / p))
    each = kron(np.ones((len(given), 1)), diags_array(1.0 / p))
    low = math.exp(-problem.epsilon)
    limits = vstack([hstack([block, -each]), hstack([-block, low * each])])
    return limits, np.zeros(limits.shape[0])


def _pairs(problem: PostRandomisation) -> tuple[Any, Floats]:
    """M[x, y] - e^(epsilon d) M[x', y] <= 0, scaled, for ordered pairs and then y."""
    from scipy.sparse import csr_array, eye_array, kron

    first, second, growth = _promised(problem)
    if not len(first):
        return None, np.zeros(0)
    n, rows = len(problem.symbols), np.arange(len(first))
    scale = 1.0 / np.sqrt(1.0 + growth**2)
    entries = np.concatenate([scale, -growth * scale])
    table = csr_array(
        (entries, (np.concatenate([rows, rows]), np.concatenate([first, second]))), shape=(len(rows), n)
    )
    limits = kron(table, eye_array(n))
    return limits, np.zeros(limits.shape[0])


def _promised(problem: PostRandomisation) -> tuple[Any, Any, Floats]:
    """Ordered pairs of symbols, and e^(epsilon d) of each."""
    assert isinstance(problem.notion, Metric)
    pairs = problem.notion.pairs()
    with np.errstate(invalid="ignore"):
        nats = np.where(pairs.distance == 0, 0.0, problem.epsilon * pairs.distance)
    near = nats <= FARTHEST
    a, b, growth = pairs.first[near], pairs.second[near], np.exp(nats[near])
    return np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([growth, growth])


# duals


def _dual(problem: PostRandomisation, program: _Program, answer: _Answer) -> dict[str, object]:
    """Prices of the tables, and multipliers of the budget, in the form that the problem proves."""
    prices, used = answer.prices.copy(), answer.multipliers
    n = program.n
    if isinstance(problem.notion, Metric):
        first, second, growth = _promised(problem)
        values = used / np.sqrt(1.0 + np.repeat(growth, n) ** 2) if len(used) else used
        proof = dual_of(np.repeat(first, n), np.repeat(second, n), np.tile(np.arange(n), len(first)), values)
        return {"kind": "prices", "prices": prices.tolist(), "proof": proof}
    p, s = problem.observation.p_w, int((problem.observation.p_s > 0).sum())
    if not len(used):
        used = np.zeros(2 * s * n)
    above, below = (part.reshape(s, n).T / p[:, None] for part in (used[: s * n], used[s * n :]))
    low = math.exp(-problem.epsilon) if problem.epsilon < math.inf else 0.0
    if problem.notion == "lip":
        # P(y) varies in the proof, and is a constant in the program: the price of the distribution makes up for it
        high = math.exp(min(problem.epsilon, 700.0))
        prices[0] += high * above.sum(axis=1) - low * below.sum(axis=1)
    proof = {"kind": "bands", "above": above.tolist(), "below": below.tolist()}
    return {"kind": "prices", "prices": prices.tolist(), "proof": proof}


def _impossible(problem: PostRandomisation, program: _Program, budget: Budget) -> Proposal:
    """A witness that no channel keeps tables and budget; nothing where the program only ran out of time."""
    if not problem.tables:
        return Proposal(problem.anchor(), stats={"stop": "out of time"})
    found = program.nearest(budget)
    if found is None or found[0] <= MISSED:
        return Proposal(problem.anchor(), stats={"stop": "out of time"})
    return Proposal(infeasible=_dual(problem, program, found[1]), stats={"stop": "no channel"})

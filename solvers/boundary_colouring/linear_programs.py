"""The best accuracy by linear programs, with proofs: weighted mean of two colours, mean or worst case of more."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import Least, Method, Rows, minimise
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.steps import LARGEST, Pair, Step, step
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._levels import MAX_LEVELS, level_count, levels
from privopt.solvers.boundary_colouring._reduced import (
    Reduced,
    edge_table,
    lifted,
    linear_dual,
    normalised_weights,
    polished,
    reduced,
    refuse_choice,
    signed,
)

TOLERANCES = (1e-10, 1e-8)
"""Of HiGHS, tried in turn: at the first it sometimes stops without an answer."""
MAX_VERTICES, MAX_EDGES = 100_000, 400_000
"""Of the quotient; beyond them HiGHS takes minutes and gigabytes."""
NEAR = 1e-7
"""How close a value is to the level that it stands for."""
UNTOLD, FLOORS = 1e-5, 3
"""Levels that the tolerances of HiGHS hardly tell from 0, and how many of them are tried."""
MIXED = 0.4
"""Share of vertices next to another colour, for each nat, from which interior points are quicker than the simplex method.

Often tenfold: the smaller the budget, the farther from there a vertex is not answered truly.
"""
MAX_CELLS = 120_000
"""Vertices times colours for three colours; fewer for more."""
AFTER = 5e-6
"""Seconds kept for each of them after a program, at most a tenth of the time."""
INSIDE = 2.0**-44
"""Share of a budget that a program in several colours leaves free, where nothing is prescribed: rounding then asks for no repair."""
SHORT = 1.0
"""Predicted seconds up to which what HiGHS does between two looks at the clock (its presolve, at most half of them) is no delay."""


@dataclass(frozen=True, eq=False)
class Solved:
    """The optimum of the linear program.

    Parameters
    ----------
    p : array (n,)
        Probability of the first colour.
    multipliers : array (m, 4)
        Of the edges (u, v) in order: Pr[M(u)=c] - e^eps Pr[M(v)=c] <= delta for both colours, then with u and v
        exchanged.
    iterations : int
    """

    p: Floats
    multipliers: Floats
    iterations: int


def solve_program(
    edges: Ints, gains: Floats, one: Step, seconds: float, box: Floats | None = None
) -> Solved | None:
    """Maximise gains . p over private colourings, or None where HiGHS does not end.

    ``box``, (n, 2), bounds the probabilities; [0, 1] by default. The rows are divided by e^eps, so that no coefficient exceeds 1.
    """
    scale = float(np.abs(gains).max(initial=0.0)) or 1.0
    bounds = np.tile([0.0, 1.0], (len(gains), 1)) if box is None else box
    solved = _optimum(-gains / scale, _rows(edges, one), Rows.none(), bounds, seconds)
    if solved is None:
        return None
    rows = solved.multipliers.reshape(4, len(edges)).T
    return Solved(np.clip(solved.point, 0.0, 1.0), rows * (scale * one.decay), solved.iterations)


def _optimum(
    cost: Floats, below: Rows, equal: Rows, bounds: Floats, seconds: float, method: Method = "simplex"
) -> Least | None:
    """What HiGHS ends with in some seconds, at the finest tolerance at which it ends, or None."""
    until = time.monotonic() + max(seconds, 0.01)
    for tolerance in TOLERANCES:
        left = until - time.monotonic()
        if left <= 0:
            return None
        solved = minimise(
            cost,
            below,
            equal,
            lower=bounds[:, 0],
            upper=bounds[:, 1],
            tolerance=tolerance,
            seconds=left,
            method=method,
        )
        if solved is not None:
            return solved
    return None


def _rows(edges: Ints, one: Step) -> Rows:
    """Rows block by block: colour 1 and 2 from u to v, then from v to u."""
    m = len(edges)
    u, v = edges[:, 0], edges[:, 1]
    small, large = np.full(m, one.decay), np.ones(m)
    columns = np.concatenate([u, v, u, v, v, u, v, u])
    entries = np.concatenate([small, -large, -small, large] * 2)
    row = np.arange(m)
    rows = np.concatenate([block * m + row for block in (0, 0, 1, 1, 2, 2, 3, 3)])
    first, second = one.decay * one.delta, 1.0 - one.decay * (1.0 - one.delta)
    return Rows.cells(rows, columns, entries, np.repeat([first, second, first, second], m))


@register
@dataclass(frozen=True)
class WeightedLp(Solver[BoundaryColouring]):
    """The best weighted accuracy of two colours by a linear program, polished to a private answer with a proof.

    One variable a vertex (a class of vertices, where colour refinement finds any) and four rows an edge.

    Every vertex of the polytope has its values on known levels, so the answer is moved to the nearest ones, made private on
    the boundary and continued from there. The multipliers prove the optimum by weak duality.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "weighted-lp"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Half a second at 10^4 vertices of a grid, ten at 10^5; more where degrees are large."""
        small = reduced(problem).graph
        return 0.05 + 1e-7 * math.pow(small.size + small.edge_count, 1.47)

    def polls(self, problem: BoundaryColouring) -> bool:
        """Where it is short: HiGHS looks at the clock between its steps, but not while it prepares a large program."""
        return self.cost(problem) <= SHORT

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other problems, and what HiGHS does not do in minutes."""
        if (sentence := refuse_choice(problem)) is not None:
            return sentence
        if problem.epsilon > LARGEST:
            return f"e to the epsilon of {problem.epsilon:g} nats overflows in its rows"
        small = reduced(problem).graph
        if small.size > MAX_VERTICES or small.edge_count > MAX_EDGES:
            return (
                f"its program would have {small.size} vertices and {small.edge_count} edges, "
                f"more than {MAX_VERTICES} or {MAX_EDGES}; equal-boundary takes them"
            )
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum with its multipliers."""
        small = reduced(problem)
        edges, gains = small.graph.edges(), signed(small.graph.codes, small.weights)
        solved = solve_program(edges, gains, problem.step, 0.9 * budget.remaining)
        if solved is None:
            return Proposal(stats={"stop": "HiGHS ended without an answer"})
        mechanism = _best_polished(problem, small, snapped(problem, solved.p))
        table = lifted(small, problem.graph, edge_table(small.graph, edges, solved.multipliers))
        value = float(small.weights[small.graph.codes != 0].sum() + gains @ solved.p)
        stats = {"iterations": solved.iterations, "vertices": small.graph.size}
        return Proposal(mechanism, value, linear_dual(table), stats=stats)


def _best_polished(problem: BoundaryColouring, small: Reduced, values: Pair) -> Colouring:
    """The best of the values made private as they are, and cut to [l, 1 - l] for the first levels l that HiGHS hardly distinguishes from 0.

    Next to 0 nearly nothing is private, so that a 0 for an l forbids the truth all around, while a cut costs at most l.
    """
    one = problem.guarded
    floors = one.orbit(1.0 - one.kink, one.kink, FLOORS)[1]
    tried = [polished(problem, small, values)]
    for least in floors[(floors > 0) & (floors < UNTOLD)].tolist():
        tried.append(polished(problem, small, (_cut(values[0], least), _cut(values[1], least))))
    return max(tried, key=problem.accuracy)


def _cut(values: Floats, least: float) -> Floats:
    return np.clip(values, least, 1.0 - least)


def snapped(problem: BoundaryColouring, p: Floats) -> Pair:
    """Values moved to the nearest level where one is near, with complements."""
    count = min(problem.graph.size + 2, MAX_LEVELS)
    if level_count(problem.guarded, count) >= MAX_LEVELS:
        return p, 1.0 - p
    table = levels(problem.guarded, count)
    at = table.nearest(p)
    near = np.abs(table.p[at] - p) < NEAR
    return np.where(near, table.p[at], p), np.where(near, table.r[at], 1.0 - p)


@dataclass(frozen=True, eq=False)
class Distributions:
    """The optimum of the linear program.

    Parameters
    ----------
    rows : array (n, k)
    value : float
        The objective.
    multipliers : array (arcs, k)
        Of P_u(c) - e^eps P_v(c) <= s(c), arcs (u, v) in the order of ``graph.indices``.
    weights : array (n,) or None
        Multipliers of the accuracies for the worst case, which add to 1.
    """

    rows: Floats
    value: float
    multipliers: Floats
    weights: Floats | None


@dataclass(frozen=True, eq=False)
class Program:
    """Unknowns: P by vertex and colour, then s by arc and colour where delta > 0, then the worst case where it is the objective."""

    graph: DatasetGraph
    one: Step
    weights: Floats | None
    fixed: tuple[Ints, Floats] | None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Vertices, colours, arcs."""
        return self.graph.size, len(self.graph.palette), len(self.graph.indices)

    @property
    def slack(self) -> int:
        """Number of unknown excesses."""
        _, k, arcs = self.shape
        return arcs * k if self.one.delta > 0 else 0

    @property
    def unknowns(self) -> int:
        """Number of unknowns."""
        n, k, _ = self.shape
        return n * k + self.slack + (self.weights is None)

    @property
    def method(self) -> Method:
        """What is quicker: near to other colours little is as it is without privacy."""
        return "ipm" if _mixed(self.graph, self.one.epsilon) else "simplex"

    def inequalities(self) -> Rows:
        """Privacy by arc and colour (divided by e^eps), then the sums of excesses, then the worst case by vertex."""
        n, k, arcs = self.shape
        starts = np.repeat(np.arange(n), np.diff(self.graph.indptr))
        cell = np.arange(k)[None, :]
        row = np.arange(arcs * k)
        u, v = (starts[:, None] * k + cell).ravel(), (self.graph.indices[:, None] * k + cell).ravel()
        rows, columns = [row, row], [u, v]
        entries = [np.full(arcs * k, self.one.decay), np.full(arcs * k, -1.0)]
        limits = [np.zeros(arcs * k)]
        count = arcs * k
        if self.slack:
            rows += [row, count + np.repeat(np.arange(arcs), k)]
            columns += [n * k + row, n * k + row]
            entries += [np.full(arcs * k, -self.one.decay), np.ones(arcs * k)]
            limits.append(np.full(arcs, self.one.delta))
            count += arcs
        if self.weights is None:
            vertex = np.arange(n)
            rows += [count + vertex, count + vertex]
            columns += [vertex * k + self.graph.codes, np.full(n, self.unknowns - 1)]
            entries += [np.full(n, -1.0), np.ones(n)]
            limits.append(np.zeros(n))
        return Rows.cells(
            np.concatenate(rows), np.concatenate(columns), np.concatenate(entries), np.concatenate(limits)
        )

    def equations(self) -> Rows:
        """Every row is a distribution."""
        n, k, _ = self.shape
        return Rows.cells(np.repeat(np.arange(n), k), np.arange(n * k), np.ones(n * k), np.ones(n))

    def bounds(self) -> Floats:
        """Probabilities, with prescribed distributions held fixed; (unknowns, 2)."""
        k = self.shape[1]
        table = np.tile([0.0, 1.0], (self.unknowns, 1))
        if self.weights is None:
            table[-1, 1] = np.inf  # so that the accuracies bound it, and have the multipliers
        if self.fixed is not None:
            cells = (self.fixed[0][:, None] * k + np.arange(k)[None, :]).ravel()
            table[cells] = self.fixed[1].ravel()[:, None]
        return table

    def cost(self) -> Floats:
        """Minus the objective, scaled to 1."""
        n, k, _ = self.shape
        table = np.zeros(self.unknowns)
        if self.weights is None:
            table[-1] = -1.0
        else:
            table[np.arange(n) * k + self.graph.codes] = -self.weights / self.weights.max()
        return table


def best_distributions(program: Program, seconds: float) -> Distributions | None:
    """The best distributions, or None where HiGHS ends without any."""
    solved = _optimum(
        program.cost(),
        program.inequalities(),
        program.equations(),
        program.bounds(),
        seconds,
        program.method,
    )
    if solved is None:
        return None
    n, k, arcs = program.shape
    rows = np.maximum(solved.point[: n * k].reshape(n, k), 0.0)
    rows /= rows.sum(axis=1, keepdims=True)
    duals = solved.multipliers
    scale = 1.0 if program.weights is None else float(program.weights.max())
    multipliers = duals[: arcs * k].reshape(arcs, k) * (program.one.decay * scale)
    if program.weights is not None:
        return Distributions(rows, -solved.value * scale, multipliers, None)
    last = duals[-n:]
    total = float(last.sum()) or 1.0
    return Distributions(rows, -solved.value, multipliers / total, last / total)


def contradiction(program: Program, seconds: float) -> dict[str, Any] | None:
    """Multipliers that prove that no distributions are private with those that are fixed; None where there are some.

    All constraints of privacy are loosened by one number. If its least value is above 0, the multipliers that prove this
    are, by Farkas' lemma, a proof that at 0 there is nothing.
    """
    _, k, arcs = program.shape
    strict = program.inequalities()
    loose = np.zeros(len(strict))
    loose[: arcs * k] = -program.one.decay
    cost = np.zeros(program.unknowns + 1)
    cost[-1] = 1.0
    solved = _optimum(
        cost,
        strict.with_column(program.unknowns, loose),
        program.equations(),
        np.vstack([program.bounds(), [[0.0, 1.0]]]),
        seconds,
        program.method,
    )
    if solved is None or not solved.value > 0.0:
        return None
    multipliers = solved.multipliers[: arcs * k] * program.one.decay
    return linear_dual(multipliers.reshape(arcs, k))


@register
@dataclass(frozen=True)
class KColourLp(Solver[BoundaryColouring]):
    """The best answer in k colours, mean or worst case, by a sparse linear program with a proof.

    One variable a vertex and colour, and with delta > 0 one more an arc and colour.

    Privacy is that of events: the excesses of all colours along an arc add up to at most delta. Bounding them one by one
    would overstate the accuracy.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "k-colour-lp"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Three seconds at 10^4 vertices of a grid and three colours; more for the worst case, and where colours are mixed."""
        small, factor = _smaller(problem).graph, 5.0 if problem.objective == "worst_case" else 1.0
        cells = (small.size + small.edge_count * (1 + (problem.delta > 0))) * problem.k
        if _mixed(small, problem.epsilon):
            return 0.05 + factor * (7.5e-9 if problem.delta > 0 else 3.5e-9) * float(cells) ** 2
        return 0.05 + factor * 2.5e-7 * math.pow(cells, 1.45)

    def polls(self, problem: BoundaryColouring) -> bool:
        """Where it is short: HiGHS looks at the clock between its steps, but not while it prepares a large program."""
        return self.cost(problem) <= SHORT

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse two colours, and what HiGHS does not do in minutes."""
        if problem.k < 3:
            return f"it is for 3 colours or more, this graph has {problem.k}; the others solve two colours faster"
        if problem.epsilon > LARGEST:
            return f"e to the epsilon of {problem.epsilon:g} nats overflows in its rows"
        size = _smaller(problem).graph.size * problem.k
        limit = MAX_CELLS * 3 // problem.k
        if size > limit:
            return f"its program would have {size} probabilities, more than {limit}; exponential takes them"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum with its multipliers."""
        small, mean = _smaller(problem), problem.objective == "accuracy"
        fixed = None if problem.prescribed is None else (problem.prescribed.sites, problem.prescribed.rows)
        one = problem.step if fixed is not None else step(problem.epsilon, problem.delta, INSIDE)
        program = Program(small.graph, one, small.weights if mean else None, fixed)
        after = min(0.1 * budget.remaining, AFTER * small.graph.size * problem.k)
        seconds = budget.remaining - after if fixed is None else 0.45 * budget.remaining
        best = best_distributions(program, seconds)
        if best is None:
            witness = None if fixed is None else contradiction(program, 0.9 * budget.remaining)
            return Proposal(infeasible=witness, stats={"stop": "HiGHS ended without an answer"})
        rows, weights = best.rows, best.weights
        if small.classes is not None:
            rows = rows[small.classes]
            if weights is not None:
                weights = (weights / np.bincount(small.classes))[small.classes]
        dual = linear_dual(lifted(small, problem.graph, best.multipliers), weights)
        return Proposal(problem.of_rows(rows), best.value, dual, stats={"vertices": small.graph.size})


def _mixed(graph: DatasetGraph, epsilon: float) -> bool:
    """Whether many vertices are next to another colour, for the budget."""
    ends = np.repeat(np.arange(graph.size), np.diff(graph.indptr))
    other = graph.codes[ends] != graph.codes[graph.indices]
    return len(np.unique(ends[other])) >= MIXED * epsilon * graph.size


def _smaller(problem: BoundaryColouring) -> Reduced:
    """The quotient, unless distributions are prescribed or it would be for weights that do not matter."""
    if problem.prescribed is not None or (problem.objective == "worst_case" and problem.weights is not None):
        return Reduced(problem.graph, normalised_weights(problem), None)
    return reduced(problem)

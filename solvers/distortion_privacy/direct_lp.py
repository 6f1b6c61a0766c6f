"""Linear programming by HiGHS where the leakage is linear: maximal leakage, bounds on ratios, no leakage at all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.distortion_privacy._bound import better_bound
from privopt.solvers.distortion_privacy._space import ANALYTIC, NEGLIGIBLE, Space, at_once

FEASIBLE = 1e-10
"""Tolerance asked of HiGHS, for rows and for reduced costs; it takes no smaller one."""

MOST_CELLS = 400
"""Channels with more cells in use are not solved again in rational numbers."""

MOST_ENTRIES = 2e6
"""Programs with more entries are refused: writing them down alone takes seconds and hundreds of megabytes."""

WIDTH = 1e-8
"""Width of the bracket, relative to the level, at which the search for a level stops."""

FINEST = 1e-13
"""Width at which it stops for any level: programs in floats do not tell more."""

BELOW = (1e-9, 1e-8, 1e-7, 3e-7, 6e-7, 1e-6, 1e-5)
"""How far below the lower end a level is proved, relative to it, where rounding hides the proof there."""

HIGHEST = 64.0
"""Levels above this are not searched: a lift of e^64 is as good as none."""

MARGIN = 1e-11
"""A program's value counts as within the room up to this, relative to max(1, room)."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A program's answer.

    ``matrix`` has shape (n_w, n_y); ``multipliers`` one list a release, >= 0; ``cost`` is the value.
    """

    matrix: Floats
    multipliers: Floats
    cost: float
    iterations: int


class OutOfTime(Exception):
    """The program did not end before the deadline."""


Program: TypeAlias = Callable[[LocalInformationPrivacy], Optimum]
"""The least distortion within bounds on ratios."""


def least_distortion(space: Space, ratios: LocalInformationPrivacy, budget: Budget) -> Optimum:
    """The least distortion above that of the best reproduction, within bounds on ratios.

    One block of rows G (P(w) Q(w, y)) <= 0 a release; see :mod:`privopt.problems.local_information_privacy.polytope`.
    """
    from scipy.sparse import csr_array

    rows = posterior_rows(ratios)[:, space.seen] * space.weights
    cells, outputs = space.excess.size, space.excess.shape[1]
    blocks = _blocks([rows] * outputs) if len(rows) else csr_array((0, cells))
    every = np.ones(space.open.shape, dtype=bool)
    best = _solve(every, space.excess.T.ravel(), blocks, np.zeros(len(rows) * outputs), budget)
    return replace(best, multipliers=best.multipliers.reshape(outputs, len(rows)))


def least_guess(space: Space, limit: float | None, budget: Budget) -> Optimum:
    """Maximal leakage: the least sum of t(y) >= P(y | s) within the room, or the least distortion at sum <= limit.

    The multipliers of t(y) >= P(y | s), which sum to 1 (or to the price of the limit) over s, are distributions of S.
    """
    from scipy.sparse import csr_array, hstack, vstack

    outputs, secrets = space.excess.shape[1], len(space.prior)
    conditional = _blocks([space.table / space.prior[:, None]] * outputs)
    tops = _blocks([-np.ones((secrets, 1))] * outputs)
    distortion = np.concatenate([space.excess.T.ravel(), np.zeros(outputs)])
    guess = np.concatenate([np.zeros(space.excess.size), np.ones(outputs)])
    objective, last, right = (guess, distortion, space.room) if limit is None else (distortion, guess, limit)
    rows = csr_array(vstack([hstack([conditional, tops]), csr_array(last[None, :])]))
    best = _solve(space.open, objective, rows, np.append(np.zeros(outputs * secrets), right), budget)
    return replace(best, multipliers=best.multipliers[:-1].reshape(outputs, secrets))


def _solve(open_cells: NDArray[np.bool_], cost: Floats, rows: Any, right: Floats, budget: Budget) -> Optimum:
    """Minimise over channels; columns are release by release, then any extra variables >= 0."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    seen, outputs = open_cells.shape
    cells = np.arange(seen * outputs)
    upper = np.concatenate([open_cells.T.ravel(), np.full(len(cost) - cells.size, np.inf)])
    sums: Any = csr_array((np.ones(cells.size), (cells % seen, cells)), shape=(seen, len(cost)))
    solved = linprog(
        cost,
        A_ub=rows,
        b_ub=right,
        A_eq=sums,
        b_eq=np.ones(seen),
        bounds=[(0.0, top) for top in upper.tolist()],
        method="highs",
        options={
            "time_limit": max(0.01, min(budget.remaining, 1e9)),
            "primal_feasibility_tolerance": FEASIBLE,
            "dual_feasibility_tolerance": FEASIBLE,
        },
    )
    if solved.x is None or solved.fun is None or solved.ineqlin.marginals is None:
        raise OutOfTime(str(solved.message))
    matrix = np.clip(np.asarray(solved.x)[: cells.size].reshape(outputs, seen).T, 0.0, 1.0)
    prices = np.maximum(-np.asarray(solved.ineqlin.marginals), 0.0)
    return Optimum(matrix, prices, float(solved.fun), int(solved.nit))


def _blocks(parts: list[Floats]) -> Any:
    """A sparse block diagonal matrix."""
    from scipy.sparse import block_diag, coo_array, csr_array

    return csr_array(block_diag([coo_array(part) for part in parts]))


# nothing leaks


def silent_release(space: Space, budget: Budget) -> Proposal | None:
    """A release within the room that leaks nothing at all, if there is one: no measure can do better.

    There is one besides the constants only where the posteriors of S given W are linearly dependent.
    """
    from flint import fmpz_mat

    problem = space.problem
    if problem.max_leakage is not None or fmpz_mat(problem.weights).rank() == len(space.seen):
        return None
    half = replace(budget, deadline=time.monotonic() + budget.remaining / 2)
    try:
        best = least_distortion(space, problem.ratios(0.0), half)
    except OutOfTime:
        return None
    if best.cost > space.room:
        return None
    release = independent_release(space, best.matrix)
    if release is None or problem.costs.expected(release) > problem.floor:
        return None
    stats: dict[str, float | int | str] = {"iterations": best.iterations, "stop": "nothing needs to leak"}
    return Proposal(release, 0.0, ANALYTIC, stats=stats)


def independent_release(space: Space, matrix: Floats) -> Channel | None:
    """The exact solution of P(s, y) = P(s) P(y) and of the row sums, on the cells in use; None if there is none.

    At a vertex its cells determine it. Otherwise the cells that are left free keep their floats.
    """
    kept = np.where(space.open & (matrix > NEGLIGIBLE), matrix, 0.0)
    cells = np.argwhere(kept > 0)
    if len(cells) > MOST_CELLS:
        return None
    values = _exact_solution(_equations(space, cells), [Fraction(kept[w, y]) for w, y in cells.tolist()])
    if values is None or min(values) < 0:
        return None
    observed = space.problem.observation
    total, outputs = observed.leaking.exact.total, matrix.shape[1]
    rows = [[Fraction(0)] * outputs for _ in observed.observed]
    for (w, y), value in zip(cells.tolist(), values, strict=True):
        rows[space.seen[w]][y] = value
    mean = [
        sum((Fraction(p, total) * row[y] for p, row in zip(observed.weights, rows, strict=True)), Fraction(0))
        for y in range(outputs)
    ]
    return space.problem.answer([row if p else mean for p, row in zip(observed.weights, rows, strict=True)])


def _equations(space: Space, cells: NDArray[np.int64]) -> list[list[int]]:
    """Integer rows (coefficients, right side): row sums, then independence release by release."""
    observed = space.problem.observation
    columns, total = observed.weights, observed.leaking.exact.total
    places = [(int(space.seen[w]), int(y)) for w, y in cells]
    equations = [[int(place[0] == w) for place in places] + [1] for w in space.seen.tolist()]
    for y in sorted({place[1] for place in places}):
        for row in space.problem.weights:
            mass = sum(row)
            equations.append([(row[w] * total - mass * columns[w]) * (at == y) for w, at in places] + [0])
    return equations


def _exact_solution(equations: list[list[int]], guesses: list[Fraction]) -> list[Fraction] | None:
    """A solution with the free unknowns at their guesses; None if the equations contradict each other."""
    from flint import fmpq, fmpq_mat, fmpz_mat

    reduced, rank = fmpq_mat(fmpz_mat(equations)).rref()
    values: list[fmpq] = [fmpq(g.numerator, g.denominator) for g in guesses]
    unknowns = len(guesses)
    for i in range(rank):
        row = [reduced[i, j] for j in range(unknowns + 1)]
        pivot = next(j for j, v in enumerate(row) if v != 0)
        if pivot == unknowns:
            return None
        rest = sum((row[j] * values[j] for j in range(pivot + 1, unknowns) if row[j] != 0), fmpq(0))
        values[pivot] = row[unknowns] - rest
    return [Fraction(int(v.p), int(v.q)) for v in values]


# the least level of a bound on ratios at which the distortion can be met: a search with one program a level


@dataclass
class _Search:
    """The bracket: a level proved too low with its multipliers, and a channel that is close enough."""

    space: Space
    solve: Program
    low: float = -1.0
    high: float = math.inf
    below: float = math.inf
    above: float = 0.0
    proved: float = -1.0
    dual: dict[str, object] = field(default_factory=dict)
    claims: list[tuple[float, dict[str, object]]] = field(default_factory=list)
    matrix: Floats | None = None
    programs: int = 0
    iterations: int = 0

    def at(self, level: float) -> bool:
        """Solve at a level and move the bracket; whether the level is enough."""
        best = self.solve(self.space.problem.ratios(level))
        self.programs, self.iterations = self.programs + 1, self.iterations + best.iterations
        over = best.cost - self.space.room
        if over <= MARGIN * max(1.0, self.space.room):
            reached = self.space.leakage(best.matrix / best.matrix.sum(axis=1, keepdims=True))
            self.high, self.above, self.matrix = min(level, max(reached, self.low)), over, best.matrix
            return True
        self.low, self.below = max(level, self.low), over
        dual = {"kind": "level", "level": level, "multipliers": best.multipliers.tolist()}
        self.claims.append((level, dual))
        return False

    def prove(self) -> None:
        """Prove the highest level; where rounding hides the proof at the lower end, one a little below."""
        self._check()
        for width in BELOW:
            level = self.low * (1.0 - width)
            if self.proved < level:
                self.at(level)
                self._check()

    def _check(self) -> None:
        """Keep the highest level that is proved by its multipliers."""
        for level, dual in sorted(self.claims, key=lambda claim: claim[0], reverse=True):
            if level > self.proved and self.space.problem.check_bound(-math.inf, dual) is not None:
                self.proved, self.dual = level, dual
        self.claims.clear()

    def next(self) -> float:
        """Where the chord between the ends meets the room, kept off the ends; every third time the middle."""
        middle = (self.low + self.high) / 2
        if self.programs % 3 == 0 or self.below == math.inf:
            return middle
        chord = self.low + (self.high - self.low) * self.below / max(self.below - self.above, 1e-300)
        step = 0.02 * (self.high - self.low)
        return min(max(chord, self.low + step), self.high - step)

    def stats(self, stop: str) -> dict[str, float | int | str]:
        """What to report of it."""
        return {"iterations": self.iterations, "programs": self.programs, "stop": stop}


def least_level(space: Space, solve: Program, budget: Budget) -> Proposal:
    """Propose the channel at the least level, with the proof that a level just below is too low."""
    search = _Search(space, solve)
    if search.at(0.0) and search.matrix is not None:
        exact = independent_release(space, search.matrix)
        release = space.release(search.matrix) if exact is None else exact
        return Proposal(release, 0.0, ANALYTIC, stats=search.stats("nothing needs to leak"))
    level = 0.5
    while level <= HIGHEST and not search.at(level):
        level *= 2
    if search.matrix is None:
        return Proposal(space.problem.reproduction(), stats=search.stats("no finite level is enough"))
    stop = "the bracket is narrow"
    while search.high - search.low > max(FINEST, WIDTH * search.high):
        if budget.remaining <= 0:
            stop = "out of time"
            break
        search.at(search.next())
    search.prove()
    release = space.release(search.matrix)
    if not search.dual or space.problem.evaluate(release).leakage == math.inf:
        return Proposal(release, stats=search.stats(stop))
    return Proposal(release, -search.proved, search.dual, stats=search.stats(stop))


# the solver


@register
@dataclass(frozen=True)
class DirectLp(Solver[DistortionPrivacy]):
    """One linear program, or for the least level of ratios a search with one a level; proofs are its multipliers.

    Where nothing may leak, whatever the measure, the optimal vertex is solved again in rational numbers.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "direct-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal, to the tolerance of the program."""

    def cost(self, problem: DistortionPrivacy) -> float:
        """A program with a row for each ratio and release; about fifteen for a least level.

        Least maximal leakage is one program that takes several times as long.
        """
        observations, outputs = len(problem.observation.p_w), int(problem.matrix.shape[1])
        rows = self._rows(problem) + observations
        program = 2e-8 * rows * observations * outputs
        if problem.max_leakage is not None:
            return float(5e-3 + program)
        return float(5e-3 + 7 * program if problem.order is not None else 15 * (5e-3 + program))

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse measures that are not linear, and programs that are too large."""
        if problem.order not in (None, math.inf) and problem.max_leakage != 0:
            return f"{problem.leakage!r} is not linear in the channel; conic-clarabel takes it"
        entries = self._rows(problem) * len(problem.observation.p_w)
        if entries > MOST_ENTRIES:
            return f"its program has about {entries:.2g} entries, at most {MOST_ENTRIES:.2g}; interior-point takes larger ones"
        return None

    @staticmethod
    def _rows(problem: DistortionPrivacy) -> int:
        """Rows of ratios, or of largest probabilities."""
        secrets, outputs = len(problem.observation.p_s), int(problem.matrix.shape[1])
        pairs = secrets * (secrets - 1) if problem.leakage == "ldp" else 2 * secrets
        return int(outputs * (secrets if problem.order is not None else pairs))

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the program's channel and the bound from its multipliers."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        try:
            if problem.order is not None and problem.max_leakage != 0:
                return silent_release(space, budget) or _guess(space, budget)
            if problem.max_leakage is None:
                return least_level(space, lambda ratios: least_distortion(space, ratios, budget), budget)
            return _ratios(space, budget)
        except OutOfTime as cause:
            stats: dict[str, float | int | str] = {"iterations": 0, "stop": f"out of time: {cause}"}
            return Proposal(problem.anchor(), stats=stats)


def _ratios(space: Space, budget: Budget) -> Proposal:
    """The least distortion within a bound on ratios; exact where the bound is 0."""
    problem = space.problem
    best = least_distortion(space, problem.ratios(problem.budget), budget)
    exact = independent_release(space, best.matrix) if problem.budget == 0 else None
    release = space.release(best.matrix) if exact is None else exact
    dual = {"kind": "linear", "multipliers": best.multipliers.tolist()}
    bound = problem.check_bound(-math.inf, dual)
    return Proposal(release, bound, dual, stats={"iterations": best.iterations, "stop": "solved"})


def _guess(space: Space, budget: Budget) -> Proposal:
    """Maximal leakage, either way."""
    limit = None if space.problem.max_leakage is None else math.exp(min(700.0, space.problem.budget))
    best = least_guess(space, limit, budget)
    posteriors = best.multipliers + 1e-300 * space.prior
    bound, dual = better_bound(space, posteriors, best.matrix)
    stats: dict[str, float | int | str] = {"iterations": best.iterations, "stop": "solved"}
    return Proposal(space.release(best.matrix), bound, dual, stats=stats)

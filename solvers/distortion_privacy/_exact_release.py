"""From a float channel that leaks almost nothing to an exact one that leaks nothing, on the same cells."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Channel
from privopt.solvers.distortion_privacy._linear import OutOfTime, least_distortion
from privopt.solvers.distortion_privacy._space import ANALYTIC, NEGLIGIBLE, Space

MOST_CELLS = 400


def silent_release(space: Space, budget: Budget) -> Proposal | None:
    """A release within the room that leaks nothing at all, if one is found: no measure can do better.

    There is one besides the constants only where the posteriors of S given W are linearly dependent.
    """
    from flint import fmpz_mat

    problem = space.problem
    weights, n = problem.observation.leaking.exact.weights, len(problem.observation.observed)
    table = fmpz_mat([list(weights[i : i + n]) for i in range(0, len(weights), n)])
    if problem.max_leakage is not None or table.rank() == len(space.seen):
        return None
    try:
        found = least_distortion(space, problem.ratios(0.0), replace(budget, deadline=_half(budget)))
    except OutOfTime:
        return None
    if found.cost > space.room:
        return None
    release = independent_release(space, found.matrix)
    if release is None or problem.costs.expected(release) > problem.floor:
        return None
    stats: dict[str, float | int | str] = {"iterations": found.iterations, "stop": "nothing needs to leak"}
    return Proposal(release, 0.0, ANALYTIC, stats=stats)


def _half(budget: Budget) -> float:
    return time.monotonic() + budget.remaining / 2


def independent_release(space: Space, matrix: Floats) -> Channel | None:
    """The exact solution of P(s, y) = P(s) P(y) and of the row sums, on the cells in use; None if there is none.

    Where a vertex was found its cells determine it. Otherwise the cells that are left free keep their floats.
    """
    kept = np.where(space.open & (matrix > NEGLIGIBLE), matrix, 0.0)
    cells = np.argwhere(kept > 0)
    if len(cells) > MOST_CELLS:
        return None
    values = _solve(_equations(space, cells), [Fraction(kept[w, y]) for w, y in cells.tolist()])
    if values is None or min(values) < 0:
        return None
    observed = space.problem.observation
    law = observed.leaking.exact
    n, outputs = len(observed.observed), matrix.shape[1]
    rows = [[Fraction(0)] * outputs for _ in range(n)]
    for (w, y), value in zip(cells.tolist(), values, strict=True):
        rows[space.seen[w]][y] = value
    seen = [sum(law.weights[w::n]) for w in range(n)]
    marginal = [
        sum((p * row[y] for p, row in zip(seen, rows, strict=True)), Fraction(0)) for y in range(outputs)
    ]
    full = [[m / law.total for m in marginal] if not p else row for p, row in zip(seen, rows, strict=True)]
    return space.problem.answer(full)


def _equations(space: Space, cells: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> list[list[int]]:
    """Integer rows (coefficients, right side): row sums, then independence release by release."""
    observed = space.problem.observation
    weights, n = observed.leaking.exact.weights, len(observed.observed)
    table = [weights[i : i + n] for i in range(0, len(weights), n)]
    total, rows = observed.leaking.exact.total, [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    places = [(int(space.seen[w]), int(y)) for w, y in cells]
    found = [[int(place[0] == w) for place in places] + [1] for w in space.seen.tolist()]
    for y in sorted({place[1] for place in places}):
        for s, row in enumerate(table):
            found.append([(row[w] * total - rows[s] * columns[w]) * (at == y) for w, at in places] + [0])
    return found


def _solve(equations: list[list[int]], guesses: list[Fraction]) -> list[Fraction] | None:
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

"""A release that leaks nothing within a bound on the distortion: by projections, or by a linear program where it is small."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Channel
from privopt.solvers.distortion_privacy._programs import OutOfTime, least_distortion
from privopt.solvers.distortion_privacy._space import ANALYTIC, NEGLIGIBLE, Space

MOST_CELLS = 400
"""Channels with more cells in use are not solved again in rational numbers."""

SMALL = 400
"""Cells up to which the program comes soon: it takes milliseconds, and knows when there is none."""
SOON, ROUNDS = 60, 4000
"""Rounds before the program where it is so small, and all of them."""
SHARE = 0.05
"""Share of the time for projections: where they find a release they mostly find it soon."""
LOOK = 10
"""Rounds between two looks at what has been reached."""
DEPENDENT = 1e-12
"""Singular values below this share of the largest count as zero."""
KEPT = 0.97
"""Share of the room that is aimed at; the rest is for what lifts negative cells to zero."""
ABOVE = 1e-9
"""Least probability of a cell, as a share of the even one: what is solved exactly afterwards differs by roundings."""
DYADIC = 2**53
"""Denominator of the rows that are not solved for."""


class _NoSuchRelease(Exception):
    """The linear program has shown that what leaks nothing is not within the room."""


def silent_release(space: Space, budget: Budget) -> Proposal | None:
    """A release within the room that leaks nothing at all, if one is found: no measure can do better."""
    if not _possible(space):
        return None
    ways = (
        (_by_program, projected_release) if space.excess.size <= SMALL else (projected_release, _by_program)
    )
    try:
        return next((found for way in ways if (found := way(space, budget)) is not None), None)
    except _NoSuchRelease:
        return None


def projected_release(space: Space, budget: Budget, rounds: int = ROUNDS) -> Proposal | None:
    """The same by projections alone, which find one soon or not at all."""
    if space.room == 0 or not _possible(space):
        return None
    matrix = silent_matrix(space, budget.earlier(1.0 - SHARE), rounds)
    return None if matrix is None else _within(space, completed(space, matrix))


def _possible(space: Space) -> bool:
    """Whether anything but a constant leaks nothing: only where the posteriors of S given W are linearly dependent."""
    return space.problem.max_leakage is None and space.rank < len(space.seen)


def _within(space: Space, release: Channel | None) -> Proposal | None:
    """A release that leaks nothing, if it is close enough."""
    if release is None or space.problem.costs.expected(release) > space.problem.floor:
        return None
    return Proposal(release, 0.0, ANALYTIC, stats={"stop": "nothing needs to leak"})


def _by_program(space: Space, budget: Budget) -> Proposal | None:
    """The vertex of least distortion, where it may have few cells."""
    seen, outputs = space.excess.shape
    if (space.rank - 1) * outputs + seen > 2 * MOST_CELLS:  # which it has, unless it is degenerate
        return None
    half = replace(budget, deadline=time.monotonic() + budget.remaining / 2)
    try:
        best = least_distortion(space, space.problem.ratios(0.0), half)
    except OutOfTime:
        return None
    if best.cost > space.room:
        raise _NoSuchRelease
    return _within(space, independent_release(space, best.matrix))


def silent_matrix(space: Space, budget: Budget, rounds: int = ROUNDS) -> Floats | None:
    """A channel Q >= 0 with P(s | y) = P(s) up to rounding and a distortion within the room, or None where none was met.

    The Douglas-Rachford iteration between two sets whose projections are written down at once: Q >= 0, and the matrices
    with A Q = 0, rows that sum to 1 and the distortion wanted, where A = P(s, w) / P(s) - P(w) has the all-ones vector in
    its null space. What is left below zero is lifted by a mixture with the uniform release.

    Parameters
    ----------
    space : Space
        With room for some distortion.
    budget : Budget
    rounds : int
        After which it gives up.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> from privopt.problems.distortion_privacy.problem import DistortionPrivacy
    >>> joint = JointDistribution.normalised([[0.3, 0.1, 0.1], [0.1, 0.1, 0.3]])
    >>> space = Space(DistortionPrivacy(joint, 1.0 - np.eye(3), max_distortion=0.45))
    >>> matrix = silent_matrix(space, Budget())
    >>> matrix is not None and float(np.ptp(space.table @ matrix, axis=0).max()) < 1e-15
    True
    """
    seen, outputs = space.excess.shape
    basis = _spanned(space)
    slope = space.excess - basis.T @ (basis @ space.excess)
    slope -= slope.mean(axis=1, keepdims=True)
    steep, aim = float((space.excess * slope).sum()), KEPT * space.room
    state = np.full((seen, outputs), 1.0 / outputs)
    for i in range(rounds):
        point = state - basis.T @ (basis @ state)
        point += (1.0 - point.sum(axis=1, keepdims=True)) / outputs
        over = float((space.excess * point).sum()) - aim
        if over > 0:
            if steep <= 0:
                return None
            point -= over / steep * slope
        if i % LOOK == LOOK - 1:
            lifted = _lifted(point)
            if float((space.excess * lifted).sum()) <= space.room:
                return lifted
            if budget.remaining <= 0:
                return None
        state += np.maximum(2.0 * point - state, 0.0) - point
    return None


def _spanned(space: Space) -> Floats:
    """An orthonormal basis of the rows of A, shape (r, n): what is left of a column without its part in it, A takes to 0."""
    rows = space.table / space.prior[:, None] - space.weights / space.weights.sum()
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(basis[sizes > DEPENDENT * sizes.max(initial=0.0)])


def _lifted(point: Floats) -> Floats:
    """The least mixture with the uniform release that has all cells well above 0; both leak nothing."""
    below = ABOVE + max(0.0, -float(point.min())) * point.shape[1]
    return np.asarray(np.maximum((point + below / point.shape[1]) / (1.0 + below), 0.0))


def completed(space: Space, matrix: Floats) -> Channel | None:
    """The exact solution of P(s, y) = P(s) P(y) and of the row sums near a matrix; None if it has a negative cell.

    With r independent equations A Q = 0 the rows of Q of r observations follow from the others; where those sum to 1
    exactly, so do these, as A times the all-ones vector is 0.
    """
    from flint import fmpq_mat, fmpz_mat

    reduced, rank = fmpq_mat(fmpz_mat(_independence(space))).rref()
    if rank == 0:
        return None
    basis = [[reduced[i, w] for w in range(len(matrix))] for i in range(rank)]
    solved = _largest_columns(np.array([[float(x.p) / float(x.q) for x in row] for row in basis]))
    others = np.setdiff1d(np.arange(len(matrix)), solved).tolist()
    weights = _dyadic(matrix[others])

    def columns(places: list[int]) -> Any:
        return fmpq_mat(rank, len(places), [row[w] for row in basis for w in places])

    try:
        follow = columns(solved).solve(columns(others))
    except ZeroDivisionError:
        return None
    numbers, below = (follow * fmpq_mat(fmpz_mat(weights))).numer_denom()
    rows = {w: [Fraction(x, DYADIC) for x in row] for w, row in zip(others, weights, strict=True)}
    for w, row in zip(solved, numbers.tolist(), strict=True):
        rows[w] = [Fraction(-int(x), int(below) * DYADIC) for x in row]
    if any(min(rows[w]) < 0 for w in solved):
        return None
    return _answer(space, [rows[w] for w in range(len(matrix))])


def _independence(space: Space) -> list[list[int]]:
    """Integer rows A, one a secret: P(s, y) = P(s) P(y) where A times the column of y is 0."""
    observed = space.problem.observation
    columns, total = observed.weights, observed.leaking.exact.total
    masses = [sum(row) for row in space.problem.weights]
    return [
        [row[w] * total - mass * columns[w] for w in space.seen.tolist()]
        for row, mass in zip(space.problem.weights, masses, strict=True)
    ]


def _largest_columns(basis: Floats) -> list[int]:
    """As many columns as there are rows, far from dependent: each is the largest beside those before it."""
    rest, chosen = basis / np.abs(basis).max(axis=1, keepdims=True), []
    for _ in range(len(basis)):
        place = int((rest**2).sum(axis=0).argmax())
        direction = rest[:, place] / np.linalg.norm(rest[:, place])
        rest = rest - np.outer(direction, direction @ rest)
        rest[:, place] = 0.0
        chosen.append(place)
    return chosen


def _dyadic(rows: Floats) -> list[list[int]]:
    """Integer weights of distributions; each row sums to the denominator."""
    weights = [[int(x) for x in row] for row in np.rint(rows * DYADIC).tolist()]
    for row in weights:
        row[row.index(max(row))] += DYADIC - sum(row)
    return weights


def _answer(space: Space, rows: list[list[Fraction]]) -> Channel:
    """The channel of rows on the observations seen; unseen ones get the distribution of the output."""
    observed = space.problem.observation
    full = dict(zip(space.seen.tolist(), rows, strict=True))
    if len(full) == len(observed.observed):
        return space.problem.answer([full[w] for w in range(len(full))])
    total = observed.leaking.exact.total
    mean = [
        sum((Fraction(observed.weights[w], total) * row[y] for w, row in full.items()), Fraction(0))
        for y in range(len(rows[0]))
    ]
    return space.problem.answer([full.get(w, mean) for w in range(len(observed.observed))])


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
    rows = [[Fraction(0)] * matrix.shape[1] for _ in space.seen]
    for (w, y), value in zip(cells.tolist(), values, strict=True):
        rows[w][y] = value
    return _answer(space, rows)


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

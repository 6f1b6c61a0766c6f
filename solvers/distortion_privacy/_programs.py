"""The linear programs over channels: the least distortion within bounds on ratios, and the least maximal leakage."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.highs import FINEST, Least, Rows, minimise, sifted
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.distortion_privacy._space import Space


@dataclass(frozen=True, eq=False)
class Optimum:
    """A program's answer.

    ``matrix`` has shape (n_w, n_y); ``multipliers`` one list a release, >= 0; ``cost`` is the value. Not ``whole`` where the time
    ended before all cells were looked at.
    """

    matrix: Floats
    multipliers: Floats
    cost: float
    iterations: int
    whole: bool = True


class OutOfTime(Exception):
    """The program did not end before the deadline."""


NEAREST, JOINING = 12, 4
"""Cells of each row with which a program of few cells begins, and how many join at a time, for each row."""


def least_distortion(
    space: Space, ratios: LocalInformationPrivacy, budget: Budget, *, few: bool = False
) -> Optimum:
    """The least distortion above that of the best reproduction, within bounds on ratios.

    One block of rows G (P(w) Q(w, y)) <= 0 a release; see :mod:`privopt.problems.local_information_privacy.polytope`. With
    ``few`` first over few cells of each row, which has an answer early and, within narrow bounds, the optimum later.
    """
    block = posterior_rows(ratios)[:, space.seen] * space.weights
    outputs = space.excess.shape[1]
    every = np.ones(space.open.shape, dtype=bool)
    first = _nearest(space) if few else None
    best = _solve(every, space.excess.T.ravel(), _repeated(block, outputs), budget, first)
    return replace(best, multipliers=best.multipliers.reshape(outputs, len(block)))


def least_guess(space: Space, limit: float | None, budget: Budget, *, few: bool = False) -> Optimum:
    """Maximal leakage: the least sum of t(y) >= P(y | s) within the room, or the least distortion at sum <= limit.

    With ``few`` first over few cells of each row, where there is a limit.
    The multipliers of t(y) >= P(y | s), which sum to 1 (or to the price of the limit) over s, are distributions of S.
    """
    outputs, secrets = space.excess.shape[1], len(space.prior)
    conditional = _repeated(space.table / space.prior[:, None], outputs)
    distortion = np.concatenate([space.excess.T.ravel(), np.zeros(outputs)])
    guess = np.concatenate([np.zeros(space.excess.size), np.ones(outputs)])
    objective, last, right = (guess, distortion, space.room) if limit is None else (distortion, guess, limit)
    own, used = np.arange(len(conditional)), np.flatnonzero(last)
    rows = Rows.cells(
        np.concatenate([np.repeat(own, np.diff(conditional.ends)), own, np.full(len(used), len(own))]),
        np.concatenate([conditional.columns, space.excess.size + own // secrets, used]),
        np.concatenate([conditional.values, -np.ones(len(own)), last[used]]),
        np.append(conditional.right, right),
    )
    first = _nearest(space) if few and limit is not None else None
    best = _solve(space.open, objective, rows, budget, first)
    return replace(best, multipliers=best.multipliers[:-1].reshape(outputs, secrets))


def _nearest(space: Space) -> NDArray[np.bool_]:
    """The cheapest cells of each row, and the best release for all, which leaks nothing."""
    count, outputs = space.excess.shape
    first = np.zeros((count, outputs), dtype=bool)
    first[:, space.excess.sum(axis=0).argmin()] = True
    first[np.arange(count)[:, None], np.argsort(space.excess, axis=1)[:, :NEAREST]] = True
    return first


def _solve(
    open_cells: NDArray[np.bool_],
    cost: Floats,
    rows: Rows,
    budget: Budget,
    first: NDArray[np.bool_] | None = None,
) -> Optimum:
    """Minimise over channels; columns are release by release, then any extra variables >= 0. From the ``first`` cells on, where they are given."""
    seen, outputs = open_cells.shape
    cells = np.arange(seen * outputs)
    sums = Rows.cells(cells % seen, cells, np.ones(cells.size), np.ones(seen))
    solved: Least | None
    if first is None:
        upper = np.concatenate([open_cells.T.ravel(), np.full(len(cost) - cells.size, np.inf)])
        solved = minimise(cost, rows, sums, upper=upper, tolerance=FINEST, seconds=budget.remaining)
    else:
        start = np.concatenate([np.flatnonzero(first.T.ravel()), np.arange(cells.size, len(cost))])
        joining = JOINING * seen
        solved = sifted(cost, rows, sums, start, each=joining, tolerance=FINEST, seconds=budget.remaining)
    if solved is None:
        raise OutOfTime("HiGHS ended without an optimum")
    matrix = np.clip(solved.point[: cells.size].reshape(outputs, seen).T, 0.0, 1.0)
    return Optimum(matrix, solved.multipliers, solved.value, solved.iterations, solved.whole)


def _repeated(block: Floats, count: int) -> Rows:
    """The rows ``block`` x <= 0 for each of ``count`` parts of x."""
    one = Rows.dense(block, 0.0)
    shifts = np.arange(count)[:, None]
    return Rows(
        np.tile(one.values, count),
        (one.columns + shifts * block.shape[1]).ravel(),
        np.append((one.ends[:-1] + shifts * len(one.values)).ravel(), count * len(one.values)),
        np.zeros(count * len(block)),
    )

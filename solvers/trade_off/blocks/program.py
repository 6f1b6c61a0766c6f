"""Set partitioning relaxed to a linear program, solved one after the other from the last basis as blocks join."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import FINEST, Rows, minimise, silent_highs, whole
from privopt.solvers.trade_off.blocks.pool import Pool

SURE = 0.99
"""Blocks that a relaxation has so much of are taken."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The value of the program, how much of each block it takes, prices of the symbols and the multiplier of what is needed."""

    value: float
    point: Floats
    prices: Floats
    multiplier: float


class Restricted:
    """Minimise the cost of blocks that cover each of n symbols once and gain what is needed, blocks joining one after the other.

    Parameters
    ----------
    size : int
    need : float or None
        None where nothing is needed.

    Examples
    --------
    >>> from privopt.solvers.trade_off.blocks.pool import members_of
    >>> program, blocks = Restricted(2, None), np.array([1, 2, 3])
    >>> program.add(Pool(blocks, np.array([1.0, 1.0, 1.5]), np.zeros(3), members_of(blocks, 2)))
    >>> best = program.solve(1.0)
    >>> None if best is None else (best.value, best.point.tolist())
    (1.5, [0.0, 0.0, 1.0])
    """

    def __init__(self, size: int, need: float | None) -> None:
        import highspy

        self.size, self.need = size, need
        options = {"primal_feasibility_tolerance": FINEST, "dual_feasibility_tolerance": FINEST}
        self._highs = silent_highs({**options, "presolve": "off"})
        lp = highspy.HighsLp()
        right = np.ones(size if need is None else size + 1)
        lower, upper = right.copy(), right.copy()
        if need is not None:
            lower[size], upper[size] = need, highspy.kHighsInf
        lp.num_col_, lp.num_row_ = 0, len(right)
        lp.row_lower_, lp.row_upper_ = lower, upper
        self._highs.passModel(lp)

    def add(self, pool: Pool) -> None:
        """More blocks."""
        columns = pool.members if self.need is None else np.column_stack([pool.members, pool.gain])
        used, m = columns != 0, len(columns)
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))[:-1]]).astype(np.int32)
        index = np.nonzero(used)[1].astype(np.int32)
        none, any_ = np.zeros(m), np.full(m, np.inf)
        self._highs.addCols(m, pool.cost, none, any_, len(index), starts, index, columns[used])

    def solve(self, seconds: float) -> Optimum | None:
        """The optimum, or None where HiGHS ended without one."""
        import highspy

        # the time of HiGHS counts from its first run
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + min(max(seconds, 0.01), 1e9))
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        point, duals = np.maximum(solution.col_value, 0.0), np.array(solution.row_dual)
        value = float(self._highs.getInfo().objective_function_value)
        multiplier = 0.0 if self.need is None else max(0.0, float(duals[self.size]))
        return Optimum(value, point, duals[: self.size], multiplier)


def dive(some: Pool, need: float | None, priced: Callable[[Ints], Pool], seconds: float) -> Ints | None:
    """A partition: the block that the relaxation has most of, again and again for what is left.

    Parameters
    ----------
    some : Pool
        Blocks to choose from. What is left may become one block, too.
    need : float or None
        What is to be gained; None where nothing is needed.
    priced : callable
        From blocks as bits, none of them empty, to what they cost and gain.
    seconds : float

    Returns
    -------
    int array or None
        Blocks as bits; None where no partition was found in the time.

    Examples
    --------
    >>> from privopt.solvers.trade_off.blocks.pool import members_of
    >>> def priced(blocks):
    ...     return Pool(blocks, members_of(blocks, 3) @ np.array([1.0, 1.0, 1.0]), np.zeros(len(blocks)), members_of(blocks, 3))
    >>> some = Pool(np.array([1, 2, 4, 3]), np.array([1.0, 1.0, 1.0, 1.1]), np.zeros(4), members_of(np.array([1, 2, 4, 3]), 3))
    >>> partition = dive(some, None, priced, 1.0)
    >>> None if partition is None else sorted(partition.tolist())
    [3, 4]
    """
    until = time.monotonic() + seconds
    state = _Dive(some, [], (1 << some.members.shape[1]) - 1, need)
    before: list[tuple[_Dive, Ints]] = []
    while state.free and time.monotonic() < until:
        state = state.narrowed(priced)
        found = state.relaxed(until - time.monotonic())
        if found is not None:
            most = int(np.argmax(found))
            taken = np.flatnonzero(found >= SURE) if found[most] >= SURE else np.array([most])
            before.append((state, taken))
            state = state.after(taken)
        elif before:  # the last choice was wrong
            state, taken = before.pop()
            state = replace(
                state, some=state.some.take(np.setdiff1d(np.arange(len(state.some.blocks)), taken))
            )
        else:
            return None
    return None if state.free else np.array(state.chosen)


@dataclass(frozen=True, eq=False)
class _Dive:
    """Blocks to choose from, those that were chosen, the symbols that are free as bits, and what is still to be gained."""

    some: Pool
    chosen: list[int]
    free: int
    need: float | None

    def narrowed(self, priced: Callable[[Ints], Pool]) -> _Dive:
        """With blocks of free symbols alone, all of them together if that gains enough."""
        blocks = self.some.blocks
        some = self.some.take(np.flatnonzero(((blocks & ~self.free) == 0) & (blocks != self.free)))
        rest = priced(np.array([self.free]))
        enough = self.need is None or rest.gain[0] >= self.need
        return replace(self, some=some.joined(rest) if enough else some)

    def relaxed(self, seconds: float) -> Floats | None:
        """How much of each block the relaxation has."""
        held = self.some.members[:, [i for i in range(self.some.members.shape[1]) if self.free >> i & 1]]
        each, below = Rows.dense(np.ascontiguousarray(held.T), 1.0), gaining(self.some, self.need)
        found = minimise(self.some.cost, below, each, tolerance=FINEST, seconds=seconds)
        return None if found is None else found.point

    def after(self, taken: Ints) -> _Dive:
        """With some blocks chosen."""
        need = None if self.need is None else self.need - float(self.some.gain[taken].sum())
        blocks = self.some.blocks[taken].tolist()
        return _Dive(self.some, [*self.chosen, *blocks], self.free & ~sum(blocks), need)


def integral(some: Pool, need: float | None, start: Floats, seconds: float) -> Floats | None:
    """The best partition as zeros and ones that branch and bound finds in the time, from one to start with."""
    each = Rows.dense(np.ascontiguousarray(some.members.T), 1.0)
    return whole(some.cost, gaining(some, need), each, start=start, seconds=seconds)


def gaining(some: Pool, need: float | None) -> Rows:
    """That blocks gain what is needed."""
    return Rows.none() if need is None else Rows.dense(-some.gain[None], -need)

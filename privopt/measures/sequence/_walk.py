"""All outputs of a sequence at once: beliefs, and the extremes of the log-ratios of the sequences behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.mechanisms.policy.beliefs import Filter
from privopt.mechanisms.policy.words import possible, reachable
from privopt.models import MarkovChain

if TYPE_CHECKING:
    from privopt.mechanisms.policy.policy import SequencePolicy

Kernels: TypeAlias = Callable[[Floats, int, int], Floats]
"""From beliefs over states (M, k), the first record and the number of letters to kernels (M, n, m)."""

MAX_BELIEFS = 2**20
DIGITS = 13
"""Beliefs that agree to so many decimals are one."""


def same_beliefs(beliefs: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Position of the first of each distinct belief, and for every belief which of these it is.

    Examples
    --------
    >>> first, which = same_beliefs(np.array([[0.25, 0.75], [0.5, 0.5], [0.25, 0.75]]))
    >>> len(first), bool(which[0] == which[2] != which[1])
    (2, True)
    """
    rounded = np.round(beliefs, DIGITS) + 0.0
    keys = np.ascontiguousarray(rounded).view(np.dtype((np.void, rounded.dtype.itemsize * rounded.shape[1])))
    _, first, which = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    return first, np.asarray(which.ravel())


def policy_kernels(policy: SequencePolicy) -> Kernels:
    """The kernels of a policy, as they are drawn from."""

    def kernels(beliefs: Floats, begin: int, length: int) -> Floats:
        weights = policy.part(length).weights(beliefs, begin)
        return np.asarray(weights / weights[0, 0].sum())

    return kernels


@dataclass(frozen=True, eq=False)
class _Front:
    """Distinct beliefs (M, k), and for each state the extremes of the sums of log-ratios of paths that end there."""

    beliefs: Floats
    most: Floats
    least: Floats


@dataclass(frozen=True)
class Walk:
    """Outputs of a chain released ``batch`` letters at a time.

    Examples
    --------
    >>> walk = Walk(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1)
    >>> kernel = np.array([[[0.75, 0.25], [0.25, 0.75]]])
    >>> [round(x, 6) for x in walk.extremes(lambda beliefs, begin, length: kernel, 1)]
    [0.405465, -0.693147]
    """

    chain: MarkovChain
    batch: int

    def extremes(self, kernels: Kernels, count: int) -> tuple[float, float]:
        """The largest and the least ln Pr(x | y) / Pr(x) over sequences of ``count`` letters."""
        start = Filter(self.chain, 1).start()[None, :]
        front = _Front(start, np.where(start > 0, 0.0, -np.inf), np.where(start > 0, 0.0, np.inf))
        floor = np.inf
        for begin in range(0, count, self.batch):
            length = min(self.batch, count - begin)
            table = kernels(front.beliefs, begin, length)
            if len(table) * table.shape[2] > 2 * MAX_BELIEFS or len(front.beliefs) > MAX_BELIEFS:
                raise InvalidProblem(
                    f"more than {MAX_BELIEFS} beliefs within {begin} letters: give a smaller length"
                )
            front, lowest = self._released(front, table, begin, length)
            floor = min(floor, lowest)
            if begin + length < count:
                front = self._moved(front, begin + length - 1)
        return float(front.most.max()), min(float(front.least.min()), floor)

    def _released(self, front: _Front, table: Floats, begin: int, length: int) -> tuple[_Front, float]:
        """After a release, by output and by state at its last letter; and the least ratio if that is -inf."""
        filtered = Filter(self.chain, length)
        ways = filtered.paths
        inputs = filtered.inputs(front.beliefs, begin)
        law = (inputs[:, None, :] @ table)[:, 0] / inputs.sum(axis=1, keepdims=True)
        users, outputs = np.nonzero(law > 0)
        columns = table[users, :, outputs]
        with np.errstate(divide="ignore"):
            told = np.log(columns) - np.log(law[users, outputs])[:, None]
        first, last = ways.states[:, 0], ways.states[:, -1]
        can = (front.beliefs[:, first] > 0) & possible(self.chain, ways.states, begin)
        can = can[users]
        step = told[:, ways.word]
        most = np.where(can, front.most[users][:, first] + step, -np.inf)
        least = np.where(can, front.least[users][:, first] + step, np.inf)
        there, begins = np.unique(last, return_index=True)
        shape = (len(users), self.chain.k)
        ups, downs = np.full(shape, -np.inf), np.full(shape, np.inf)
        ups[:, there] = np.maximum.reduceat(most, begins, axis=1)
        downs[:, there] = np.minimum.reduceat(least, begins, axis=1)
        after = filtered.after(front.beliefs[users], columns, begin)
        return _Front(after, ups, downs), float(downs.min())

    def _moved(self, front: _Front, record: int) -> _Front:
        """One transition on, and beliefs that are the same made one."""
        can = reachable(self.chain, record)
        most, least = np.full(front.most.shape, -np.inf), np.full(front.least.shape, np.inf)
        for state in range(self.chain.k):
            if can[:, state].any():
                most[:, state] = front.most[:, can[:, state]].max(axis=1)
                least[:, state] = front.least[:, can[:, state]].min(axis=1)
        firsts, which = same_beliefs(front.beliefs)
        order = np.argsort(which, kind="stable")
        begins = np.searchsorted(which[order], np.arange(len(firsts)))
        return _Front(
            front.beliefs[firsts],
            np.maximum.reduceat(most[order], begins, axis=0),
            np.minimum.reduceat(least[order], begins, axis=0),
        )

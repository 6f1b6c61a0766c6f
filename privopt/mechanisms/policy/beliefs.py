"""What everybody knows of the present state, from the releases so far: computed in floats, with a proved distance.

After a release y the belief b over states becomes b w(., y), divided by its sum, times the transition matrix P. The Hilbert
distance of two positive vectors with the same support, ln max(u/v) - ln min(u/v), is unchanged by scaling and by the
multiplication of both with the same w(., y), and no non-negative matrix expands it. Rounding adds to it: with a unit
u = 2^-53, the product with an integer below 2**53, the rounded entry of P, its product, the sum of n terms in any
order and the division are at most n + 3 relative errors of u for an entry, so at most 2 (n + 3) u for the distance. The
first belief is rounded from the exact distribution, which is within the same. After k releases the computed belief is within
h = 2 (k + 1) (n + 3) u of the true one; words of w letters add at most 2 (2 w + f) u a release, f being the number
of paths of states that end in one state.

Which states are possible is followed exactly, by a product of booleans, so an impossible state has belief 0 exactly
and a possible one has not: a belief below 1e-300 is raised to it. This error is not relative, and is contained as
follows. An input that a state of belief below 1e-270 can cause is muted: the kernel gives it the output distribution, so
evidence multiplies such a state by 1 (within 2^-26). What was raised therefore stays a mass of at most n (k + 1) 1e-300
(1 + 2^-6 for k up to 2^20) below that level; when it flows into a state of more than 1e-270, the relative error there
grows by at most n (k + 1) 1e-30 a step, over all steps by less than n 2^41 1e-30, which is far below u.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.mechanisms.policy import setting
from privopt.mechanisms.policy.fixed import gathered, means, total
from privopt.models import MarkovChain

FLOOR = 1e-300
FAINT = 1e-270
_UNIT = 2.0**-53
MAX_BELIEFS = 2**20
DIGITS = 13
"""Beliefs of a walk that agree to so many decimals are one."""

Kernels: TypeAlias = Callable[[Floats, int, int], Floats]
"""From beliefs over states (M, k), the first record and the number of letters to kernels (M, n, m)."""


@dataclass(frozen=True)
class Filter:
    """How beliefs over states become beliefs over inputs, and move on after a release.

    Examples
    --------
    >>> beliefs = Filter(MarkovChain([[0.75, 0.25], [0.5, 0.5]], [0.5, 0.5]), 1)
    >>> beliefs.start().tolist()
    [0.5, 0.5]
    >>> beliefs.after(np.array([[0.5, 0.5]]), np.array([[3.0, 1.0]]), 0).tolist()
    [[0.6875, 0.3125]]
    """

    chain: MarkovChain
    batch: int

    @property
    def paths(self) -> setting.Paths:
        """How states spell inputs."""
        return setting.paths(self.chain, self.batch)

    def distance(self, steps: float) -> float:
        """Hilbert distance h between computed and true beliefs after at most ``steps`` releases."""
        ways = self.paths
        extra = 0
        if not ways.identity:
            extra = 2 * self.batch + int(np.bincount(ways.states[:, -1]).max())
            extra += int(np.bincount(ways.word).max())  # the belief over inputs is a sum of its own
        return 2.0 * (steps + 1) * (self.chain.k + 4 + extra) * _UNIT

    def start(self) -> Floats:
        """Belief over states before anything is released, shape (k,)."""
        sure = np.array([weight > 0 for weight in self.chain.exact_initial.weights])
        return np.where(sure, np.maximum(self.chain.initial, FLOOR), 0.0)

    def inputs(self, beliefs: Floats, record: int) -> Floats:
        """Beliefs over inputs from beliefs over states (M, k) at a record; shape (M, n)."""
        ways = self.paths
        if ways.identity:
            return beliefs
        sure = setting.possible(self.chain, ways.states, record)
        joint = beliefs[:, ways.states[:, 0]] * setting.probabilities(self.chain, ways.states, record)
        can = (beliefs[:, ways.states[:, 0]] > 0) & sure
        joint = np.where(can, np.maximum(joint, FLOOR), 0.0)
        return gathered(joint, ways.word, len(ways.words))

    def muted(self, beliefs: Floats, record: int) -> Bools:
        """Inputs that are impossible, or that a state of vanishing belief can cause; shape (M, n)."""
        ways, faint = self.paths, beliefs < FAINT
        if ways.identity or not faint.any():
            return faint if ways.identity else self._impossible(beliefs, record)
        risky = (faint & (beliefs > 0))[:, ways.states[:, 0]]
        risky &= setting.possible(self.chain, ways.states, record)
        caused: Bools = gathered(risky.astype(np.float64), ways.word, len(ways.words)) > 0
        return caused | self._impossible(beliefs, record)

    def _impossible(self, beliefs: Floats, record: int) -> Bools:
        return np.asarray(self.inputs(beliefs, record) < FAINT)

    def after(self, beliefs: Floats, columns: Floats, record: int) -> Floats:
        """Beliefs over the state that follows, given the column w(., y) of what was released; shape (M, k).

        Raises
        ------
        InvalidMechanism
            If a release has probability 0 at its belief.
        """
        joint = self._posterior(beliefs, columns, record)
        mass = total(joint)
        if not (mass > 0).all():
            raise InvalidMechanism(
                f"user {int(np.argmin(mass))}: this release has probability 0 at the belief given"
            )
        joint /= mass[:, None]
        last = record + self.batch - 1
        if self.chain.max_length is not None and last + 1 >= self.chain.max_length:
            return joint
        if (anew := self._anew(last)) is not None:
            return np.repeat(anew[None, :], len(joint), axis=0)
        moved = means(joint, self.chain.step(last))
        moved /= total(moved)[:, None]
        low = (moved < FLOOR).any(axis=1)
        if low.any():
            can = (joint[low] > 0).astype(np.float64) @ setting.reachable(self.chain, last) > 0
            moved[low] = np.where(can, np.maximum(moved[low], FLOOR), 0.0)
        return np.asarray(moved)

    def _anew(self, record: int) -> Floats | None:
        """The belief after a record that the next one does not depend on: the same whatever was released."""
        when = self.chain.phase(record)
        if when not in self._begun:
            can = setting.reachable(self.chain, when)[0]
            belief = np.where(can, np.maximum(self.chain.step(when)[0], FLOOR), 0.0)
            self._begun[when] = belief if setting.forgets(self.chain, when) else None
        return self._begun[when]

    @cached_property
    def _begun(self) -> dict[int, Floats | None]:
        return {}

    def _posterior(self, beliefs: Floats, columns: Floats, record: int) -> Floats:
        """Weights of the last states, 0 exactly where impossible."""
        ways = self.paths
        if ways.identity:
            return beliefs * columns
        first = ways.states[:, 0]
        weight = beliefs[:, first] * columns[:, ways.word]
        can = (weight > 0) & setting.possible(self.chain, ways.states, record)
        joint = weight * setting.probabilities(self.chain, ways.states, record)
        joint = np.where(can, np.maximum(joint, FLOOR), 0.0)
        return gathered(joint, ways.states[:, -1], self.chain.k)


def distinct(beliefs: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Position of the first of each distinct belief, to the last digit, and for every belief which of these it is.

    Examples
    --------
    >>> first, which = distinct(np.array([[0.25, 0.75], [0.5, 0.5], [0.25, 0.75]]))
    >>> len(first), bool(which[0] == which[2] != which[1])
    (2, True)
    """
    rows = np.ascontiguousarray(beliefs + 0.0)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    _, first, which = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    return first, np.asarray(which.ravel())


@dataclass(frozen=True, eq=False)
class Front:
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
        front = Front(start, np.where(start > 0, 0.0, -np.inf), np.where(start > 0, 0.0, np.inf))
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

    def _released(self, front: Front, table: Floats, begin: int, length: int) -> tuple[Front, float]:
        """After a release, by output and by state at its last letter; and the least ratio if that is -inf."""
        filtered = Filter(self.chain, length)
        ways = filtered.paths
        inputs = filtered.inputs(front.beliefs, begin)
        marginal = (inputs[:, None, :] @ table)[:, 0] / inputs.sum(axis=1, keepdims=True)
        users, outputs = np.nonzero(marginal > 0)
        columns = table[users, :, outputs]
        with np.errstate(divide="ignore"):
            told = np.log(columns) - np.log(marginal[users, outputs])[:, None]
        first, last = ways.states[:, 0], ways.states[:, -1]
        can = (front.beliefs[:, first] > 0) & setting.possible(self.chain, ways.states, begin)
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
        return Front(after, ups, downs), float(downs.min())

    def _moved(self, front: Front, record: int) -> Front:
        """One transition on, and beliefs that are the same made one."""
        can = setting.reachable(self.chain, record)
        most, least = np.full(front.most.shape, -np.inf), np.full(front.least.shape, np.inf)
        for state in range(self.chain.k):
            if can[:, state].any():
                most[:, state] = front.most[:, can[:, state]].max(axis=1)
                least[:, state] = front.least[:, can[:, state]].min(axis=1)
        firsts, which = distinct(np.round(front.beliefs, DIGITS))
        order = np.argsort(which, kind="stable")
        begins = np.searchsorted(which[order], np.arange(len(firsts)))
        return Front(
            front.beliefs[firsts],
            np.maximum.reduceat(most[order], begins, axis=0),
            np.minimum.reduceat(least[order], begins, axis=0),
        )

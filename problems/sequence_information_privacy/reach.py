"""Every belief that a policy can reach within a horizon, release by release, with the probability of coming there.

It is kept, for each belief that the policy computes, with what probability one comes there jointly with the state. That is linear
in what came before, so outputs that lead to the same floats are one node, and only sums of products of numbers that are not
negative are taken: n of them in a row have a relative error of n 2^-53 at most, whatever their order; n is counted on the way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.beliefs import distinct
from privopt.mechanisms.policy.fixed import gathered, means, total
from privopt.mechanisms.policy.kernel import TOTAL
from privopt.mechanisms.policy.part import Part
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.mechanisms.policy.rules import seconds_of
from privopt.problems.sequence_information_privacy.data import Release, SequenceData

MAX_CELLS = 2**23
"""Of all kernels that are read together, about 3 s."""
MAX_BELIEFS = 100_000
SLOW_SECONDS = 2.0
FEW, LONGEST = 64, 8
"""Beliefs, and releases in a round, up to which it is looked whether all comes again."""
RELEASE = 16
"""Beliefs that take as long as beginning a release."""
HOPE = 2
"""How many times as many beliefs as are allowed may be computed in the hope that more of them are equal than before."""
SEEN, FAR = 2048, 100.0
"""Beliefs after which it is given up where so many times as many as are allowed lie ahead, if they multiply as before."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """All beliefs before one release.

    Parameters
    ----------
    beliefs : array (M, k)
        As the policy computes them.
    joint : array (M, k)
        Probability of coming there with each state, to a relative error of ``terms`` 2^-53.
    weights : int array (M, n, m)
        The kernels out of 2**52.
    inputs : array (M, n)
        Beliefs over what is read, as the policy computes them.
    times, apart, growth : int
        How many releases are like this one to the last digit, how many releases lie from one of them to the next, and
        by how much ``terms`` grows on the way.
    """

    release: Release
    part: Part
    beliefs: Floats
    joint: Floats
    terms: int
    weights: Ints
    inputs: Floats
    times: int = 1
    apart: int = 0
    growth: int = 0

    def largest_ratio(self, only: tuple[int, int] | None = None) -> tuple[float, tuple[int, int] | None]:
        """The largest ratio, or inverse ratio, and the input and output where it is, or of one pair."""
        pieces = self._pieces()
        if len(pieces) > 1:
            return max((piece.largest_ratio(only) for piece in pieces), key=lambda largest: largest[0])
        real, can = self.weights.astype(np.float64), self.inputs > 0
        marginal = means(self.inputs, real) / total(self.inputs)[:, None]
        high = np.where(can[:, :, None], real, -1.0)
        low = np.where(can[:, :, None], real, np.inf)
        differ = high.max(axis=1) > low.min(axis=1)
        over = np.where(marginal > 0, marginal, 1.0)
        if only is not None:
            x, y = only
            real, can = real[:, x : x + 1, y : y + 1], can[:, x : x + 1]
            differ, over = differ[:, y : y + 1], over[:, y : y + 1]
        seen = can[:, :, None] & differ[:, None, :]
        with np.errstate(divide="ignore"):
            ratio = real / over[:, None, :]
            size = np.where(seen, np.maximum(ratio, 1.0 / np.where(seen, ratio, 1.0)), 1.0)
        at = int(size.argmax())
        largest = float(size.reshape(-1)[at])
        if largest <= 1.0:
            return 1.0, None
        _, row, column = np.unravel_index(at, size.shape)
        return largest, (int(row), int(column))

    def cost(self) -> tuple[float, float]:
        """Expected sum of distortions of this release, and the same of their sizes, before rounding is counted."""
        if len(pieces := self._pieces()) > 1:
            parts = [piece.cost() for piece in pieces]
            return math.fsum(mean for mean, _ in parts), math.fsum(size for _, size in parts)
        read, cost = self._distribution(), self.release.setting.cost
        kernels = self.weights / float(TOTAL)
        length = self.release.length
        size = math.fsum(total(read * total(kernels * np.abs(cost))).tolist()) * length
        mean = size if cost.min() >= 0 else math.fsum(total(read * total(kernels * cost)).tolist()) * length
        return mean, size

    def _pieces(self) -> list[Nodes]:
        """A part of the beliefs at a time, as memory allows."""
        width = self.part.users
        if len(self.beliefs) <= width:
            return [self]
        some = [slice(begin, begin + width) for begin in range(0, len(self.beliefs), width)]
        arrays = [(self.beliefs[i], self.joint[i], self.weights[i], self.inputs[i]) for i in some]
        return [
            replace(self, beliefs=beliefs, joint=joint, weights=weights, inputs=inputs)
            for beliefs, joint, weights, inputs in arrays
        ]

    def charged(self) -> bool:
        """Whether anything is released that costs something."""
        used = (self.weights > 0) & (self.inputs > 0)[:, :, None]
        return bool((used & (self.release.setting.cost != 0)).any())

    def _distribution(self) -> Floats:
        """True probabilities of what is read, jointly with coming here; shape (M, n)."""
        if self.release.paths.identity:
            return self.joint
        ways = self.release.paths
        return gathered(self.joint[:, ways.states[:, 0]] * self.release.chances, ways.word, len(ways.words))

    def following(self, most: float) -> tuple[Floats, Floats, int, int] | None:
        """Beliefs, joint probabilities and counted roundings before the next release, and outputs; None for more than ``most``."""
        release, (n, m) = self.release, self.weights.shape[1:]
        can = (self.inputs > 0)[:, :, None]
        users, outputs = np.nonzero(((self.weights > 0) & can).any(axis=1))
        if len(users) > most or len(users) * n * m > 8 * MAX_CELLS:
            return None
        columns = self.weights[users, :, outputs].astype(np.float64)
        beliefs = self.part.filter.after(self.beliefs[users], columns, release.begin)
        last = release.joint(self.joint[users], columns / float(TOTAL))
        joint = means(last, release.setting.chain.step(release.begin + release.length - 1))
        first, which = distinct(beliefs)
        merged = np.zeros((len(first), joint.shape[1]))
        np.add.at(merged, which, joint)
        equal = int(np.bincount(which).max())
        terms = self.terms + self.roundings() + joint.shape[1] + equal + 8
        return beliefs[first], merged, terms, len(users)

    def roundings(self) -> int:
        """Roundings, at most, from the joint probabilities to the distribution of what is read, or of the last state."""
        ways = self.release.paths
        if ways.identity:
            return 2
        most = max(int(np.bincount(ways.word).max()), int(np.bincount(ways.states[:, -1]).max()))
        return most + 2 * self.release.length + 4


def affordable(policy: SequencePolicy, cells: int) -> int:
    """How many beliefs to ask a rule about: as many as take about 2 s where it solves a program of so many cells.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> affordable(SequencePolicy(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1.0), 4)
    100000
    """
    if policy.cost.quick:
        return max(1, min(MAX_BELIEFS, MAX_CELLS // cells))
    level = policy.batch * policy.epsilon
    return max(4, min(600, int(SLOW_SECONDS / seconds_of(policy.rule, cells, level))))


def cells_of(release: Release) -> int:
    """Inputs times outputs of a release."""
    return len(release.setting.inputs) * len(release.setting.outputs)


def nodes(problem: SequenceData, policy: SequencePolicy, *, carried: bool) -> Iterator[Nodes | None]:
    """All beliefs, release by release; None, and no more, where there are too many, or one is not carried."""
    beliefs, joint, terms = np.array([policy.start().belief]), np.array([problem.chain.initial]), 1
    most = affordable(policy, cells_of(next(problem.releases())))
    known: set[bytes] = set()
    seen = work = begin = 0
    cycle, alone = _Cycle(problem), 1.0
    while begin < problem.horizon:
        release = problem.release(begin)
        part = policy.part(release.length)
        work += len(beliefs) + RELEASE
        seen += len(beliefs)
        if not policy.cost.quick:  # it is not asked twice
            known |= {row.tobytes() for row in beliefs}
            seen = len(known)
        if seen > most or work > MAX_BELIEFS + RELEASE:
            yield None
            return
        if carried and not part.carried(beliefs, release.begin).all():
            yield None
            return
        inputs = part.filter.inputs(beliefs, release.begin)
        weights = part.weights(beliefs, release.begin)
        cycle.meet(begin, beliefs, joint, terms)
        repeats = (cycle.times, cycle.length, cycle.growth) if cycle.left else (1, 0, 0)
        here = Nodes(release, part, beliefs, joint, terms, weights, inputs, *repeats)
        yield here
        begin += release.length
        if begin < problem.horizon:
            room = math.inf
            if problem.chain.homogeneous and policy.cost.quick:
                room = HOPE * max(0, min(most - seen, MAX_BELIEFS - work)) / alone
            following = here.following(room)
            if following is None:
                yield None
                return
            if room < math.inf and hopeless(problem, begin, len(beliefs), len(following[0])):
                yield None
                return
            beliefs, joint, terms, outputs = following
            alone = len(beliefs) / outputs
        if cycle.passed():
            begin += (cycle.times - 1) * cycle.length * problem.batch
            terms += (cycle.times - 1) * cycle.growth


def hopeless(problem: SequenceData, begin: int, before: int, beliefs: int) -> bool:
    """Whether far too many beliefs lie ahead if they multiply as at the release before the one at a record.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> problem = SequenceData(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.5, horizon=100)
    >>> hopeless(problem, 12, 2048, 4096), hopeless(problem, 12, 4096, 4096), hopeless(problem, 98, 2048, 4096)
    (True, False, False)
    """
    ahead = min(20, (problem.span - 1 - begin) // problem.batch)
    return beliefs >= SEEN and beliefs * (beliefs / before) ** ahead > FAR * MAX_BELIEFS


@dataclass
class _Cycle:
    """Releases that come again as they were, to the last digit: they are followed once, and counted."""

    problem: SequenceData
    length: int = 0
    times: int = 1
    growth: int = 0
    left: int = 0
    done: bool = False
    _met: list[tuple[bytes, bytes, int]] = field(default_factory=list)

    def meet(self, begin: int, beliefs: Floats, joint: Floats, terms: int) -> None:
        """The nodes before a release; of a chain whose steps differ, or of many beliefs, nothing comes again."""
        if self.done or self.left or not self.problem.chain.homogeneous or len(beliefs) > FEW:
            return
        met = beliefs.tobytes(), joint.tobytes()
        for back, (*before, count) in enumerate(reversed(self._met), start=1):
            times = (self.problem.span - begin) // (self.problem.batch * back)
            if tuple(before) == met and times > 1:
                self.length, self.times, self.growth, self.left = back, times, terms - count, back
                return
        self._met = [*self._met[1 - LONGEST :], (*met, terms)]

    def passed(self) -> bool:
        """Whether this was the last release of the one round that is followed."""
        if not self.left:
            return False
        self.left -= 1
        self.done = not self.left
        return self.done

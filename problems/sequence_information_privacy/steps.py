"""The distribution of what each release reads, the level that all releases up to it may have reached together, and its bound.

Write P_l for the distribution of what release l reads, with nothing known, and post for its distribution given every
release up to and with l. Let s_l bound |ln post / P_l|. Seen from what it reads, all releases up to l together are
one channel that keeps the level s_l for the distribution P_l; so release l costs at least the optimum of that one
step, and that is at least what any prices prove (see the bound of one step). Releases add their level to what was
known before: s_l = t_l + w epsilon for w letters. What was known before, t, is about the state at the first letter of
the release. The distribution of the last state of release l - 1 is post with post / P within e^+-s: among those the
probability of the next state is largest for the one that puts as much as it may where the transition is likeliest, L
P + (1 - L) / theta times the likeliest part of mass theta of P, with L = e^-s and theta = 1 / (e^s + 1); likewise
smallest. Where letters are independent t is 0.

Rounding: probabilities are sums of products of numbers that are not negative, so n roundings in a row are a relative
error of n 2^-53 at most; they are counted from the last record that does not depend on the one before, and the count
goes up in powers of two, so that distributions that have settled are the same balls. Everything that follows from a
distribution is computed in balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.balls import ETA, Balls, U
from privopt.core.problem import Enclosure
from privopt.mechanisms.policy.setting import forgets, reachable
from privopt.models import MarkovChain
from privopt.problems.belief_release.bound import BallLevels, cheapest, priced
from privopt.problems.sequence_information_privacy.data import Release, SequenceData

FAINT = 1e-280
"""What is less likely is not followed: it is taken to be anything up to this."""
GRID = 2.0**30
TOLD_BEFORE, MANY = 300, 64
"""Releases before one of a stream without end up to which it is followed what may be known; fewer for many states."""
MOST_SQUARED = 2**40
"""Steps of a chain to which its powers are followed."""


@dataclass(frozen=True, eq=False)
class Step:
    """The distribution (words,) of what a release reads, and the level that all up to it may have reached together."""

    release: Release
    distribution: Floats
    reached: Balls
    spread: float = 0.0
    """Relative error of the distribution."""
    before: tuple[Floats, Floats, float] | None = None
    """The distribution of the state before, where it moves, and the relative error; None at the first release."""

    @property
    def level(self) -> float:
        """The level, rounded."""
        return math.inf if self.reached.rad == math.inf else float(self.reached.mid)

    @property
    def revealed(self) -> Floats:
        """Distribution of what is read given the state before, shape (states, words)."""
        if self.before is None:
            return self.distribution[None]
        rows: Floats = self.before[1] @ self.release.word_given_state
        return rows

    def bound(self, lam: Floats) -> float:
        """Upper bound on minus the expected distortion of this release, a letter, that prices (words,) prove."""
        enclosure = self.proved(lam)
        return math.inf if enclosure is None else enclosure[1]

    def proved(self, lam: Floats) -> Enclosure | None:
        """Floats around the same; None where it is not finite."""
        seen = self.distribution > 0
        p, cost = relative(self.distribution[seen], self.spread), self.release.setting.cost[seen]
        level = math.inf if self.level == math.inf else self.reached
        enclosure = priced(p, cost, level, lam[seen])
        if enclosure is None or seen.all():
            return enclosure
        lost = 2 * len(seen) * FAINT * (1.0 + float(np.abs(self.release.setting.cost).max()))
        return enclosure[0] - lost, math.nextafter(enclosure[1] + lost, math.inf)


def relative(values: Floats, spread: float) -> Balls:
    """Numbers that are not negative and known up to a relative error."""
    mid = np.asarray(values, dtype=np.float64)
    rad = mid * (spread * (1 + 8 * U)) + np.where(mid < FAINT, FAINT, 0.0)
    return Balls(mid, np.where((mid == 0) & (spread == 0), 0.0, rad))


def steps(problem: SequenceData) -> Iterator[Step]:
    """Each release with its distribution and its level.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
    >>> problem = SequenceInformationPrivacy(MarkovChain([[0.9, 0.1], [0.1, 0.9]]), 0.5, horizon=3)
    >>> [round(step.level, 4) for step in steps(problem)]
    [0.5, 0.878, 1.1302]
    """
    chain = problem.chain
    if problem.lasting:
        yield _in_the_long_run(problem)
        return
    distribution, count, before = np.array(chain.initial), 1, Balls.exact(0.0)
    can = np.array([weight > 0 for weight in chain.exact_initial.weights])
    moved: tuple[Floats, Floats, float] | None = None
    known: object = None
    settled: _Settled | None = None
    for release in problem.releases():
        if settled is not None and settled.serves(release, count, moved):
            yield replace(settled.step, release=release)
            count += settled.growth
            continue
        budget = problem.epsilon
        level = Balls.exact(math.inf) if budget == math.inf else before + Balls.exact(budget) * release.length
        read = distribution if release.paths.identity else distribution @ release.word_given_state
        count_read = count if release.paths.identity else count + chain.k + 3 * release.length
        here = Step(release, read, level, _counted(count_read), moved)
        yield here
        after = release.begin + release.length
        if after >= problem.horizon:
            return
        last, step, begun = distribution, chain.step(after - 1), (count, before.ends)
        for record in range(release.begin, after - 1):
            last, count, can = _next(chain, record, last, count, can)
        spread = _counted(count)
        follows = _next(chain, after - 1, last, count, can)
        key = (last.tobytes(), spread, level.ends, 0 if chain.homogeneous else after)
        if key != known:
            known, before = (
                key,
                _upward(_influence(chain, after - 1, relative(last, spread), can, level), level),
            )
        settled = None
        if chain.homogeneous and moved is not None and before.ends == begun[1]:
            same = ((moved[0], last), (distribution, follows[0]), (can, follows[2]))
            if all(np.array_equal(*pair) for pair in same):
                settled = _Settled(here, count_read - begun[0], count - begun[0], follows[1] - begun[0])
        moved = (last, step, spread)
        distribution, count, can = follows


def _in_the_long_run(problem: SequenceData) -> Step:
    """The release that those of a stream without end come to be like.

    Their distributions tend to the invariant one, whatever the first was. All releases up to one may at most have told
    everything some releases ago, and each step from there brings the level down to what it is in the long run, or to a little
    more. What prices prove is continuous in distribution and level, and so is at least the limit of what they prove each time.
    """
    chain, release = problem.chain, problem.release(0)
    distribution, spread = invariant(chain)
    budget, can = problem.epsilon, distribution > 0
    told = math.inf if budget else 0.0
    level = Balls.exact(told)
    if budget < math.inf:
        known = relative(distribution, spread)
        for _ in range(TOLD_BEFORE if chain.k <= MANY else TOLD_BEFORE // 10):
            lower = float(_influence(chain, 0, known, can, level).upper)
            if not lower < told - 1 / GRID:
                break
            told = lower
            level = Balls.exact(told) + Balls.exact(budget)
    count = 1 if release.paths.identity else chain.k + 4
    read = distribution if release.paths.identity else distribution @ release.word_given_state
    return Step(release, read, level, spread + _counted(count), (distribution, chain.step(0), spread))


def invariant(chain: MarkovChain) -> tuple[Floats, float]:
    """The distribution of a chain that forgets where it began, in the long run, and its relative error.

    It lies between the rows of every power of the transition matrix.

    Examples
    --------
    >>> distribution, error = invariant(MarkovChain([[0.8, 0.2], [0.3, 0.7]], [1, 0]))
    >>> distribution.round(9).tolist(), error < 1e-12
    ([0.6, 0.4], True)
    """
    power, steps = np.array(chain.step(0)), 1
    best, error = power[0], math.inf
    while steps < MOST_SQUARED:
        seen = power.max(axis=0) > 0
        low, high = power.min(axis=0)[seen], power.max(axis=0)[seen]
        rounding = 2.02 * steps * (chain.k + 2) * U
        if bool((low > 0).all()):
            apart = float((high / low).max()) - 1.0 + 4 * rounding
            if apart >= error:
                break
            best, error = power[0], apart
        power, steps = power @ power, 2 * steps
    return best, error


@dataclass(frozen=True, eq=False)
class _Settled:
    """A step after which all is as before it, but for the count of roundings, which grows by ``growth``.

    What is read has ``to_read`` roundings more than the count, and the last state ``to_last``.
    """

    step: Step
    to_read: int
    to_last: int
    growth: int

    def serves(self, release: Release, count: int, moved: tuple[Floats, Floats, float] | None) -> bool:
        """Whether the next step is the same but for its place."""
        before = self.step.before
        return (
            release.length == self.step.release.length
            and moved is not None
            and before is not None
            and before[2] == moved[2] == _counted(count + self.to_last)
            and self.step.spread == _counted(count + self.to_read)
        )


def _upward(told: Balls, level: Balls) -> Balls:
    """The next multiple of 2^-30 nats, which is as true, and the same when distributions have settled."""
    most = float(told.upper)
    if not 0 < most < math.inf:
        return told
    rounded = math.ceil(most * GRID) / GRID
    return Balls.exact(rounded) if rounded < float(level.lower) else level


def _counted(count: int) -> float:
    """A relative error of so many roundings, up to the next power of two."""
    return 2.0 ** math.ceil(math.log2(count * U * (1 + 1e-6)))


def _next(
    chain: MarkovChain, record: int, distribution: Floats, count: int, can: NDArray[np.bool_]
) -> tuple[Floats, int, NDArray[np.bool_]]:
    """The distribution of the next state, its roundings, and which states are possible."""
    step = chain.step(record)
    may = reachable(chain, 0 if chain.homogeneous else record)
    can = np.asarray(may[can].any(axis=0))
    if forgets(chain, 0 if chain.homogeneous else record):
        return np.array(step[0]), 1, can
    return distribution @ step, count + chain.k + 2, can


@lru_cache(maxsize=16)
def _orders(chain: MarkovChain, step: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of each column of a transition matrix, the least first, and the largest first."""
    moves = chain.step(step)
    return np.argsort(moves, axis=0, kind="stable"), np.argsort(-moves, axis=0, kind="stable")


def _influence(
    chain: MarkovChain, record: int, distribution: Balls, can: NDArray[np.bool_], level: Balls
) -> Balls:
    """The largest |ln (post P)(x) / (p P)(x)| over post / p in [e^-level, e^level], at most the level."""
    when = 0 if chain.homogeneous else record
    if forgets(chain, when):
        return Balls.exact(0.0)
    step = chain.step(record)
    known = bool((distribution.mid[can] >= FAINT).all())
    if (
        not known
    ):  # some state is hardly possible: what is known of the next one is at most what is known of this one
        return level
    moves = Balls(step, step * U + ETA * (step > 0))
    after = distribution @ moves
    seen = after.mid > 0
    if bool((after.mid[seen] < FAINT).any()):
        return level
    levels = BallLevels.of(math.inf if level.rad == math.inf else level)
    up, down = _orders(chain, when)
    if not can.all() or float(levels.theta.mid) == 0:
        distribution, moves, up, down = (
            distribution[can],
            moves[can],
            np.argsort(step[can], axis=0),
            np.argsort(-step[can], axis=0),
        )
    low = levels.low * after
    high = low - levels.room * cheapest(distribution, -moves, levels.theta, down)
    less = (low + levels.room * cheapest(distribution, moves, levels.theta, up)).maximum(low)
    most = (high[seen] / after[seen]).max()
    least = (less[seen] / after[seen]).min()
    influence = most.log().maximum(0.0)
    if float(least.lower) > 0:
        influence = influence.maximum(-least.log())
    elif float(least.upper) > 0:
        influence = Balls.between(0.0, math.inf)
    else:
        influence = Balls.exact(math.inf)
    return (
        level
        if influence.rad == math.inf
        else influence.minimum(level)
        if level.rad < math.inf
        else influence
    )

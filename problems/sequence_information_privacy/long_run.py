"""What a policy costs in the long run: a machine of finitely many beliefs, and a potential that encloses its mean cost.

A policy for streams of any length keeps one of finitely many beliefs, if these are rounded or come again by themselves. Beliefs
and true states together are then a finite Markov chain: from belief v and state s the release y has probability w(v, s,
y), integers out of 2^52, the next belief is T(v, y), and the next state is drawn from row s of the transition matrix. Let c(v, s)
be the expected distortion. For any function h on pairs (v, s)

    c(v, s) = r(v, s) + h(v, s) - E[h(next) | v, s],   r = c + E[h(next)] - h.

Over T releases the differences of h cancel but for the first and the last one, so the mean distortion is a mean of r and at most
(max h - min h) / T. In the long run it is thus between the least and the largest r over the pairs that can be, whatever h is. The potential h
is found by value iteration; nothing rests on how near it is to the solution, for which r is constant.

**Rounding.** Weights are exact; r is computed in balls from the last h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import ETA, Balls, U
from privopt.core.problem import Enclosure
from privopt.mechanisms.policy.beliefs import distinct
from privopt.mechanisms.policy.kernel import TOTAL
from privopt.mechanisms.policy.lasting import MOST_ROUNDING
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.mechanisms.policy.setting import letter_of

ALONE = 2000
"""Beliefs up to which it is looked whether they come again without being rounded."""
FIRST, FINEST = 8, 4.0
"""Steps of a doubling at first, and how many times as many are tried next, at most."""
SAFE, NEAR = 0.8, 0.5
"""Share of the beliefs allowed that is aimed at, and with which the search ends."""
LARGEST_SHARE = 0.005
"""Of the budget, what rounding may keep back at most: else beliefs are not rounded, and the utility is simulated."""
COUNTED, GROWTH, FAR = 0.5, 0.6, 8.0
"""Of the budget, with what rounding keeps back beliefs are counted, to see how many a finer one has: a power for each dimension, and the multiple of
what may be followed that is too many."""
ENOUGH = 2.0**-12
"""Of the budget, what rounding may keep back without looking further."""
WORK = 2**29
"""Products of the value iteration."""
STEP = 0.95
"""Of a round: less than 1, so that policies that alternate converge too."""
CLOSE = 1e-11
"""Width of the enclosure, relative to the largest distortion, at which the iteration ends."""


@dataclass(frozen=True, eq=False)
class Machine:
    """All beliefs that a policy can keep, the first one at place 0.

    Parameters
    ----------
    beliefs : array (G, k)
    weights : int array (G, n, m)
        The kernels out of 2**52.
    following : int array (G, m)
        Place of the belief after each release; 0 where it is impossible.
    """

    beliefs: Floats
    weights: Ints
    following: Ints


def machine_of(policy: SequencePolicy, most: int) -> Machine | None:
    """All beliefs that a policy of single letters can keep; None where they are more than ``most``.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> plain, rounded = (
    ...     SequencePolicy(MarkovChain([[0.9, 0.1], [0.1, 0.9]]), 1.0, limit=math.inf, rounding=n) for n in (0, 16)
    ... )
    >>> machine = machine_of(rounded, 100)
    >>> machine.following.shape == (len(machine.beliefs), 2), machine_of(plain, 100)
    (True, None)
    """
    known = _FOUND.get(policy)
    if known is not None:
        return known if len(known.beliefs) <= most else None
    machine = _explored(policy, most)
    if machine is not None:
        _FOUND[policy] = machine
    return machine


_FOUND: WeakKeyDictionary[SequencePolicy, Machine] = WeakKeyDictionary()
"""Machines of policies that are in use: each is asked for by the search for a rounding, by utility and by leakage."""


def _explored(policy: SequencePolicy, most: int) -> Machine | None:
    """The same, by following all beliefs from the first one."""
    part = policy.part(1)
    front = np.array([policy.start().belief])
    places = {front[0].tobytes(): 0}
    beliefs, weights, following = list[Floats](), list[Ints](), list[Ints]()
    while len(front):
        kernels = part.weights(front, 0)
        can = ((kernels > 0) & (part.filter.inputs(front, 0) > 0)[:, :, None]).any(axis=1)
        users, outputs = np.nonzero(can)
        if len(users) > 4 * most * kernels.shape[2]:
            return None
        columns = kernels[users, :, outputs].astype(np.float64)
        after = part.filter.after(front[users], columns, 0)
        first, which = distinct(after)
        fresh, at = list[int](), np.empty(len(first), dtype=np.int64)
        for i, row in enumerate(after[first]):
            key = row.tobytes()
            if key not in places:
                places[key] = len(places)
                fresh.append(i)
            at[i] = places[key]
        table = np.zeros(can.shape, dtype=np.int64)
        table[users, outputs] = at[which]
        beliefs.append(front)
        weights.append(kernels)
        following.append(table)
        if len(places) > most:
            return None
        front = after[first][fresh]
    return Machine(np.concatenate(beliefs), np.concatenate(weights), np.concatenate(following))


def lasting_policy(
    make: Callable[[int], SequencePolicy], most: Callable[[SequencePolicy], int]
) -> SequencePolicy:
    """The policy for streams of any length whose beliefs are rounded least, or not at all, among those with few beliefs.

    Parameters
    ----------
    make : callable
        The policy with a rounding; 0 is none.
    most : callable
        How many beliefs of a policy are followed at most.
    """
    exact = make(0)
    limit = most(exact)
    if machine_of(exact, min(ALONE, limit)) is not None:
        return exact
    best, steps, dimension = exact, FIRST, max(1, exact.chain.k - 1)
    while steps <= MOST_ROUNDING:
        policy = make(steps)
        lost = policy.part(1).filter.distance(math.inf) / policy.epsilon
        count = 0
        if lost <= LARGEST_SHARE:
            machine = machine_of(policy, limit)
            if machine is None:
                return best
            best, count = policy, len(machine.beliefs)
        elif lost <= COUNTED and _too_many(policy, lost / LARGEST_SHARE, limit):
            return best
        if lost <= ENOUGH or NEAR * limit < count:
            return best
        finer = (SAFE * limit / count) ** (1 / dimension) if count else 2.0
        finer = min(max(finer, 1.0 + 0.5 / dimension), FINEST, 1.05 * lost / ENOUGH)
        steps = int(steps * finer) + 1
    return best


def _too_many(policy: SequencePolicy, finer: float, limit: int) -> bool:
    """Whether a rounding that is finer by a factor is expected to have far more beliefs than may be followed."""
    few = min(ALONE, limit)
    machine = machine_of(policy, few)
    count = few if machine is None else len(machine.beliefs)
    return bool(count * finer ** (GROWTH * (policy.chain.k - 1)) > FAR * limit)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The chain of beliefs and states: probabilities of releases (G, k, m), distortions (k, m), costs (G, k), and which pairs can be."""

    chances: Floats
    prices: Floats
    cost: Floats
    can: Bools
    following: Ints
    moves: Floats

    def enclosed(self, h: Floats) -> Balls:
        """Balls around r."""
        moves = Balls(self.moves, self.moves * U + ETA * (self.moves > 0))
        later = Balls.exact(h) @ moves.T
        rest = Balls.exact(-h)
        for y in range(self.following.shape[1]):
            rest = rest + Balls.exact(self.chances[:, :, y]) * (
                later[self.following[:, y]] + self.prices[:, y]
            )
        return rest

    def onward(self, h: Floats) -> Floats:
        """E[h(next)] for every pair."""
        later = h @ self.moves.T
        whole = np.zeros(h.shape)
        for y in range(self.following.shape[1]):
            whole += self.chances[:, :, y] * later[self.following[:, y]]
        return whole


def mean_cost(policy: SequencePolicy, machine: Machine) -> Enclosure:
    """Floats around the expected distortion of a letter in the long run.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> policy = SequencePolicy(MarkovChain([[0.6, 0.4], [0.6, 0.4]]), 0.5, limit=math.inf)
    >>> low, high = mean_cost(policy, machine_of(policy, 10))
    >>> low <= high < low + 1e-10, round(low, 6)
    (True, 0.291135)
    """
    chain, cost = policy.chain, policy.setting.cost
    own = letter_of(chain)
    chances = machine.weights[:, own, :] / float(TOTAL)
    pairs = _Pairs(
        chances,
        cost[own],
        (chances * cost[own]).sum(axis=2),
        machine.beliefs > 0,
        machine.following,
        np.array(chain.step(0)),
    )
    unit = float(np.abs(cost).max())
    if not unit:
        return 0.0, 0.0
    h = np.zeros(pairs.cost.shape)
    rounding = 4 * (cost.shape[1] + chain.k + 8) * U
    for _ in range(max(16, WORK // (pairs.chances.size * (1 + chain.k)))):
        rest = pairs.cost + pairs.onward(h) - h
        low, high = float(rest[pairs.can].min()), float(rest[pairs.can].max())
        if high - low <= max(CLOSE * unit, rounding * (unit + 2 * float(np.abs(h).max()))):
            break
        h = np.where(pairs.can, h + STEP * (rest - 0.5 * (low + high)), 0.0)
    proved = pairs.enclosed(h)
    return float(proved.lower[pairs.can].min()), float(proved.upper[pairs.can].max())

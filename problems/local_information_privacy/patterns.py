"""Posteriors where the secret is a function of the observation: a pattern of likely and unlikely values of the secret.

Each observation has one value of the secret, so that the posterior v of the observations gives the value k the sum V_k
of a class of them, and the bounds are bounds on V alone. The cost H(v) - pi . v is concave in how V_k is shared within
its class: all of it goes to the observation of the largest price. What is left is sum_k phi(V_k) - pi_k V_k, phi(t) = -t ln t,
over

- LIP: V in a box, low_k <= V_k <= high_k, with sum 1. At a vertex all V_k but one are at an end of their intervals.
- LDP: V = c / sum c for weights c_k in {P_k, e^epsilon P_k}: the staircase patterns of Kairouz, Oh, Viswanath ("Extremal
  mechanisms for local differential privacy", Theorem 2).

A part of these vertices says for each group of values, with one prior and one price, how many of them are high. One
multiplier m of the sum bounds its cost from below. With e_k(c) = phi(c) - (pi_k + m) c, for LIP the cost is
m + sum_k e_k(V_k). For LDP it is (M ln M + sum_k phi(c_k) - pi_k c_k) / M with M = sum c >= 1. It is at least z wherever
(ln T + 1 - z) M - T + sum_k phi(c_k) - pi_k c_k >= 0, for any T > 0, as M ln M >= (ln T + 1) M - T; and short of z by no more
than what this misses 0 by, divided by the least M. Both are sums over k, least where each c_k is at one of its ends. :func:`least_pattern_cost` proves by
branch and bound on the counts, in balls, how far the cost can be below the price.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import ETA, Balls, U
from privopt.core.problem import Enclosure
from privopt.problems.entropy_boxes import log_balls, phi, phi_balls
from privopt.problems.exact_joint import enclose
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.polytope import rounded_exp

BATCH = 512
"""Parts bounded at a time."""

MOST = 1 << 17
"""Parts after which a proof ends with the bound that it has."""

PAD = 1e-13
"""By how much sums of masses may be off, with much to spare: intervals of the odd value are widened by it."""

DEEPEST = 300.0
"""Levels of LDP above this prove nothing: weights would overflow."""

DEAREST = 1e6
"""Prices above this prove nothing."""


def classes(data: LocalInformationPrivacyData) -> Ints | None:
    """The value of the secret of each possible observation, by its place among the possible ones; None where it has several."""
    polytope = data.polytope
    if data.observation.useful is not None or polytope.cuts:
        return None
    of = []
    for w in polytope.support:
        values = [k for k, row in enumerate(polytope.table) if row[w]]
        if len(values) > 1:
            return None
        of.append(values[0])
    return np.array(of, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Groups:
    """Values of the secret with one prior and one price each, and what their ends cost.

    Attributes
    ----------
    members : list of lists of int
        The values of each group.
    low, high : Balls (g,)
        The ends of a value of each group.
    prices : array (g,)
    ldp : bool
        Whether the ends are weights, to be divided by their sum.
    """

    members: list[list[int]]
    low: Balls
    high: Balls
    prices: Floats
    ldp: bool

    @cached_property
    def sizes(self) -> Ints:
        """Values in each group."""
        return np.array([len(values) for values in self.members], dtype=np.int64)

    @cached_property
    def width(self) -> Floats:
        """From low to high, nearly."""
        return np.asarray(self.high.mid - self.low.mid)

    @cached_property
    def costs(self) -> tuple[Balls, Balls]:
        """phi(c) - price c at both ends."""
        return tuple(_phi(end) - end * self.prices for end in (self.low, self.high))  # type: ignore[return-value]

    @cached_property
    def slopes(self) -> Floats:
        """Of phi(c) - price c from low to high: multipliers above it make high the cheaper end."""
        below, above = self.costs
        wide = self.width > 0
        return np.asarray((above.mid - below.mid) / np.where(wide, self.width, 1.0))

    def spread(self, masses: Floats) -> Floats:
        """What each value gets of the masses of groups (m, g) above their lower ends, the first ones first; shape (m, values)."""
        full = np.zeros((len(masses), int(self.sizes.sum())))
        for g, values in enumerate(self.members):
            for place, k in enumerate(values):
                more = np.clip(masses[:, g] - place * self.width[g], 0.0, self.width[g])
                full[:, k] = self.low.mid[g] + more
        return full


def _phi(t: Balls) -> Balls:
    """-t ln t of balls around floats >= 0, whose radii are at most 4 u of themselves."""
    at = phi_balls(t.mid)
    size = np.abs(np.log(np.where(t.mid > 0, t.mid, 1.0))) + 2.0
    return Balls(at.mid, at.rad + 2.0 * t.rad * size)


def groups(data: LocalInformationPrivacyData, prices: Floats) -> Groups | None:
    """The groups of a problem at prices of its observations; None where the secret is no function of them, or nothing is bounded."""
    of, polytope = classes(data), data.polytope
    if of is None or float(np.abs(prices).max(initial=0.0)) > DEAREST:
        return None
    best = np.full(len(polytope.table), -math.inf)
    np.maximum.at(best, of, prices)
    kinds: dict[tuple[int, float], list[int]] = {}
    for k, (weight, price) in enumerate(zip(polytope.secrets, best.tolist(), strict=True)):
        kinds.setdefault((weight, price), []).append(k)
    weights, total = [weight for weight, _ in kinds], polytope.total
    value = np.array([price for _, price in kinds])
    if data.notion == "ldp":
        if data.budget > DEEPEST:
            return None
        mid = np.array([weight / total for weight in weights])
        low = Balls(mid, U * mid + ETA)
        return Groups(list(kinds.values()), low, low * rounded_exp(data.budget), value, ldp=True)
    above, below = polytope.above, polytope.below
    tops = [1.0 if above is None else min(1.0, enclose(above * w / total)[1]) for w in weights]
    lows = [0.0 if below is None else max(0.0, enclose(below * w / total)[0]) for w in weights]
    return Groups(list(kinds.values()), Balls.exact(lows), Balls.exact(tops), value, ldp=False)


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of the vertices: between ``least`` and ``most`` values of each group are high (b, g).

    ``odd`` says in which group one more value is between its ends; -1 where none is.
    """

    least: Ints
    most: Ints
    odd: Ints

    def sizes(self, groups: Groups) -> Ints:
        """Values of each group that are at an end."""
        size = np.tile(groups.sizes, (len(self.odd), 1))
        inside = self.odd >= 0
        size[inside, self.odd[inside]] -= 1
        return size


@dataclass(frozen=True, eq=False)
class Bounded:
    """What is known of parts: bounds on their cost, an allowed point, and where to split (-1: nowhere)."""

    cost: Balls
    points: Floats
    group: Ints
    count: Ints


class Search:
    """Best-first branch and bound for the least cost of a posterior less its price.

    Parameters
    ----------
    groups : Groups
    claim : float
        Parts that are proved to cost at least this are closed.

    Attributes
    ----------
    least : float
        The least cost met, in floats.
    points : list of arrays (m, values)
        Distributions of the secret met that cost less than the claim.
    parts : int
        Parts bounded so far.
    """

    def __init__(self, groups: Groups, claim: float) -> None:
        self.groups, self.claim = groups, claim
        self.least, self.parts = math.inf, 0
        self.points: list[Floats] = []
        self._closed = (math.inf, math.inf)
        self._open: list[tuple[float, int, float, tuple[Ints, Ints, int], tuple[int, int]]] = []
        self._number = itertools.count()
        count = len(groups.sizes)
        some = np.flatnonzero(groups.width > 0)
        odd = np.array([-1], dtype=np.int64) if groups.ldp else np.concatenate([[-1], some]).astype(np.int64)
        most = np.tile(groups.sizes * (groups.width > 0), (len(odd), 1))
        most[odd >= 0, odd[odd >= 0]] -= 1
        self._examine(Parts(np.zeros((len(odd), count), dtype=np.int64), most, odd))

    @property
    def done(self) -> bool:
        """Whether every part is closed."""
        return not self._open

    @property
    def bound(self) -> Enclosure:
        """Floats around a number that no posterior costs less than."""
        low = min(self._closed[0], self._open[0][0] if self._open else math.inf)
        high = min(self._closed[1], min((part[2] for part in self._open), default=math.inf))
        return low, high

    def step(self) -> None:
        """Split the worst open parts."""
        taken = [heapq.heappop(self._open) for _ in range(min(BATCH, len(self._open)))]
        least, most = (np.array([part[3][i] for part in taken]) for i in (0, 1))
        odd = np.array([part[3][2] for part in taken], dtype=np.int64)
        rows = np.arange(len(taken))
        group, count = (np.array([part[4][i] for part in taken]) for i in (0, 1))
        below, above = most.copy(), least.copy()
        below[rows, group], above[rows, group] = count, count + 1
        self._examine(Parts(np.vstack([least, above]), np.vstack([below, most]), np.concatenate([odd, odd])))

    def _examine(self, parts: Parts) -> None:
        seen = _ldp(self.groups, parts, self.claim) if self.groups.ldp else _lip(self.groups, parts)
        self.parts += len(parts.odd)
        self._note(seen.points)
        lower, upper = seen.cost.lower, seen.cost.upper
        closed = (lower >= self.claim) | (seen.group < 0)
        self._closed = tuple(
            min(end, float(ends[closed].min(initial=math.inf)))
            for end, ends in zip(self._closed, (lower, upper), strict=True)
        )  # type: ignore[assignment]
        for i in np.flatnonzero(~closed).tolist():
            part = parts.least[i], parts.most[i], int(parts.odd[i])
            where = int(seen.group[i]), int(seen.count[i])
            heapq.heappush(self._open, (float(lower[i]), next(self._number), float(upper[i]), part, where))

    def _note(self, points: Floats) -> None:
        if not len(points):
            return
        prices = np.zeros(points.shape[1])
        for g, values in enumerate(self.groups.members):
            prices[values] = self.groups.prices[g]
        costs = (phi(points) - points * prices).sum(axis=1)
        self.least = min(self.least, float(costs.min()))
        if (cheap := costs < self.claim).any():
            self.points.append(points[cheap])


def _ends(groups: Groups, parts: Parts, multipliers: Balls) -> Balls:
    """The least of the sums of e_k over the ends of the counts, shape (b,)."""
    size = parts.sizes(groups)
    m = multipliers[:, None]
    low, high = groups.costs[0] - groups.low * m, groups.costs[1] - groups.high * m
    sums = [high * at + low * (size - at) for at in (parts.least, parts.most)]
    return sums[0].minimum(sums[1]).sum(axis=1)


def _lip(groups: Groups, parts: Parts) -> Bounded:
    """Parts of a box with sum 1: the multiplier is the slope at which the mass is used up."""
    width, inside = groups.width, parts.odd >= 0
    base = (parts.sizes(groups) * groups.low.mid + parts.least * width).sum(axis=1)
    room = (parts.most - parts.least) * width
    first = np.where(inside, np.maximum(groups.low.mid[parts.odd], 1.0 - base - room.sum(axis=1) - PAD), 0.0)
    last = np.where(inside, np.minimum(groups.high.mid[parts.odd], 1.0 - base + PAD), 0.0)
    reachable = (base + first <= 1.0 + PAD) & (base + room.sum(axis=1) + last >= 1.0 - PAD) & (first <= last)
    first, last = np.where(reachable, first, 0.0), np.where(reachable, last, 0.0)
    price = np.where(inside, groups.prices[parts.odd], 0.0)
    spare = last - first
    rise = phi(last) - phi(first) - price * spare
    slopes = np.column_stack([np.tile(groups.slopes, (len(base), 1)), rise / np.where(spare > 0, spare, 1.0)])
    rooms = np.column_stack([room, spare])
    order = np.argsort(np.where(rooms > 0, slopes, math.inf), axis=1, kind="stable")
    sorted_room = np.take_along_axis(rooms, order, axis=1)
    before = np.cumsum(sorted_room, axis=1) - sorted_room
    left = 1.0 - base - first
    filled = np.clip(left[:, None] - before, 0.0, sorted_room)
    marginal = np.where(filled > 0, np.arange(filled.shape[1]), 0).max(axis=1)
    place = np.take_along_axis(order, marginal[:, None], axis=1)[:, 0]
    multiplier = np.take_along_axis(slopes, place[:, None], axis=1)[:, 0]
    amounts = np.zeros(filled.shape)
    np.put_along_axis(amounts, order, filled, axis=1)
    cost = _ends(groups, parts, Balls.exact(multiplier)) + multiplier
    ends = [phi_balls(end) - (Balls.exact(price) + multiplier) * end for end in (first, last)]
    cost = cost + ends[0].minimum(ends[1]).where(inside, 0.0)
    cost = Balls(np.where(reachable, cost.mid, math.inf), np.where(reachable, cost.rad, 0.0))
    group, count = _split(groups, parts, amounts[:, :-1], np.where(place < len(width), place, -1))
    return Bounded(cost, _points(groups, parts, amounts, first, reachable), group, count)


def _points(groups: Groups, parts: Parts, amounts: Floats, first: Floats, reachable: Bools) -> Floats:
    """The allowed points at which the multipliers use up the mass, (m, values)."""
    masses = parts.least * groups.width + amounts[:, :-1]
    inside = parts.odd >= 0
    rows = np.flatnonzero(inside)
    own = first[rows] - groups.low.mid[parts.odd[rows]] + amounts[rows, -1]
    points = groups.spread(masses)
    for i, extra in zip(rows.tolist(), own.tolist(), strict=True):
        points[i, groups.members[int(parts.odd[i])][-1]] = groups.low.mid[parts.odd[i]] + extra
    return np.asarray(points[reachable & (np.abs(points.sum(axis=1) - 1.0) < 1e-9)])


def _ldp(groups: Groups, parts: Parts, claim: float) -> Bounded:
    """Parts of the staircase patterns: T is their sum, or between two sums where a count is split."""
    low, width = groups.low.mid, groups.width
    base = (groups.sizes * low + parts.least * width).sum(axis=1)
    order = np.argsort(groups.slopes, kind="stable")
    room = ((parts.most - parts.least) * width)[:, order]
    after = base[:, None] + np.cumsum(room, axis=1)
    wanted = np.exp(np.clip(claim - 1.0 - groups.slopes[order], -700.0, 700.0))
    reached = after >= wanted
    some = reached.any(axis=1)
    j = np.where(some, reached.argmax(axis=1), len(order) - 1)
    rows = np.arange(len(j))
    start = after[rows, j] - room[rows, j]
    between = some & (start < wanted[j])
    tangent = np.where(between, wanted[j], np.where(some, start, after[:, -1]))
    filled = np.where(np.arange(len(order)) < np.where(some, j, len(order))[:, None], room, 0.0)
    filled[rows[between], j[between]] = (tangent - start)[between]
    amounts = np.zeros(filled.shape)
    amounts[:, order] = filled
    logs = log_balls(tangent)
    excess = _ends(groups, parts, claim - 1.0 - logs) - tangent
    short = Balls.between(np.minimum(excess.lower, 0.0), np.minimum(excess.upper, 0.0))
    group, count = _split(groups, parts, amounts, np.where(between, order[j], -2))
    both = []
    for at in (np.floor, np.ceil):
        whole = at(
            amounts / np.where(width > 0, width, 1.0) - 1e-9 * (at is np.ceil) + 1e-9 * (at is np.floor)
        )
        weights = groups.spread((parts.least + np.minimum(whole, parts.most - parts.least)) * width)
        both.append(weights / weights.sum(axis=1, keepdims=True))
    cost = (short / (base * (1.0 - PAD)) + claim).where(
        excess.lower < 0, claim
    )  # the sum is at least that much
    return Bounded(cost, np.vstack(both), group, count)


def _split(groups: Groups, parts: Parts, amounts: Floats, place: Ints) -> tuple[Ints, Ints]:
    """A group whose count is open and where to split it: where it is used up, or (-1) the widest; -1 where there is none.

    ``place`` is -2 where nothing better than the bound is to be had.
    """
    units = parts.most - parts.least
    rows = np.arange(len(place))
    widest = (units * groups.width).argmax(axis=1)
    stuck = (place == -1) | ((place >= 0) & (units[rows, np.maximum(place, 0)] == 0))
    group = np.where(stuck, widest, np.maximum(place, 0))
    room = units[rows, group]
    width = np.where(groups.width > 0, groups.width, 1.0)[group]
    share = np.where(stuck, (room - 1) // 2, np.floor(amounts[rows, group] / width)).astype(np.int64)
    count = parts.least[rows, group] + np.clip(share, 0, np.maximum(room - 1, 0))
    return np.where((place == -2) | (room == 0), -1, group), count


def least_pattern_cost(
    data: LocalInformationPrivacyData, prices: Floats, claim: object, seconds: float
) -> Enclosure | None:
    """Floats around a number that no allowed posterior costs less than; None where the secret has several values, or out of time.

    ``claim`` is what the search tries to show; after MOST parts it gives what it has.
    """
    ends = time.monotonic() + seconds
    found = groups(data, prices)
    if found is None or not isinstance(claim, float) or not math.isfinite(claim):
        return None
    search = Search(found, claim)
    while not search.done and search.parts < MOST:
        search.step()
        if time.monotonic() > ends:
            return None
    return search.bound

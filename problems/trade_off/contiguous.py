"""The best merging into intervals, or into nodes of a hierarchy: both informations are sums over blocks."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.problem import Enclosure
from privopt.problems.box_partitions import (
    Boxes,
    Partition,
    Threshold,
    best_partition,
    boxes_within,
    front_of,
)
from privopt.problems.local_information_privacy.contiguous import chunks
from privopt.problems.trade_off.data import TradeOffData
from privopt.problems.trade_off.partition_costs import error_of, xlogx

SLACK = 1e-11
"""Nats by which a floor or a cap may be missed and a partition still counts for a bound."""

RANGE = 20.0
"""Logarithms of weights that are tried, either way."""

PROVING = 0.75
"""Share of the time of a proof after which few points are kept, so that the proof ends with it."""

STEPS = 40
"""Weights that are tried where the partitions of several columns meet a floor or a cap."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Partitions that may be the best, the best first, and a bound where all were tried.

    Parameters
    ----------
    assignments : tuple of int array (n,)
        The block of each symbol.
    bound : (lo, hi) or None
        Floats around the best objective of all contiguous mergings, or around a bound on it.
    threshold : Threshold or None
        What partitions reach that are as good.
    """

    assignments: tuple[Ints, ...]
    bound: Enclosure | None
    threshold: Threshold | None = None


def candidates(problem: TradeOffData, seconds: float) -> Candidates | None:
    """The partitions into boxes that are best by their readings; None if there are too many boxes.

    With ``trade_off`` the objective is a sum, and so is that of any weight. Under a floor or a cap the partitions of one
    column are kept that no other one beats; those of several are searched by weights.
    """
    deadline = time.monotonic() + seconds
    boxes = boxes_within(problem.shape, seconds / 3)
    if boxes is None:
        return None
    members = boxes.members()
    secret, useful = box_costs(problem, members)
    special = np.zeros(len(problem.shape.symbols), dtype=bool)
    special[problem.shape.special] = True
    joined = box_costs(problem, members | special) if special.any() else None
    table = _Table(problem, boxes, members, (secret, useful), joined)
    if problem.mode == "trade_off":
        best = table.weighed(problem.budget)
        bound = (0.0, 0.0) if table.is_silent() else table.enclosed(_objective(problem, best.value))
        return Candidates((table.assignment(best),), bound)
    if boxes.are_of_one_column:
        return table.by_front(deadline)
    return table.by_weights(deadline)


def box_costs(problem: TradeOffData, members: Bools) -> tuple[Floats, Floats]:
    """What each block adds to I(S;Y), but for H(S), and to I(X;Y); 0 of empty ones."""
    secret, useful = [], []
    for part in chunks(members):
        sums = part.astype(np.float64) @ problem.observation.leaking.table.T
        own = xlogx(sums.sum(axis=1))
        secret.append(xlogx(sums).sum(axis=1) - own)
        useful.append(0.0 - own)
    return np.concatenate(secret), np.concatenate(useful)


def proved_best(problem: TradeOffData, seconds: float) -> Enclosure | None:
    """Floats around the best objective of all contiguous mergings; None where not all are tried."""
    if not problem.contiguous or not problem.shape.is_single:
        return None
    tried = candidates(problem, min(PROVING * seconds, 1e6))
    return None if tried is None else tried.bound


def _objective(problem: TradeOffData, value: float) -> float:
    """A weighed objective with what every partition has."""
    return value - problem.entropies[0][0]


@dataclass(frozen=True, eq=False)
class _Point:
    """A partition with its informations."""

    secret: float
    useful: float
    assignment: Ints


@dataclass(frozen=True, eq=False)
class _Table:
    """Boxes with what they add to the two informations, alone and with the special symbols."""

    problem: TradeOffData
    boxes: Boxes
    members: Bools
    costs: tuple[Floats, Floats]
    joined: tuple[Floats, Floats] | None

    def weighed(self, weight: float) -> Partition:
        """The partition of the largest weight * I(X;Y) - I(S;Y), but for H(S)."""
        value = weight * self.costs[1] - self.costs[0]
        joined = None if self.joined is None else weight * self.joined[1] - self.joined[0]
        best = best_partition(self.boxes, value, joined)
        if best is None:
            raise ArithmeticError("every partition has a finite objective")
        if joined is None:
            return best
        apart = best_partition(self.boxes, value)
        alone = self._alone(weight)
        if apart is not None and apart.value + alone > best.value:
            return Partition(apart.value + alone, apart.blocks)
        return best

    def _alone(self, weight: float) -> float:
        """The same of the special symbols as a block of their own."""
        block = np.zeros((1, self.members.shape[1]), dtype=bool)
        block[0, self.problem.shape.special] = True
        secret, useful = box_costs(self.problem, block)
        return float(weight * useful[0] - secret[0])

    def assignment(self, partition: Partition) -> Ints:
        """The block of each symbol."""
        return assigned(self.boxes, self.members, partition)

    def enclosed(self, objective: float, weight: float | None = None) -> Enclosure | None:
        """Floats around the best objective, where all partitions were tried, or around a bound that comes from a weight."""
        if not self.boxes.are_all:
            return None
        problem = self.problem
        mass = error_of(problem.observation.p_w[None, :])
        secret = error_of(problem.observation.leaking.table) + mass + np.ptp(problem.entropies[0])
        if problem.mode == "trade_off":
            error = float(secret + problem.budget * mass)
        elif weight is not None:
            error = float(secret + weight * mass) / (1.0 if problem.is_floor else weight)
        else:
            error = float(secret if problem.is_floor else mass)
        return math.nextafter(objective - error, -math.inf), math.nextafter(objective + error, math.inf)

    def is_silent(self) -> bool:
        """Whether all partitions but that into one block are worse, or above the cap: the objective is then 0, exactly."""
        problem, whole = self.problem, self.members.all(axis=1)
        if not self.boxes.are_all or problem.is_floor:
            return False
        weight = 0.0 if problem.is_cap else problem.budget
        value = np.where(whole, -math.inf, weight * self.costs[1] - self.costs[0])
        second = best_partition(self.boxes, value)
        if second is None:
            return True
        if problem.is_cap:
            return problem.entropies[0][0] - second.value > problem.cap + SLACK
        ends = self.enclosed(_objective(problem, second.value))
        return ends is not None and ends[1] < 0

    def by_front(self, deadline: float) -> Candidates:
        """Partitions of one column that may keep the floor or the cap, the best first."""
        problem = self.problem
        weighed = self.by_weights(deadline)
        front = front_of(self.boxes, *self.costs, weighed.threshold, deadline)
        secret = problem.entropies[0][0] + front.low
        if problem.is_floor:
            near, objective = front.high >= problem.floor - SLACK, 0.0 - secret
        else:
            near, objective = secret <= problem.cap + SLACK, front.high
        order = np.flatnonzero(near)[np.argsort(-objective[near], kind="stable")]
        parts = [Partition(0.0, front.blocks(point)) for point in order[:20].tolist()]
        tried = (*map(self.assignment, parts), *weighed.assignments[:1])
        if not len(order) or problem.budget == math.inf:
            return Candidates(tried, None)
        if self.is_silent():
            return Candidates(tried, (0.0, 0.0))
        return Candidates(
            tried, self.enclosed(float(objective[order[0]])) if front.complete else weighed.bound
        )

    def by_weights(self, deadline: float) -> Candidates:
        """The partition that is best at some weight and keeps the floor or the cap, as near to it as such ones are.

        Both informations rise with the weight. Of two partitions on either side of the bound the weight is taken at which they
        are equal, until none is better there; the weighed objective then bounds the objective.
        """
        problem, offset = self.problem, self.problem.entropies[0][0]
        low, high = (
            _Point(0.0, 0.0, np.zeros(self.members.shape[1], dtype=np.int64)),
            self._at(math.exp(RANGE)),
        )
        bound, weight, threshold = None, 0.0, None
        for _ in range(STEPS):
            if high.useful <= low.useful or self._keeps(low if problem.is_floor else high):
                break
            weight = max(math.exp(-RANGE), (high.secret - low.secret) / (high.useful - low.useful))
            best = self._at(weight)
            value = weight * best.useful - best.secret
            if problem.is_floor:
                bound = self.enclosed(value - weight * problem.floor, weight)
            else:
                bound = self.enclosed((value + problem.cap) / weight, weight)
            if (
                value <= weight * high.useful - high.secret + SLACK * (1 + weight)
                or time.monotonic() > deadline
            ):
                break
            if self._keeps(best) == problem.is_floor:
                high = best
            else:
                low = best
        kept = high if problem.is_floor or self._keeps(high) else low
        if not self._keeps(kept):
            return Candidates((), None)
        if problem.is_floor:
            least = weight * (problem.floor - SLACK) - (kept.secret - offset) - SLACK
        else:
            least = weight * (kept.useful - SLACK) - (problem.cap - offset) - SLACK
        threshold = Threshold(weight, least) if bound is not None else None
        return Candidates((kept.assignment,), bound, threshold)

    def _keeps(self, point: _Point) -> bool:
        """Whether a partition keeps the floor or the cap, by its reading."""
        if self.problem.is_floor:
            return point.useful >= self.problem.floor
        return point.secret <= self.problem.cap

    def _at(self, weight: float) -> _Point:
        """The best partition at a weight, with its informations."""
        assignment = self.assignment(self.weighed(weight))
        members = assignment[None, :] == np.arange(int(assignment.max()) + 1)[:, None]
        secret, useful = box_costs(self.problem, members)
        return _Point(self.problem.entropies[0][0] + float(secret.sum()), float(useful.sum()), assignment)


def assigned(boxes: Boxes, members: Bools, partition: Partition) -> Ints:
    """The block of each symbol; special ones are in the block that holds them, or in the last one."""
    assignment = np.full(members.shape[1], -1, dtype=np.int64)
    for y, box in enumerate(partition.blocks):
        assignment[members[box]] = y
    holder = len(partition.blocks) if partition.joined is None else partition.blocks.index(partition.joined)
    assignment[boxes.shape.special] = holder
    return np.asarray(np.unique(assignment, return_inverse=True)[1])

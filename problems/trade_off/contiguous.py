"""The best merging into intervals, or into nodes of a hierarchy: both informations are sums over blocks."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.problem import Enclosure
from privopt.problems.box_partitions import Boxes, Partition, best_partition, boxes_of, front_of
from privopt.problems.local_information_privacy.contiguous import chunks
from privopt.problems.trade_off.data import TradeOffData
from privopt.problems.trade_off.partition_costs import error_of, xlogx

SLACK = 1e-11
"""Nats by which a floor or a cap may be missed and a partition still counts for a bound."""

RANGE = 20.0
"""Logarithms of weights that are tried, either way."""

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
        Floats around the best objective of all contiguous mergings.
    """

    assignments: tuple[Ints, ...]
    bound: Enclosure | None


def candidates(problem: TradeOffData, seconds: float) -> Candidates | None:
    """The partitions into boxes that are best by their readings; None if there are too many boxes.

    With ``trade_off`` the objective is a sum, and so is that of any weight. Under a floor or a cap the partitions of one
    column are kept that no other one beats; those of several are searched by weights.
    """
    deadline = time.monotonic() + seconds
    boxes = boxes_of(problem.shape)
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
    if boxes.are_all:
        return table.by_front()
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
    tried = candidates(problem, seconds) if problem.contiguous else None
    return None if tried is None else tried.bound


def _objective(problem: TradeOffData, value: float) -> float:
    """A weighed objective with what every partition has."""
    return value - problem.entropies[0][0]


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

    def enclosed(self, objective: float) -> Enclosure | None:
        """Floats around the best objective, where all partitions were tried."""
        if not self.boxes.are_all:
            return None
        problem = self.problem
        mass = error_of(problem.observation.p_w[None, :])
        secret = error_of(problem.observation.leaking.table) + mass + np.ptp(problem.entropies[0])
        if problem.mode == "trade_off":
            error = float(secret + problem.budget * mass)
        else:
            error = float(secret if problem.is_floor else mass)
        return math.nextafter(objective - error, -math.inf), math.nextafter(objective + error, math.inf)

    def is_silent(self) -> bool:
        """Whether all partitions but that into one block are worse, or above the cap: the objective is then 0, exactly."""
        problem, whole = self.problem, self.members.all(axis=1)
        if not self.boxes.are_all or problem.is_floor:
            return False
        secret, useful = np.where(whole, math.inf, self.costs[0]), np.where(whole, -math.inf, self.costs[1])
        if problem.is_cap:
            least = front_of(self.boxes, secret, useful).low.min()
            return bool(problem.entropies[0][0] + least > problem.budget + SLACK)
        second = best_partition(self.boxes, np.where(whole, -math.inf, problem.budget * useful - secret))
        if second is None:
            return True
        ends = self.enclosed(_objective(problem, second.value))
        return ends is not None and ends[1] < 0

    def by_front(self) -> Candidates | None:
        """Partitions that may keep the floor or the cap, the best first."""
        problem = self.problem
        front = front_of(self.boxes, *self.costs)
        secret = problem.entropies[0][0] + front.low
        if problem.is_floor:
            near, objective = front.high >= problem.floor - SLACK, 0.0 - secret
        else:
            near, objective = secret <= problem.budget + SLACK, front.high
        order = np.flatnonzero(near)[np.argsort(-objective[near], kind="stable")]
        if not len(order):
            return Candidates((), None)
        parts = [Partition(0.0, front.blocks(point)) for point in order[:20].tolist()]
        bound = None
        if front.complete and problem.budget < math.inf:
            bound = (0.0, 0.0) if self.is_silent() else self.enclosed(float(objective[order[0]]))
        return Candidates(tuple(map(self.assignment, parts)), bound)

    def by_weights(self, deadline: float) -> Candidates:
        """Partitions at weights nearer and nearer to the floor or the cap: both informations rise with the weight."""
        low, high = -RANGE, RANGE
        kept: list[Ints] = []
        for _ in range(STEPS):
            middle = (low + high) / 2
            best = self.weighed(math.exp(middle))
            secret, useful = self._informations(best)
            if self.problem.is_floor:
                keeps = useful >= self.problem.floor
            else:
                keeps = secret <= self.problem.budget
            if keeps:
                kept.append(self.assignment(best))
            if keeps == self.problem.is_floor:
                high = middle
            else:
                low = middle
            if time.monotonic() > deadline:
                break
        return Candidates(tuple(reversed(kept)), None)

    def _informations(self, partition: Partition) -> tuple[float, float]:
        assignment = self.assignment(partition)
        members = assignment[None, :] == np.arange(int(assignment.max()) + 1)[:, None]
        secret, useful = box_costs(self.problem, members)
        return self.problem.entropies[0][0] + float(secret.sum()), float(useful.sum())


def assigned(boxes: Boxes, members: Bools, partition: Partition) -> Ints:
    """The block of each symbol; special ones are in the block that holds them, or in the last one."""
    assignment = np.full(members.shape[1], -1, dtype=np.int64)
    for y, box in enumerate(partition.blocks):
        assignment[members[box]] = y
    holder = len(partition.blocks) if partition.joined is None else partition.blocks.index(partition.joined)
    assignment[boxes.shape.special] = holder
    return np.asarray(np.unique(assignment, return_inverse=True)[1])

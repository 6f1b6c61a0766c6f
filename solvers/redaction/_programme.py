"""Supports solved, and remembered, by the joint search."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._joint import HIDDEN, PARTIAL, WHOLE, Events, Sights, Support

LEAST = 1e-11
"""Smallest redaction probability in a support: at 0 a record would be released whole, which is another support."""
_RAISES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-5, 1e-2, 1.0)
_HALVINGS, _ROUNDS = 10, 150


class Local:
    """The smooth problem of one support: its variables, then a budget for each left side and pair."""

    def __init__(self, sights: Sights, weights: Floats, support: Support) -> None:
        self.sights, self.support = sights, support
        self.epsilon = sights.problem.epsilon
        # Slacks and shares of a small budget are measured in it: SLSQP's tolerances are absolute.
        self.unit = min(1.0, self.epsilon) or 1.0
        self.where = np.nonzero(support == PARTIAL)
        self.cells = {(int(t), int(v)): i for i, (t, v) in enumerate(zip(*self.where, strict=True))}
        self.size, self.price = len(self.cells), weights[self.where]

    def table(self, values: Floats) -> Floats:
        """Redaction probabilities of all records."""
        table = np.where(self.support == WHOLE, 0.0, 1.0)
        table[self.where] = values
        return table

    def sides(self, values: Floats) -> list[tuple[Events, Events]]:
        """First releases to the left and right of each private record."""
        table = self.table(values)
        return [
            (
                self.sights.events(self.support, table, self.cells, p, 0),
                self.sights.events(self.support, table, self.cells, p, 1),
            )
            for p in self.sights.private
        ]

    def excess(self, values: Floats) -> float:
        """Leakage above epsilon."""
        totals = [float((one.largest + other.largest).max()) for one, other in self.sides(values)]
        return max(totals, default=0.0) - self.epsilon

    def raised(self, values: Floats) -> Floats:
        """The values, moved towards 1 no farther than the budget needs."""
        if self.excess(values) <= 0:
            return values
        place = next(
            (i for i, raise_ in enumerate(_RAISES) if self.excess(values + (1 - values) * raise_) <= 0), -1
        )
        low, high = _RAISES[place - 1] if place > 0 else 0.0, _RAISES[place]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.excess(values + (1 - values) * middle) > 0 else (low, middle)
        return values + (1 - values) * high

    def descend(self, start: Floats) -> Floats:
        """SLSQP, the slacks of all first releases being its constraints."""
        from scipy.optimize import Bounds, NonlinearConstraint, minimize

        begin = self._begin(start)
        free = np.arange(len(begin)) < self.size
        price = np.zeros(len(begin))
        price[: self.size] = self.price / max(float(self.price.max()), 1e-300)
        low, high = np.where(free, LEAST, 0.0), np.where(free, 1.0, self.epsilon / self.unit)
        inside: Floats = np.clip(begin, low, high)

        def loss(z: Floats) -> float:
            return float(price @ z)

        def slope(z: Floats) -> Floats:
            return price

        found = minimize(
            loss,
            inside,
            jac=slope,
            method="SLSQP",
            bounds=Bounds(low, high),
            constraints=NonlinearConstraint(self._slacks, 0.0, np.inf, jac=self._slopes),
            options={"maxiter": _ROUNDS, "ftol": 1e-12},
        )
        values: Floats = np.clip(found.x[: self.size], LEAST, 1.0)
        return values

    def _begin(self, start: Floats) -> Floats:
        """The values, then the left shares of the budget that leave both sides the same slack."""
        shares = [
            one.largest + (self.epsilon - one.largest - other.largest) / 2 for one, other in self.sides(start)
        ]
        return np.concatenate((start, *(share / self.unit for share in shares)))

    def _slacks(self, z: Floats) -> Floats:
        """Budget left by each first release."""
        slacks, at = list[Floats](), self.size
        for both in self.sides(np.clip(z[: self.size], LEAST, 1.0)):
            share = z[at : at + both[0].logs.shape[1]] * self.unit
            slacks += [(share - both[0].logs).ravel(), (self.epsilon - share - both[1].logs).ravel()]
            at += len(share)
        return np.concatenate(slacks) / self.unit

    def _slopes(self, z: Floats) -> Floats:
        """Derivatives of the slacks, (slacks, variables)."""
        slopes, at = list[Floats](), self.size
        for both in self.sides(np.clip(z[: self.size], LEAST, 1.0)):
            pairs = np.arange(both[0].logs.shape[1])
            for events, sign in zip(both, (1.0, -1.0), strict=True):
                rows = np.zeros((len(events.logs), len(pairs), len(z)))
                rows[:, :, : self.size] = -events.slopes.transpose(0, 2, 1) / self.unit
                rows[:, pairs, at + pairs] = sign
                slopes.append(rows.reshape(-1, len(z)))
            at += len(pairs)
        return np.concatenate(slopes)


@dataclass(frozen=True, eq=False)
class Point:
    """A support with its redaction table and the expected weight hidden."""

    cost: float
    support: Support
    table: Floats


@dataclass
class Programme:
    """Supports to probabilities; remembers what it has solved."""

    problem: Redaction
    solved: dict[bytes, Point | None] = field(default_factory=dict)
    runs: int = 0

    def __post_init__(self) -> None:
        law = self.problem.chain.marginals(self.problem.length)
        self.weights = law * self.problem.record_weights[:, None]
        self.sights = Sights(self.problem)

    def floor(self, support: Support) -> float:
        """What the support hides for sure."""
        return float(self.weights[support == HIDDEN].sum())

    def solve(self, support: Support, near: Floats, worth: float = math.inf) -> Point | None:
        """A local optimum of a support from a start; None if it is never private or cannot cost less than ``worth``."""
        support = self.sights.tidy(support)
        key = hashlib.blake2b(support.tobytes()).digest()
        if key not in self.solved:
            if self.floor(support) >= worth:
                return None
            self.solved[key] = self._solve(Local(self.sights, self.weights, support), near)
        return self.solved[key]

    def _solve(self, local: Local, near: Floats) -> Point | None:
        # Raising probabilities never leaks more, so the support is private somewhere iff it is next to 1.
        if local.excess(np.ones(local.size)) > 0:
            return None
        values = np.ones(0)
        if local.size:
            self.runs += 1
            values = local.raised(local.descend(np.clip(near[local.where], LEAST, 0.95)))
        table = local.table(values)
        return Point(float((self.weights * table).sum()), local.support, table)

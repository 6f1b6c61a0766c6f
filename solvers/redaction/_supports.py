"""Leakages of all private records at once, as smooth constraints on the probabilities of a support, and their optima.

A support says of each cell (record, value) whether it is always hidden, sometimes released, or belongs to a
record that is released whole. With the support fixed, the outputs that count are the first releases on
each side of each private record, and the log-ratios of their probabilities are smooth.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.measures.redaction.leakage import steps_away
from privopt.problems.redaction.problem import Redaction

HIDDEN, PARTIAL, WHOLE = 0, 1, 2
Support: TypeAlias = NDArray[np.int8]

LEAST = 1e-11
"""Smallest redaction probability in a support: at 0 a record would be released whole, which is another support."""
_RAISES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-5, 1e-2, 1.0)
_HALVINGS, _ROUNDS = 10, 150


@dataclass(frozen=True, eq=False)
class Events:
    """First releases of one side: log-ratios [event, pair] and their derivatives [event, variable, pair]."""

    logs: Floats
    slopes: Floats

    @property
    def largest(self) -> Floats:
        """The largest log-ratio of each pair."""
        return np.asarray(self.logs.max(axis=0, initial=0.0))


@dataclass(frozen=True, eq=False)
class Visit:
    """A record that may release something: the way to it from the one before, and what of it may be released."""

    record: int
    between: Floats
    released: NDArray[np.intp]
    partial: NDArray[np.intp]
    varying: NDArray[np.int64]
    whole: bool


@dataclass
class Sights:
    """What each private record can see of the others, walked as far as needed."""

    problem: Redaction
    private: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = {p: self.problem.possible_values(p) for p in self.problem.private}
        self.private = [p for p, values in self.values.items() if len(values) > 1]
        self._sources = {p: steps_away(self.problem.chain, p, self.problem.length) for p in self.private}
        self._steps: dict[int, tuple[list[Floats], list[Floats]]] = {p: ([], []) for p in self.private}

    def step(self, p: int, side: int, distance: int) -> Floats:
        """The step that leads to a distance from a private record, left (0) or right (1)."""
        known = self._steps[p][side]
        missing = distance - len(known)
        if missing > 0:
            known.extend(itertools.islice(self._sources[p][side], missing))
        return known[distance - 1]

    def records(self, p: int, side: int) -> range:
        """Positions on one side, nearest first."""
        return range(p + 1, self.problem.length) if side else range(p - 1, -1, -1)

    def visible(self, support: Support) -> NDArray[np.bool_]:
        """Records that some private record sees before the first one released whole, that one included."""
        whole = (support == WHOLE).all(axis=1)
        seen = np.zeros(len(support), dtype=bool)
        for p in self.private:
            seen[p] = True
            before, after = np.flatnonzero(whole[:p]), np.flatnonzero(whole[p + 1 :])
            first = int(before[-1]) if len(before) else 0
            last = p + 1 + int(after[0]) if len(after) else len(whole) - 1
            seen[first : last + 1] = True
        return seen

    def tidy(self, support: Support) -> Support:
        """The same with everything released that no private record sees."""
        support = support.copy()
        support[~self.visible(support)] = WHOLE
        return support

    def walk(
        self, support: Support, cells: dict[tuple[int, int], int], p: int, side: int
    ) -> tuple[Visit, ...]:
        """The records on one side that may release something, up to the first that does so for sure.

        ``cells`` numbers the cells that vary.
        """
        visits = list[Visit]()
        between = np.eye(support.shape[1])
        for distance, t in enumerate(self.records(p, side), start=1):
            between = between @ self.step(p, side, distance)
            released = np.flatnonzero(support[t] != HIDDEN)
            if not len(released):
                continue
            partial = np.flatnonzero(support[t] == PARTIAL)
            varying = np.array([cells[t, v] for v in partial.tolist()], dtype=np.int64)
            whole = bool((support[t] == WHOLE).all())
            visits.append(Visit(t, between, released, partial, varying, whole))
            if whole:
                break
            between = np.eye(support.shape[1])
        return tuple(visits)

    def events(self, walk: tuple[Visit, ...], redaction: Floats, variables: int, p: int) -> Events:
        """First releases on one side, with derivatives by so many variables; with 0 of them none."""
        values, k = self.values[p], redaction.shape[1]
        table, slopes = np.eye(k)[values], np.zeros((variables, len(values), k))
        columns, tangents = list[Floats](), list[Floats]()
        for visit in walk:
            table = table @ visit.between
            columns.append(table[:, visit.released].T)
            if variables:
                slopes = slopes @ visit.between
                tangents.append(slopes[:, :, visit.released].transpose(2, 0, 1))
            if visit.whole:
                return _events(columns, tangents)
            hidden = redaction[visit.record]
            nearer, table = table, table * hidden
            scale = 1.0 / table.max()
            table *= scale
            if variables:
                slopes = slopes * hidden
                slopes[visit.varying, :, visit.partial] = nearer[:, visit.partial].T
                slopes *= scale
        columns.append(table.sum(axis=1)[None])
        if variables:
            tangents.append(slopes.sum(axis=2)[None])
        return _events(columns, tangents)


def _events(columns: list[Floats], tangents: list[Floats]) -> Events:
    """Log-ratios of all ordered pairs; outputs that no value allows are left out."""
    table = np.concatenate(columns)
    kept = table.max(axis=1) > 0
    slopes = np.concatenate(tangents)[kept] if tangents else np.zeros((int(kept.sum()), 0, table.shape[1]))
    table = table[kept]
    off = ~np.eye(table.shape[1], dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, rates = np.log(table), slopes / table[:, None, :]
        ratios = (logs[:, :, None] - logs[:, None, :])[:, off]
        changes = (rates[:, :, :, None] - rates[:, :, None, :])[:, :, off]
    return Events(np.nan_to_num(ratios, nan=-np.inf, posinf=np.inf, neginf=-np.inf), changes)


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
        self.walks = {
            p: (sights.walk(support, self.cells, p, 0), sights.walk(support, self.cells, p, 1))
            for p in sights.private
        }

    def table(self, values: Floats) -> Floats:
        """Redaction probabilities of all records."""
        table = np.where(self.support == WHOLE, 0.0, 1.0)
        table[self.where] = values
        return table

    def sides(self, values: Floats, derivatives: bool = False) -> list[tuple[Events, Events]]:
        """First releases to the left and right of each private record, perhaps with derivatives by the variables."""
        table, variables = self.table(values), self.size if derivatives else 0
        events = self.sights.events
        return [
            (events(one, table, variables, p), events(other, table, variables, p))
            for p, (one, other) in self.walks.items()
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

        def loss(z: Floats) -> tuple[float, Floats]:
            return float(price @ z), price

        optimum = minimize(
            loss,
            inside,
            jac=True,
            method="SLSQP",
            bounds=Bounds(low, high),
            constraints=NonlinearConstraint(self._slacks, 0.0, np.inf, jac=self._slopes),
            options={"maxiter": _ROUNDS, "ftol": 1e-12},
        )
        return np.asarray(np.clip(optimum.x[: self.size], LEAST, 1.0))

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
        for both in self.sides(np.clip(z[: self.size], LEAST, 1.0), derivatives=True):
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
class Program:
    """Supports to probabilities; remembers what it has solved."""

    problem: Redaction
    solved: dict[bytes, Point | None] = field(default_factory=dict)
    runs: int = 0

    def __post_init__(self) -> None:
        self.weights = self.problem.weighted_marginals
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

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
from privopt.solvers.redaction._hidden import Hidden, hidden

HIDDEN, PARTIAL, WHOLE = 0, 1, 2
Support: TypeAlias = NDArray[np.int8]

LEAST = 1e-11
"""Smallest redaction probability in a support: at 0 a record would be released whole, which is another support."""
FINE = 1e-12
"""Of the cost in units of its steepest slope, when SLSQP stops."""
_RAISES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-5, 1e-2, 1.0)
_HALVINGS, _ROUNDS = 10, 150


@dataclass(frozen=True, eq=False)
class Visit:
    """A record that may release something, the way to it from the one before, and what of it may be released.

    ``varying`` are pairs (variable, value).
    """

    record: int
    between: Floats
    released: list[int]
    varying: list[tuple[int, int]]
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
        self, rows: list[list[int]], cells: dict[tuple[int, int], int], p: int, side: int
    ) -> tuple[Visit, ...]:
        """The records on one side that may release something, up to the first that does so for sure.

        ``rows`` are those of a support, ``cells`` numbers the cells that vary.
        """
        visits = list[Visit]()
        between: Floats | None = None
        for distance, t in enumerate(self.records(p, side), start=1):
            step = self.step(p, side, distance)
            between = step if between is None else between @ step
            released = [v for v, kind in enumerate(rows[t]) if kind != HIDDEN]
            if not released:
                continue
            varying = [(cells[t, v], v) for v in released if rows[t][v] == PARTIAL]
            whole = not varying and len(released) == len(rows[t])
            visits.append(Visit(t, between, released, varying, whole))
            if whole:
                break
            between = None
        return tuple(visits)


@dataclass(frozen=True, eq=False)
class Step:
    """One visit of every walk at once: the way to it, whose probabilities it takes, and what of it may be released.

    ``events`` are pairs (walk, value); ``changes`` are triples (walk, variable, value).
    """

    between: Floats
    records: NDArray[np.intp]
    events: tuple[NDArray[np.intp], NDArray[np.intp]]
    changes: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]


class Walks:
    """First releases on both sides of all private records, followed side by side: arrays of one walk are too small to be quick.

    A first release is a log-ratio of an event of one side for an ordered pair of values of its private record. Those that
    no value allows, and those that never are the largest, are left out.

    Attributes
    ----------
    shares : int
        Pairs of values, of all private records.
    share : array of int
        The pair of each first release.
    right : array of bool
        Whether it is on the right side.
    """

    def __init__(self, sights: Sights, support: Support, cells: dict[tuple[int, int], int]) -> None:
        self.length, self.states = support.shape
        self.variables = len(cells)
        rows = support.tolist()
        walks = [(p, side, sights.walk(rows, cells, p, side)) for p in sights.private for side in (0, 1)]
        self._start = np.zeros((len(walks), self.states, self.states))
        for w, (p, _, _) in enumerate(walks):
            self._start[w, sights.values[p], sights.values[p]] = 1.0
        visits = [visited for _, _, visited in walks]
        self._steps = [self._step(visits, i) for i in range(max(map(len, visits), default=0))]
        self._open = np.array([w for w, v in enumerate(visits) if not (v and v[-1].whole)], dtype=np.intp)
        self._pair_up(sights, walks)

    def _step(self, walks: list[tuple[Visit, ...]], i: int) -> Step:
        """The visits number i; walks that have ended stay where they are."""
        between = np.repeat(np.eye(self.states)[None], len(walks), axis=0)
        records = np.full(len(walks), self.length)
        events, changes = list[tuple[int, int]](), list[tuple[int, int, int]]()
        for w, walk in enumerate(walks):
            if i >= len(walk):
                continue
            visit = walk[i]
            between[w] = visit.between
            events += [(w, v) for v in visit.released]
            if not visit.whole:
                records[w] = visit.record
                changes += [(w, x, v) for x, v in visit.varying]
        of_events = np.array(events, dtype=np.intp).reshape(-1, 2).T
        of_changes = np.array(changes, dtype=np.intp).reshape(-1, 3).T
        return Step(
            between, records, (of_events[0], of_events[1]), (of_changes[0], of_changes[1], of_changes[2])
        )

    def _pair_up(self, sights: Sights, walks: list[tuple[int, int, tuple[Visit, ...]]]) -> None:
        """All ordered pairs of values for each event, in the order of their shares."""
        pairs = {p: list(itertools.permutations(sights.values[p].tolist(), 2)) for p in sights.private}
        begins = dict(
            zip(pairs, itertools.accumulate((len(v) for v in pairs.values()), initial=0), strict=False)
        )
        self.shares = sum(map(len, pairs.values()))
        of_event = np.concatenate([*(step.events[0] for step in self._steps), self._open]).astype(np.intp)
        rows = [
            (begins[p] + j, side, event, one, other)
            for event, (p, side, _) in ((e, walks[w]) for e, w in enumerate(of_event.tolist()))
            for j, (one, other) in enumerate(pairs[p])
        ]
        table = np.array(rows, dtype=np.intp).reshape(-1, 5)
        table = table[np.lexsort((table[:, 0], table[:, 1]))]
        self.share, side, self._event, self._one, self._other = table.T
        self.right = side == 1
        ratios = self.logs(np.ones((self.length, self.states)))
        matter = ~np.isneginf(ratios)
        self.share, self.right = self.share[matter], self.right[matter]
        self._event, self._one, self._other = self._event[matter], self._one[matter], self._other[matter]
        group = self.share + self.shares * self.right
        self._groups, self._starts = np.unique(group, return_index=True)

    def logs(self, redaction: Floats) -> Floats:
        """The log-ratio of each first release."""
        return self._ratios(self._followed(redaction)[0])

    def slopes(self, redaction: Floats) -> Floats:
        """Derivatives of the log-ratios by the variables, (first releases, variables)."""
        columns, tangents = self._followed(redaction, self.variables)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = tangents / columns[:, None, :]
            return np.asarray(rates[self._event, :, self._one] - rates[self._event, :, self._other])

    def largest(self, redaction: Floats) -> tuple[Floats, Floats]:
        """The largest log-ratio of each pair of values, on the left sides and on the right ones; 0 if none is more."""
        most = np.zeros(2 * self.shares)
        if len(self._groups):
            most[self._groups] = np.maximum(0.0, np.maximum.reduceat(self.logs(redaction), self._starts))
        return most[: self.shares], most[self.shares :]

    def _ratios(self, columns: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(columns)
            ratios = logs[self._event, self._one] - logs[self._event, self._other]
        return np.asarray(np.nan_to_num(ratios, nan=-np.inf, posinf=np.inf, neginf=-np.inf))

    def _followed(self, redaction: Floats, variables: int = 0) -> tuple[Floats, Floats]:
        """Probabilities of the events by value, (events, values), up to a factor each; and their derivatives by so many variables."""
        hidden = np.append(redaction, np.ones((1, self.states)), axis=0)
        table = self._start
        slopes = np.zeros((len(table), variables, self.states, self.states))
        columns, tangents = list[Floats](), list[Floats]()
        for step in self._steps:
            of, values = step.events
            table = table @ step.between
            columns.append(table[of, :, values])
            mask = hidden[step.records]
            nearer, table = table, table * mask[:, None, :]
            scale = 1.0 / table.max(axis=(1, 2), keepdims=True)
            table = table * scale
            if variables:
                slopes = slopes @ step.between[:, None]
                tangents.append(slopes[of, :, :, values])
                slopes = slopes * mask[:, None, None, :]
                of, cells, values = step.changes
                slopes[of, cells, :, values] = nearer[of, :, values]
                slopes *= scale[:, None]
        columns.append(table[self._open].sum(axis=2))
        if variables:
            tangents.append(slopes[self._open].sum(axis=3))
        return np.concatenate(columns), np.concatenate(tangents) if tangents else np.zeros((0, 0, 0))


class Local:
    """The smooth problem of one support: its variables, then a budget for each left side and pair."""

    def __init__(self, sights: Sights, hidden: Hidden, support: Support) -> None:
        self.sights, self.hidden, self.support = sights, hidden, support
        self.epsilon = sights.problem.epsilon
        # Slacks and shares of a small budget are measured in it: SLSQP's tolerances are absolute.
        self.unit = min(1.0, self.epsilon) or 1.0
        self.where = np.nonzero(support == PARTIAL)
        self.cells = {(int(t), int(v)): i for i, (t, v) in enumerate(zip(*self.where, strict=True))}
        self.size = len(self.cells)
        self.walks = Walks(sights, support, self.cells)

    def table(self, values: Floats) -> Floats:
        """Redaction probabilities of all records."""
        table = np.where(self.support == WHOLE, 0.0, 1.0)
        table[self.where] = values
        return table

    def excess(self, values: Floats) -> float:
        """Leakage above epsilon."""
        left, right = self.walks.largest(self.table(values))
        return float((left + right).max(initial=0.0)) - self.epsilon

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

    def descend(self, start: Floats, tolerance: float) -> Floats:
        """SLSQP, the slacks of all first releases being its constraints."""
        from scipy.optimize import Bounds, NonlinearConstraint, minimize

        begin = self._begin(start)
        free = np.arange(len(begin)) < self.size
        unit = max(float(self.hidden.slopes(self.table(np.ones(self.size)))[self.where].max()), 1e-300)
        low, high = np.where(free, LEAST, 0.0), np.where(free, 1.0, self.epsilon / self.unit)
        inside: Floats = np.clip(begin, low, high)

        def loss(z: Floats) -> tuple[float, Floats]:
            table, slopes = self.table(z[: self.size]), np.zeros(len(z))
            slopes[: self.size] = self.hidden.slopes(table)[self.where] / unit
            return self.hidden.value(table) / unit, slopes

        optimum = minimize(
            loss,
            inside,
            jac=True,
            method="SLSQP",
            bounds=Bounds(low, high),
            constraints=NonlinearConstraint(self._slacks, 0.0, np.inf, jac=self._slopes),
            options={"maxiter": _ROUNDS, "ftol": tolerance},
        )
        return np.asarray(np.clip(optimum.x[: self.size], LEAST, 1.0))

    def _begin(self, start: Floats) -> Floats:
        """The values, then the left shares of the budget that leave both sides the same slack."""
        left, right = self.walks.largest(self.table(start))
        return np.concatenate((start, (left + (self.epsilon - left - right) / 2) / self.unit))

    def _slacks(self, z: Floats) -> Floats:
        """Budget left by each first release."""
        share = z[self.size :][self.walks.share] * self.unit
        budget = np.where(self.walks.right, self.epsilon - share, share)
        logs = self.walks.logs(self.table(np.clip(z[: self.size], LEAST, 1.0)))
        return np.asarray((budget - logs) / self.unit)

    def _slopes(self, z: Floats) -> Floats:
        """Derivatives of the slacks, (slacks, variables)."""
        rows = np.zeros((len(self.walks.share), len(z)))
        rows[:, : self.size] = -self.walks.slopes(self.table(np.clip(z[: self.size], LEAST, 1.0))) / self.unit
        rows[np.arange(len(rows)), self.size + self.walks.share] = np.where(self.walks.right, -1.0, 1.0)
        return rows


@dataclass(frozen=True, eq=False)
class Point:
    """A support with its redaction table and the expected weight hidden."""

    cost: float
    support: Support
    table: Floats


@dataclass
class Program:
    """Supports to probabilities; remembers what it has solved, to a tolerance of the cost."""

    problem: Redaction
    tolerance: float = FINE
    solved: dict[bytes, Point | None] = field(default_factory=dict)
    runs: int = 0

    def __post_init__(self) -> None:
        self.hidden = hidden(self.problem)
        self.sights = Sights(self.problem)

    def floor(self, support: Support) -> float:
        """What the support hides for sure."""
        return self.hidden.value((support == HIDDEN).astype(np.float64))

    def solve(self, support: Support, near: Floats, worth: float = math.inf) -> Point | None:
        """A local optimum of a support from a start; None if it is never private or cannot cost less than ``worth``."""
        support = self.sights.tidy(support)
        key = hashlib.blake2b(support.tobytes()).digest()
        if key not in self.solved:
            if self.floor(support) >= worth:
                return None
            local = Local(self.sights, self.hidden, support)
            self.solved[key] = self._solve(local, near, self.tolerance)
        return self.solved[key]

    def polished(self, point: Point) -> Point:
        """The same to the finest tolerance; the point itself where that is no better."""
        finer = self._solve(Local(self.sights, self.hidden, point.support), point.table, FINE)
        return point if finer is None or finer.cost > point.cost else finer

    def _solve(self, local: Local, near: Floats, tolerance: float) -> Point | None:
        # Raising probabilities never leaks more, so the support is private somewhere iff it is next to 1.
        if local.excess(np.ones(local.size)) > 0:
            return None
        values = np.ones(0)
        if local.size:
            self.runs += 1
            values = local.raised(local.descend(np.clip(near[local.where], LEAST, 0.95), tolerance))
        table = local.table(values)
        return Point(self.hidden.value(table), local.support, table)

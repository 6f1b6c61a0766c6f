"""Local search over what each record may release, for several private records and any number of states."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._supports import HIDDEN, PARTIAL, WHOLE, Point, Program, Support
from privopt.solvers.redaction.reach import NOISE, first, influences, refusal
from privopt.solvers.redaction.relaxation import Relaxation
from privopt.solvers.redaction.windows import Windows

MAX_RECORDS = 60
"""Most records near the private ones for which a local search is worth its time."""
MAX_OUTSIDE = 200
"""Most records outside the search that a start may leave in sight."""
ALONE = 2e-3
"""Seconds where no record but the private ones matters, and nothing is searched."""


@dataclass(frozen=True, eq=False)
class Zone:
    """Records whose choice is searched, and the choices of a record."""

    records: list[int]
    choices: list[Support]

    @classmethod
    def of(cls, problem: Redaction, records: list[int]) -> Self:
        """Every set of values where there are few, else single values, all but one, and all."""
        k = problem.chain.k
        sizes = range(1, k + 1) if k <= 4 else (1, k - 1, k)
        sets = [list(s) for size in sizes for s in itertools.combinations(range(k), size)]
        choices = [np.full(k, HIDDEN, np.int8), np.full(k, WHOLE, np.int8)]
        for values in sets:
            choice = np.full(k, HIDDEN, np.int8)
            choice[values] = PARTIAL
            choices.append(choice)
        return cls(records, choices)

    def sees_too_far(self, visible: NDArray[np.bool_]) -> bool:
        """Whether a start hides so much of a long side that every look would walk far along it."""
        outside = visible.copy()
        outside[self.records] = False
        return int(np.count_nonzero(outside)) > MAX_OUTSIDE


def near_records(problem: Redaction, budget: float) -> list[int]:
    """Records that can tell more than a budget of some private one, until there are too many."""
    near: set[int] = set()
    for p in problem.private:
        for side in (0, 1):
            influence = influences(problem, p, side, budget, most=MAX_RECORDS + 1)
            distances = np.flatnonzero(influence.max(axis=1, initial=0.0) > budget) + 1
            near.update((p + distances if side else p - distances).tolist())
        if len(near.difference(problem.private)) > MAX_RECORDS:
            break
    return sorted(near.difference(problem.private))


def searched_records(problem: Redaction) -> list[int]:
    """Records to search: some that may be released whole at first are among them, unless they are too many."""
    widths = (near_records(problem, problem.epsilon / part) for part in (16, 8, 4))
    return next(
        (near for near in widths if len(near) <= MAX_RECORDS), near_records(problem, problem.epsilon / 2)
    )


Form = tuple[float, int, int]
"""Left share of epsilon, and which values are released early on the left and on the right."""

_RELAXED, _STARTED = 0.25, 0.4
"""Shares of the time for the relaxation, and for all starts."""
_MOST = 24
_SHARES = (0.5, 0.25, 0.75, 0.0, 1.0)


def starts(
    problem: Redaction, zone: Zone, budget: Budget, rng: np.random.Generator
) -> Iterator[tuple[Support, Floats]]:
    """Supports with redaction tables to start from, at most a few dozen; each is private near its table of ones.

    The incumbent is the first of them, and those of the relaxation are looked at even so: an incumbent of the same cost may be far
    worse to start from.
    """
    yield from _near_mechanism(problem, budget.incumbent)
    yield from _near_mechanism(problem, Windows().run(problem, budget).mechanism)
    yield from _near_mechanism(problem, Relaxation().run(problem, budget.earlier(1 - _RELAXED)).mechanism)
    yield from _by_form(problem, zone, rng)


def _near_mechanism(problem: Redaction, mechanism: object) -> Iterator[tuple[Support, Floats]]:
    """The support of a mechanism, if it is one."""
    if isinstance(mechanism, RedactionMechanism):
        table = np.array(mechanism.probabilities)
        table[list(problem.private)] = 1.0
        yield _support(table), np.where(table < 1, table, 0.9)


def _by_form(problem: Redaction, zone: Zone, rng: np.random.Generator) -> Iterator[tuple[Support, Floats]]:
    """Supports by the shares of the budget and the values that are released early on both sides of each private record."""
    negligible = 1e-6 * problem.epsilon
    known = {p: [influences(problem, p, side, negligible) for side in (0, 1)] for p in problem.private}
    for form in _forms(problem, len(zone.choices) - 2, rng):
        support = np.full((problem.length, problem.chain.k), WHOLE, np.int8)
        for p, (share, one, other) in zip(problem.private, form, strict=True):
            parts = (share * problem.epsilon, (1 - share) * problem.epsilon)
            for rows, influence, part, choice in zip(
                (support[:p][::-1], support[p + 1 :]), known[p], parts, (one, other), strict=True
            ):
                _restrict(rows, influence, part, np.flatnonzero(zone.choices[2 + choice] == PARTIAL))
            support[p] = HIDDEN
        yield _valid(support), np.full(support.shape, 0.9)


def _forms(problem: Redaction, choices: int, rng: np.random.Generator) -> list[list[Form]]:
    """A share and the values of both sides for each private record: the same for all, and random ones."""
    forms = list(itertools.product(_SHARES, range(choices), range(choices)))
    count, plain = len(problem.private), (0.5, choices - 1, choices - 1)
    same = [[form] * count for form in [plain, *(forms[i] for i in rng.permutation(len(forms)).tolist())]]
    if count == 1:
        return same[:_MOST]
    mixed = [[forms[i] for i in rng.integers(len(forms), size=count).tolist()] for _ in range(_MOST)]
    return [form for pair in zip(same, mixed, strict=False) for form in pair][:_MOST]


def _restrict(rows: Support, influence: Floats, part: float, values: NDArray[np.intp]) -> None:
    """Keep, nearest first, what one private record allows: some values, then everything."""
    within = influence <= part
    small = first(within.all(axis=1))
    allowed = np.full(influence.shape, HIDDEN, np.int8)
    allowed[:, values] = np.where(within[:, values], PARTIAL, HIDDEN)
    allowed[small:] = WHOLE
    rows[: len(influence)] = np.minimum(rows[: len(influence)], allowed)
    if small == len(influence):
        rows[len(influence) :] = HIDDEN


def _support(table: Floats) -> Support:
    return _valid(np.where(table == 0, WHOLE, np.where(table < 1, PARTIAL, HIDDEN)).astype(np.int8))


def _valid(support: Support) -> Support:
    """A record released whole is so in all its values."""
    rows = ~(support == WHOLE).all(axis=1)
    support[rows] = np.minimum(support[rows], PARTIAL)
    return support


MAX_STATES = 12
MAX_LENGTH = 20_000
"""Records in the tables of probabilities, many of which are kept."""
MOST_MOVES = 4000
"""Most changes tried before a point counts as a local optimum."""
COARSE = 1e-7
"""To which supports are compared: the best one is finished to the last digits."""
CLIMBS = 4
"""Number of starts that are improved."""


@register
@dataclass(frozen=True)
class JointSearch(Solver[Redaction]):
    """All private records at once: the record-wise maximum of single answers can cost everything.

    The record-wise maximum (Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far
    Enough to Protect", Footnote 1) is private, and only a start here, next to windows and mechanisms of
    their 3R form. Each record may release nothing, some of its values sometimes, or everything; one record's
    choice is changed at a time, and the probabilities follow from SLSQP with exact derivatives.

    Parameters
    ----------
    runs : int
        Most runs of SLSQP.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "joint-search"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: a local search."""

    runs: int = 300

    def cost(self, problem: Redaction) -> float:
        """Runs of SLSQP, each with the square of the cells near the private records, and with the pairs of values."""
        if math.isinf(problem.epsilon) or not near_records(problem, problem.epsilon / 2):
            return ALONE
        cells = len(searched_records(problem)) * problem.chain.k
        return 0.1 + self.runs * len(problem.private) * (problem.chain.k - 1) * (3e-4 + 8e-7 * cells**2)

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse where too much matters for a local search."""
        of_two = "it searches local mechanisms, and sequential ones of three states and more"
        if (reason := refusal(problem, local=of_two if problem.chain.k == 2 else "")) is not None:
            return reason
        if problem.chain.k > MAX_STATES:
            return f"it tries sets of values: at most {MAX_STATES} states, not {problem.chain.k}"
        if problem.length > MAX_LENGTH:
            return f"it keeps many whole mechanisms: at most {MAX_LENGTH} records, not {problem.length}"
        if len(near_records(problem, problem.epsilon / 2)) > MAX_RECORDS:
            return f"more than {MAX_RECORDS} records tell much of a private one: a local search is hopeless"
        return None

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best mechanism met."""
        if problem.epsilon < NOISE:
            return Windows().run(problem, budget)
        table = np.zeros((problem.length, problem.chain.k))
        table[list(problem.private)] = 1.0
        if math.isinf(problem.epsilon) or not near_records(problem, problem.epsilon / 2):
            return Proposal(problem.answer(table))
        search = _Search(problem, budget, self.runs)
        best = search.best()
        if best is not None and budget.remaining > 0:
            best = search.program.polished(best)
        stats = {"runs": search.program.runs, "supports": len(search.program.solved)}
        return Proposal(problem.safe() if best is None else problem.answer(best.table), stats=stats)


class _Search:
    def __init__(self, problem: Redaction, budget: Budget, runs: int) -> None:
        self.problem, self.budget, self.runs = problem, budget, runs
        self.program = Program(problem, COARSE)
        self.rng = np.random.default_rng(budget.seed)
        self.zone = Zone.of(problem, searched_records(problem))
        self.tried: dict[tuple[int, int], int] = {}

    @property
    def done(self) -> bool:
        return self.budget.remaining == 0 or self.program.runs >= self.runs

    def best(self) -> Point | None:
        """The best point of local searches from the best starts."""
        points: dict[bytes, Point] = {}
        enough = (1 - _STARTED) * self.budget.remaining
        for support, near in starts(self.problem, self.zone, self.budget, self.rng):
            if self.zone.sees_too_far(self.program.sights.visible(support)):
                continue
            point = self.program.solve(support, near)
            if point is not None:
                points[point.support.tobytes()] = point
            if self.budget.remaining <= enough < math.inf or self.program.runs >= self.runs // 2:
                break
        best: Point | None = None
        for start in sorted(points.values(), key=lambda point: point.cost)[:CLIMBS]:
            point = self.climb(start)
            best = point if best is None or point.cost < best.cost else best
        return best

    def climb(self, point: Point) -> Point:
        """Change a stretch of records or one record at a time while that helps, and two records when nothing else does."""
        changes = ((self.stretches, 1), (self.moves, 1), (self.stretches, 2), (self.moves, 2))
        at, in_vain = 0, 0
        while in_vain < len(changes) and not self.done:
            changed, count = changes[at]
            better = self._better(point, changed(point.support, count))
            point, in_vain = (point, in_vain + 1) if better is None else (better, 0)
            if better is None or at + 1 == len(
                changes
            ):  # pairs of records are many: what is cheaper comes before the next
                at = (at + 1) % len(changes)
        return point

    def _better(self, point: Point, supports: Iterator[Support]) -> Point | None:
        """The first point of some supports that is better, or None."""
        near = np.where(point.table < 1, point.table, 0.9)
        for support in supports:
            if self.done:
                break
            other = self.program.solve(support, near, point.cost - 1e-9)
            if other is not None and other.cost < point.cost - 1e-9:
                reading = self.problem.evaluate(self.problem.answer(other.table))
                self.budget.report(reading.objective, fraction=self.program.runs / self.runs)
                return other
        return None

    def stretches(self, support: Support, parts: int) -> Iterator[Support]:
        """Supports in which all records between private ones, or each of so many parts of them, always hide a value or sometimes release it.

        Where a value is rare, optima hide it along a whole side, which no change of a single record comes near.
        """
        records, private = np.array(self.zone.records), np.sort(self.problem.private)
        sides = np.searchsorted(private, records)
        between = [records[sides == side] for side in range(len(private) + 1)]
        stretches = [part for side in between for part in np.array_split(side, parts) if len(part) > 1]
        changes = list(itertools.product(stretches, range(support.shape[1]), (HIDDEN, PARTIAL)))
        for j in self.rng.permutation(len(changes)).tolist():
            yield self._changed(support, *changes[j])

    def _changed(self, support: Support, part: NDArray[np.intp], value: int, kind: int) -> Support:
        """A support with another choice for a value wherever some records release anything."""
        moved = support.copy()
        rows = part[(support[part] != HIDDEN).any(axis=1)]
        moved[rows] = np.minimum(moved[rows], PARTIAL)
        moved[rows, value] = kind
        return moved

    def moves(self, support: Support, count: int) -> Iterator[Support]:
        """Supports with one or two other choices, in random order; of single ones those first that were not tried, or long ago."""
        seen = self.program.sights.visible(support)
        changes = [
            (t, c)
            for t in self.zone.records
            for c, choice in enumerate(self.zone.choices)
            if seen[t] and not np.array_equal(support[t], choice)
        ]
        single = np.arange(len(changes))[:, None]
        sets = single if count == 1 else np.stack(np.triu_indices(len(changes), 1), axis=1)
        order: list[list[int]] = self.rng.permutation(sets)[:MOST_MOVES].tolist()
        if count == 1:
            order.sort(key=lambda chosen: self.tried.get(changes[chosen[0]], 0))
        for chosen in order:
            moved = support.copy()
            for t, c in (changes[j] for j in chosen):
                moved[t] = self.zone.choices[c]
                self.tried[t, c] = len(self.program.solved)
            yield moved

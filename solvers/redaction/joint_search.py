"""Local search over what each record may release, for several private records and any number of states."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._joint import Support
from privopt.solvers.redaction._programme import Point, Programme
from privopt.solvers.redaction._reach import misses_side_information
from privopt.solvers.redaction._starts import starts
from privopt.solvers.redaction._zone import MAX_RECORDS, Zone, near_records, searched_records
from privopt.solvers.redaction.windows import Windows

NOISE = 1e-13
"""Budget below which differences of logarithms mean nothing, and the best window is proposed."""
MAX_STATES = 12
MAX_LENGTH = 20_000
"""Records in the tables of probabilities, many of which are kept."""
MOST_MOVES = 4000
"""Most changes tried before a point counts as a local optimum."""
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
    interruptible: ClassVar[bool] = True

    runs: int = 120

    def guarantee(self, problem: Redaction) -> Guarantee:
        """Feasible: a local search."""
        return Guarantee.FEASIBLE

    def cost(self, problem: Redaction) -> float:
        """Runs of SLSQP, each with the square of the cells near the private records, and with the pairs of values."""
        cells = len(searched_records(problem)) * problem.chain.k
        return 0.1 + self.runs * len(problem.private) * (problem.chain.k - 1) * (3e-3 + 8e-6 * cells**2)

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse where too much matters for a local search."""
        if problem.form != "local":
            return f"it searches local mechanisms, this problem asks for form {problem.form!r}"
        if problem.chain.k > MAX_STATES:
            return f"it tries sets of values: at most {MAX_STATES} states, not {problem.chain.k}"
        if problem.length > MAX_LENGTH:
            return f"it keeps many whole mechanisms: at most {MAX_LENGTH} records, not {problem.length}"
        if len(near_records(problem, problem.epsilon / 2)) > MAX_RECORDS:
            return f"more than {MAX_RECORDS} records tell much of a private one: a local search is hopeless"
        return misses_side_information(problem)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best mechanism found."""
        if problem.epsilon < NOISE:
            return Windows().run(problem, budget)
        table = np.zeros((problem.length, problem.chain.k))
        table[list(problem.private)] = 1.0
        if math.isinf(problem.epsilon) or not near_records(problem, problem.epsilon / 2):
            return Proposal(problem.answer(table))
        search = _Search(problem, budget, self.runs)
        best = search.best()
        stats = {"runs": search.programme.runs, "supports": len(search.programme.solved)}
        return Proposal(problem.safe() if best is None else problem.answer(best.table), stats=stats)


class _Search:
    def __init__(self, problem: Redaction, budget: Budget, runs: int) -> None:
        self.problem, self.budget, self.runs = problem, budget, runs
        self.programme = Programme(problem)
        self.rng = np.random.default_rng(budget.seed)
        self.zone = Zone.of(problem, searched_records(problem))

    @property
    def done(self) -> bool:
        return self.budget.remaining == 0 or self.programme.runs >= self.runs

    def best(self) -> Point | None:
        """The best point of local searches from the best starts."""
        found: dict[bytes, Point] = {}
        for support, near in starts(self.problem, self.zone, self.budget, self.rng):
            if self.zone.sees_too_far(self.programme.sights.visible(support)):
                continue
            point = self.programme.solve(support, near)
            if point is not None:
                found[point.support.tobytes()] = point
            if self.budget.remaining == 0 or self.programme.runs >= self.runs // 2:
                break
        best: Point | None = None
        for start in sorted(found.values(), key=lambda point: point.cost)[:CLIMBS]:
            point = self.climb(start)
            best = point if best is None or point.cost < best.cost else best
        return best

    def climb(self, point: Point) -> Point:
        """Change one record at a time while that helps, and two when one does not."""
        improved: Point | None = point
        while improved is not None:
            point, improved = improved, None
            for support in itertools.chain(self.moves(point.support, 1), self.moves(point.support, 2)):
                if self.done:
                    break
                near = np.where(point.table < 1, point.table, 0.9)
                other = self.programme.solve(support, near, point.cost - 1e-9)
                if other is not None and other.cost < point.cost - 1e-9:
                    improved = other
                    self.budget.progress(self.programme.runs / self.runs, f"hidden weight {other.cost:.6g}")
                    break
        return point

    def moves(self, support: Support, count: int) -> Iterator[Support]:
        """Supports with one or two other choices, in random order."""
        seen = self.programme.sights.visible(support)
        changes = [
            (t, choice)
            for t in self.zone.records
            for choice in self.zone.choices
            if seen[t] and not np.array_equal(support[t], choice)
        ]
        single = np.arange(len(changes))[:, None]
        sets = single if count == 1 else np.stack(np.triu_indices(len(changes), 1), axis=1)
        for chosen in self.rng.permutation(sets)[:MOST_MOVES].tolist():
            moved = support.copy()
            for j in chosen:
                moved[changes[j][0]] = changes[j][1]
            yield moved

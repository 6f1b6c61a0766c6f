"""The trade-off of one choice of columns: a point for each budget, each with what it is good for and what it risks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import privopt as po
from privopt.arrays import Ints
from privopt.core.dispatch import carried_over, solve_from
from privopt.errors import InvalidModel
from privopt.measures.shannon import entropy
from privopt.mechanisms import Channel, Merging
from privopt.mechanisms.codebook import codebook
from privopt.models.intervals import Bins, edges_of
from privopt.publication.cells import people_of_cells
from privopt.publication.explain import explain
from privopt.publication.people import People, Rules, complete, count_people, intervals_of
from privopt.publication.publish import check_counted
from privopt.publication.words import times
from privopt.studio import risk
from privopt.studio.choice import Choice
from privopt.studio.table import Table, combinations

BUDGETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""The points of a curve, in nats; it ends where the columns could be published as they are."""
SHOWN = 30
"""Releases of which the page shows what they mean; the codebook has all."""

Answer = Channel | Merging


@dataclass(frozen=True)
class Point:
    """A point of the curve.

    Parameters
    ----------
    epsilon : float
    problem : Problem
        With this budget.
    solution : Solution
    """

    epsilon: float
    problem: po.LocalInformationPrivacy
    solution: po.Solution[Answer]

    @property
    def told(self) -> float:
        """What it says of the released columns, in nats; less than nothing where it is no release."""
        return (self.solution.utility or 0.0) if self.solution.status.ok else -1.0


@dataclass(frozen=True)
class Analysis:
    """A choice of columns, counted.

    Parameters
    ----------
    choice : Choice
    people : People
        The rows that are released.
    rules : Rules
        How their columns are read, with orders written out.
    joint : JointDistribution
    notes : tuple of str
        What was chosen on the way, a sentence each.
    dropped : int
        Rows left out since a cell is empty.
    before : Risk
        Of publishing the columns as they are.
    """

    choice: Choice
    people: People = field(repr=False)
    rules: Rules = field(repr=False)
    joint: po.JointDistribution
    notes: tuple[str, ...]
    dropped: int
    before: risk.Risk

    @classmethod
    def of(cls, choice: Choice, table: Table) -> Analysis:
        """Count the columns of a table.

        Raises
        ------
        InvalidProblem, InvalidModel
            If the choice does not fit the table.
        """
        choice.check(table)
        everyone, rules = people_of_cells(table.cells(choice.used), choice.rules)
        bins = intervals_of(everyone, choice.secret, choice.columns, rules)
        kept = _kept(choice, table)
        read = {name: _codes(everyone, table, name, bins)[kept] for name in choice.used}
        secret = combinations([read[name] for name in choice.secret])
        released = combinations([read[name] for name in choice.columns])
        choice.check_combinations(np.bincount(released).tolist(), int(secret.max()) + 1, len(kept))
        joint, notes = count_people(everyone, choice.secret, choice.columns, rules)
        check_counted(joint)
        values = combinations([table.coded[name].codes[kept] for name in choice.columns])
        before = risk.of_values(values, secret)
        return cls(choice, complete(everyone, rules), rules, joint, notes, table.rows - len(kept), before)

    @property
    def rows(self) -> int:
        """Rows that are released."""
        return len(next(iter(self.people.cells.values())))

    @property
    def budgets(self) -> tuple[float, ...]:
        """Those of the curve."""
        needed = po.measures.local_information_privacy(self.joint).symmetric
        enough = [budget for budget in BUDGETS if budget >= needed]
        return tuple(b for b in BUDGETS if not enough or b <= enough[0])

    def problem(self, epsilon: float) -> po.LocalInformationPrivacy:
        """Release as much as can be about the columns within a budget."""
        return po.LocalInformationPrivacy(self.joint, epsilon, contiguous=self.choice.contiguous)

    def point(
        self,
        epsilon: float,
        before: Point | None,
        told: Callable[[float], None],
        seconds: float | None = None,
    ) -> Point:
        """The best release within a budget, from the one of a smaller or the same budget where there is one.

        Parameters
        ----------
        epsilon : float
        before : Point or None
        told : callable
            Gets the fraction of the search that is done.
        seconds : float, optional
            How long it may take; by default what was chosen.
        """
        problem = self.problem(epsilon)
        start = None if before is None else before.solution
        solution: po.Solution[Answer] = solve_from(
            problem,
            start,
            time_limit=self.choice.seconds if seconds is None else seconds,
            certify=True,
            seed=0,
            progress=lambda fraction, message: told(min(max(fraction, 0.0), 1.0)),
        )
        kept = None if start is None else carried_over(problem, start, True)
        if kept is not None and (kept.utility or 0.0) > (solution.utility or 0.0):
            solution = replace(kept, problem=problem.fingerprint, alternatives=solution.alternatives)
        return Point(epsilon, problem, solution)

    def facts(self) -> dict[str, Any]:
        """What is known before anything is solved, as plain JSON values."""
        return {
            "secret": list(self.choice.secret),
            "columns": list(self.choice.columns),
            "rows": self.rows,
            "dropped": self.dropped,
            "secrets": len(self.joint.sensitive),
            "symbols": len(self.joint.useful),
            "bits": entropy(self.joint.p_x) / math.log(2.0),
            "notes": list(self.notes),
            "budgets": list(self.budgets),
            "nothing": risk.of_nothing(self.joint, self.rows).to_dict(),
            "columns_as_they_are": self.before.to_dict(),
        }

    def shown(self, point: Point) -> dict[str, Any]:
        """A point, as plain JSON values."""
        solution, answer = point.solution, point.solution.answer
        if not solution.status.ok or answer is None or solution.utility is None:
            return {
                "epsilon": point.epsilon,
                "ok": False,
                "reason": solution.reason or solution.status.name.lower(),
            }
        most = entropy(self.joint.p_x)
        book = codebook(answer, self.joint.useful, self.joint.p_x)
        frequent = sorted(book.entries, key=lambda entry: -entry.share)
        return {
            "epsilon": point.epsilon,
            "ok": True,
            "factor": times(point.epsilon),
            "useful": min(1.0, max(0.0, solution.utility / most)),
            "most": None if solution.bound is None else min(1.0, solution.bound / most),
            "risk": risk.of_release(self.joint, self.rows, answer.matrix).to_dict(),
            "sentences": list(explain(point.problem, solution).sentences),
            "releases": len(book),
            "book": [
                {
                    "name": entry.name,
                    "share": entry.share,
                    "symbols": len(entry.members),
                    "means": entry.suggestion,
                }
                for entry in frequent[:SHOWN]
            ],
            "certified": solution.certified,
            "solver": solution.solver,
            "seconds": solution.seconds,
        }


def _kept(choice: Choice, table: Table) -> Ints:
    """The rows that are released.

    Raises
    ------
    InvalidModel
        If there are none.
    """
    kept = np.ones(table.rows, dtype=bool)
    if choice.missing == "drop":
        for name in choice.used:
            column = table.coded[name]
            if "" in column.values:
                kept &= column.codes != column.values.index("")
    if not kept.any():
        raise InvalidModel("every row lacks a value in one of the chosen columns; choose fewer columns")
    return np.flatnonzero(kept)


def _codes(people: People, table: Table, name: str, bins: Mapping[str, Bins]) -> Ints:
    """A number for the value of each row in a column, or for the range that it is in.

    Raises
    ------
    InvalidModel
        If ranges leave numbers out.
    """
    if name not in bins:
        return table.coded[name].codes.astype(np.int64)
    numbers = np.asarray(people.frame[name], dtype=np.float64)
    there = ~np.isnan(numbers)
    edges = edges_of(numbers[there], name, bins[name])
    low, high = float(numbers[there].min()), float(numbers[there].max())
    if low < edges[0] or high > edges[-1]:
        raise InvalidModel(
            f"the ranges of {name!r} go from {edges[0]:g} to {edges[-1]:g}, its numbers from {low:g} to {high:g}: widen the ranges"
        )
    codes = np.searchsorted(edges[1:-1], numbers, "right").astype(np.int64)
    return np.where(there, codes, len(edges))

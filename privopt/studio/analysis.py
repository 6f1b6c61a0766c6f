"""The trade-off of one choice of columns: a point for each budget, each with what it is good for and what it risks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import privopt as po
from privopt.core.dispatch import carried_over, solve_from
from privopt.errors import InvalidModel
from privopt.measures.shannon import entropy
from privopt.mechanisms import Channel, Merging
from privopt.mechanisms.codebook import codebook
from privopt.publication.explain import explain
from privopt.publication.words import times
from privopt.studio import risk
from privopt.studio.choice import Choice
from privopt.studio.table import Table

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


@dataclass(frozen=True)
class Analysis:
    """A choice of columns, counted.

    Parameters
    ----------
    choice : Choice
    joint : JointDistribution
    rows, dropped : int
        Rows that were counted, and rows left out since a cell is missing.
    before : Risk
        Of publishing the columns as they are.
    """

    choice: Choice
    joint: po.JointDistribution
    rows: int
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
        joint = choice.joint(table)
        if joint.columns is None:
            raise InvalidModel("the joint does not remember the columns that it was counted from")
        frame = table.frame(choice.used, list(choice.bins))
        secret = zip(*(c.symbols(frame[c.name].tolist()) for c in joint.columns.sensitive), strict=True)
        values = zip(*(frame[name].tolist() for name in choice.columns), strict=True)
        before = risk.of_values(list(values), list(secret))
        return cls(choice, joint, len(frame), table.rows - len(frame), before)

    @property
    def budgets(self) -> tuple[float, ...]:
        """Those of the curve."""
        needed = po.measures.local_information_privacy(self.joint).symmetric
        enough = [budget for budget in BUDGETS if budget >= needed]
        return tuple(b for b in BUDGETS if not enough or b <= enough[0])

    def problem(self, epsilon: float) -> po.LocalInformationPrivacy:
        """Release as much as can be about the columns within a budget."""
        return po.LocalInformationPrivacy(self.joint, epsilon)

    def point(self, epsilon: float, before: Point | None, told: Callable[[float], None]) -> Point:
        """The best release within a budget, from the one of a smaller budget where there is one.

        Parameters
        ----------
        epsilon : float
        before : Point or None
        told : callable
            Gets the fraction of the search that is done.
        """
        problem = self.problem(epsilon)
        start = None if before is None else before.solution
        solution: po.Solution[Answer] = solve_from(
            problem,
            start,
            time_limit=self.choice.seconds,
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
            "small": self.joint.small_cells(5),
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
        rare = sorted(book.entries, key=lambda entry: -entry.share)
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
                for entry in rare[:SHOWN]
            ],
            "certified": solution.certified,
            "solver": solution.solver,
            "seconds": solution.seconds,
        }

"""Privacy by solver: what was proposed over the budget, what repair made of it, and what repair cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privopt.benchmarks._rows import beyond_rounding
from privopt.benchmarks.reporting._judged import Judged


@dataclass(frozen=True)
class Violations:
    """Counts and worst cases of one solver on one question.

    Parameters
    ----------
    proposed : int
        Mechanisms that were measured before repair.
    over : int
        Those that missed the budget beyond rounding; ``worst`` is the largest violation, None without one.
    withheld : int
        Those that could not be repaired: no mechanism came out.
    after : int
        Mechanisms that came out and are over the budget, or whose certificate failed: must be zero.
    repaired : int
        Mechanisms that were changed; ``lost`` is the largest utility this took, None where none is known.
    """

    question: str
    solver: str
    proposed: int
    over: int
    worst: float | None
    withheld: int
    after: int
    repaired: int
    lost: float | None


def excess(one: Judged) -> float:
    """By how much the proposal missed its budget; minus infinity where it was not measured."""
    return -math.inf if one.row.raw_violation is None else one.row.raw_violation


def leaks(one: Judged) -> bool:
    """Whether what came out is over its budget beyond rounding, or a certified claim about it failed."""
    row = one.row
    return row.broken or (row.ok and beyond_rounding(row.violation, row.budget))


def violations(rows: Sequence[Judged]) -> tuple[Violations, ...]:
    """A line a question and solver that proposed a mechanism."""
    found: dict[tuple[str, str], list[Judged]] = {}
    for j in rows:
        if j.row.ok or j.row.raw_violation is not None:
            found.setdefault((j.row.question, j.row.solver), []).append(j)
    return tuple(_line(*key, own) for key, own in sorted(found.items()))


def _line(question: str, solver: str, own: Sequence[Judged]) -> Violations:
    over = [j for j in own if j.row.over_budget]
    lost = [j.row.utility_lost for j in own if j.row.utility_lost is not None]
    return Violations(
        question,
        solver,
        proposed=sum(j.row.raw_violation is not None for j in own),
        over=len(over),
        worst=max((excess(j) for j in over), default=None),
        withheld=sum(not j.row.ok for j in over),
        after=sum(leaks(j) for j in own),
        repaired=sum(j.row.repaired for j in own),
        lost=max(lost, default=None),
    )

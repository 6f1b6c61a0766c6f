"""The table of solvers, and how often each was the fastest."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from privopt._solution import Status
from privopt.benchmarks._cells import Table, quantity
from privopt.benchmarks.reporting._judged import Judged, Task, questions
from privopt.benchmarks.reporting._profiles import time_costs
from privopt.benchmarks.reporting._tables import QUESTION, SOLVER, Line, heads


def solver_table(rows: Sequence[Judged]) -> Table:
    """One line a question and solver: how often it answered, was best and fastest, and how long it took."""
    names = (
        "runs",
        "mechanisms",
        "certified",
        "best",
        "fastest",
        "gap closed",
        "repaired",
        "over as proposed",
    )
    lines = []
    for question in questions(rows):
        own = [j for j in rows if j.row.question == question]
        first = fastest(own)
        for solver in sorted({j.row.solver for j in own}):
            lines.append(
                (question, solver, *_solver([j for j in own if j.row.solver == solver], first[solver]))
            )
    header = (QUESTION, SOLVER, *heads(*names, "median s", "median cold s"))
    return Table("solvers", "Solvers", header, tuple(lines))


def fastest(rows: Sequence[Judged]) -> Counter[str]:
    """On how many tasks each solver was the fastest to reach the best objective known; ties count for all."""
    costs = time_costs(rows)
    best: dict[Task, float] = {}
    for own in costs.values():
        for task, seconds in own.items():
            best[task] = min(seconds, best.get(task, seconds))
    return Counter({s: sum(t == best[task] for task, t in own.items()) for s, own in costs.items()})


def _solver(own: Sequence[Judged], first: int) -> Line:
    counts = (
        len(own),
        sum(j.row.ok for j in own),
        sum(j.row.verified for j in own),
        sum(j.reached for j in own),
        first,
        sum(Status[j.row.status] is Status.OPTIMAL for j in own),
        sum(j.row.repaired for j in own),
        sum(j.row.over_budget for j in own),
    )
    warm = [j.row.seconds for j in own if j.row.ok and j.row.seconds is not None]
    cold = [j.row.cold_seconds for j in own if j.row.ok and j.row.cold_seconds is not None]
    medians = (quantity(statistics.median(times) if times else None, 3) for times in (warm, cold))
    return (*(quantity(n) for n in counts), *medians)

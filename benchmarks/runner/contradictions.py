"""Rows that contradict each other: a certified objective above another solver's checked bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from privopt._files import write_json
from privopt.benchmarks.runner.rows import Row
from privopt.benchmarks.runner.store import Attempt
from privopt.benchmarks.runner.task import Task

READING = 1e-12
"""Relative error of a stated objective."""

FOLDER = "contradictions"


def contradictions(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Every pair (reached, bounded) of rows of one problem: the first is certified above the bound of the second."""
    by_problem: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_problem[row.fingerprint].append(row)
    return [
        (reached, bounded)
        for group in by_problem.values()
        for reached, bounded in permutations(group, 2)
        if _contradicts(reached, bounded)
    ]


def _contradicts(reached: Row, bounded: Row) -> bool:
    if not reached.certified or reached.objective is None or bounded.bound is None:
        return False
    return bounded.bound < reached.objective - READING * abs(reached.objective)


def alarm(rows: Sequence[Row]) -> str:
    """The contradictions of a run in a sentence; empty if there are none."""
    found = contradictions(rows)
    if not found:
        return ""
    reached, bounded = found[0]
    return (
        f"ALARM: {len(found)} certified answers are above a bound that was checked, so that one of two proofs is wrong; "
        f"the first: {reached.instance} at budget {reached.budget!r}, {reached.solver} reaches {reached.objective!r}, the bound of "
        f"{bounded.solver} is {bounded.bound!r}. Both answers are in the folder {FOLDER} of the run."
    )


def write_contradictions(
    folder: Path, found: Iterable[tuple[Task, Attempt]], load: Callable[[str], Mapping[str, Any]]
) -> None:
    """Write both answers of each contradiction with their problem."""
    known = {attempt.row.key: (task, attempt) for task, attempt in found}
    rows = [attempt.row for _, attempt in known.values()]
    for i, pair in enumerate(contradictions(rows)):
        place = folder / FOLDER / str(i)
        place.mkdir(parents=True, exist_ok=True)
        for name, row in zip(("reached", "bounded"), pair, strict=True):
            task, attempt = known[row.key]
            write_json(place / "problem.json", task.instance.problem.with_budget(task.budget).to_dict())
            if attempt.solution is not None:
                write_json(place / f"{name}.json", load(attempt.solution))

"""The showcase of a run: the best certified mechanism releases real data, and is proved again from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from privopt._certificate import Certificate
from privopt._files import write_json
from privopt._solution import Solution
from privopt._verify import verify
from privopt.benchmarks._folder import PROBLEM, RELEASED, SOLUTION, read_released, write_table
from privopt.benchmarks._rows import standing
from privopt.benchmarks._store import Attempt
from privopt.benchmarks._suites import Showcase
from privopt.benchmarks._task import Task

Result: TypeAlias = tuple[Task, Attempt]
Load: TypeAlias = Callable[[str], Mapping[str, Any]]
"""Gives the stored form of a solution for its hash."""


def best_certified(found: Iterable[Result], instance: str, budget: float) -> Result | None:
    """The verified result that stands first by :func:`privopt.benchmarks._rows.standing`."""
    fit = [
        (task, attempt)
        for task, attempt in found
        if attempt.row.verified
        and attempt.solution is not None
        and (task.instance.name, task.budget) == (instance, budget)
    ]
    return min(fit, key=lambda pair: standing(pair[1].row), default=None)


def release_showcase(folder: Path, showcase: Showcase, found: Iterable[Result], load: Load) -> Result | None:
    """Write the problem, the best certified answer and the data released by it; None if there is nothing to write.

    Redacted cells of the CSV file are empty. What was released before stays as it is: to draw the same records again
    would be a second release of them, which no certificate covers.
    """
    if (folder / RELEASED).exists():
        return None
    best = best_certified(found, showcase.instance, showcase.budget)
    if best is None or best[1].solution is None:
        return None
    solution = Solution[Any].from_dict(load(best[1].solution))
    records = showcase.records()
    released = solution.mechanism.release(records.letters)
    cells = ["" if letter is None else str(letter) for letter in released]
    write_json(folder / PROBLEM, best[0].instance.problem.with_budget(showcase.budget).to_dict())
    solution.save(folder / SOLUTION)
    write_table(
        folder / RELEASED, (records.label, records.letter), list(zip(records.labels, cells, strict=True))
    )
    return best


def verify_folder(folder: Path) -> Certificate | None:
    """Prove the released mechanism again from the files of a run alone; None if nothing was released.

    Raises
    ------
    FileRefused
        If some of the files are missing or malformed.
    """
    found = read_released(folder)
    return None if found is None else verify(found.problem, found.solution)

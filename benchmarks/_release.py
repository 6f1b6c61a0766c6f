"""The showcase of a run: the best certified mechanism releases real data, and is proved again from files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from privopt._certificate import Certificate
from privopt._files import write_json
from privopt._verify import verify
from privopt.benchmarks._folder import PROBLEM, RELEASED, SOLUTION, read_released, write_table
from privopt.benchmarks._rows import standing
from privopt.benchmarks._suites import Showcase
from privopt.benchmarks.runner import Outcome


def best_certified(outcomes: Iterable[Outcome], instance: str, budget: float) -> Outcome | None:
    """The verified outcome that stands first by :func:`privopt.benchmarks._rows.standing`."""
    found = [
        o
        for o in outcomes
        if o.row.verified
        and o.row.instance == instance
        and o.row.budget == budget
        and o.row.objective is not None
    ]
    return min(found, key=lambda o: standing(o.row), default=None)


def release_showcase(folder: Path, showcase: Showcase, outcomes: Iterable[Outcome]) -> Outcome | None:
    """Write the question, the best certified answer and the data released by it; None if there is no answer.

    Redacted cells of the CSV file are empty.
    """
    best = best_certified(outcomes, showcase.instance, showcase.budget)
    if best is None or best.solution is None:
        return None
    records = showcase.records()
    released = best.solution.mechanism.release(records.letters)
    cells = ["" if letter is None else str(letter) for letter in released]
    write_json(folder / PROBLEM, best.task.instance.problem.with_budget(showcase.budget).to_dict())
    best.solution.save(folder / SOLUTION)
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

"""The folder of a run: what is in it, and how it is written and read back."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privopt._files import read_json, write_json, writing
from privopt._load import load_problem
from privopt._problem import Problem
from privopt._solution import Solution
from privopt.benchmarks._rows import Row, read_rows, write_csv, write_rows
from privopt.errors import FileRefused

FORMAT = "privopt/run"
VERSION = 1
ROWS, TABLE, RUN = "rows.jsonl", "rows.csv", "run.json"
PROBLEM, SOLUTION, RELEASED = "problem.json", "solution.json", "released.csv"


@dataclass(frozen=True)
class Manifest:
    """What a report needs to know of a run beside its rows; numbers in seconds.

    ``reference`` names the solver that others are compared with and ``reference_does`` what it does, ``instance`` and ``budget`` what the
    released mechanism answers, ``title`` the data it released; all are empty where the suite has none.
    """

    suite: str
    describe: str
    about: tuple[str, ...]
    begun: str
    seconds: float
    environment: Mapping[str, str]
    instance: str = ""
    budget: float = 0.0
    reference: str = ""
    reference_does: str = ""
    title: str = ""


@dataclass(frozen=True)
class Released:
    """A release read back from files: the question, the answer, and the lines of the CSV with their header."""

    problem: Problem[Any]
    solution: Solution[Any]
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


def prepare(folder: str | os.PathLike[str], *, again: bool = False) -> Path:
    """Make the folder of a run; what an earlier run released there stays unless it is to be drawn ``again``.

    Raises
    ------
    FileRefused
        If it cannot be made.
    """
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name in (RELEASED, SOLUTION, PROBLEM) if again else ():
            (place / name).unlink(missing_ok=True)
    except OSError as cause:
        raise FileRefused(f"{place}: cannot be used as the folder of a run: {cause}") from cause
    return place


def write_run(folder: Path, manifest: Manifest, rows: Sequence[Row]) -> None:
    """Write the rows, as JSON lines and CSV, and the manifest."""
    write_rows(folder / ROWS, rows)
    write_csv(folder / TABLE, rows)
    write_json(folder / RUN, {"format": FORMAT, "version": VERSION, **asdict(manifest)})


def read_run(folder: Path) -> tuple[Manifest, tuple[Row, ...]]:
    """The manifest and the rows of a run.

    Raises
    ------
    FileRefused
        If a file is missing, malformed or of another version.
    """
    given = read_json(folder / RUN)
    if given.pop("format", None) != FORMAT or given.pop("version", None) != VERSION:
        raise FileRefused(f"{folder / RUN}: not a run of format {FORMAT} {VERSION}; run the suite again")
    texts = ("suite", "describe", "begun", "instance", "reference", "reference_does", "title")
    about, machine = given.get("about"), given.get("environment")
    good = all(isinstance(given.get(name), str) for name in texts)
    good = good and all(isinstance(given.get(name), (int, float)) for name in ("seconds", "budget"))
    if not good or not isinstance(about, list) or not isinstance(machine, dict):
        raise FileRefused(f"{folder / RUN}: a field is missing or not of its kind; run the suite again")
    manifest = Manifest(
        about=tuple(map(str, about)),
        environment={str(k): str(v) for k, v in machine.items()},
        seconds=float(given["seconds"]),
        budget=float(given["budget"]),
        **{name: given[name] for name in texts},
    )
    return manifest, read_rows(folder / ROWS)


def write_table(path: Path, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Write a CSV file, whole or not at all."""
    with writing(path) as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(header)
        table.writerows(lines)


def read_released(folder: Path) -> Released | None:
    """What a run released, or None if it released nothing.

    Raises
    ------
    FileRefused
        If some of the three files are missing or malformed.
    """
    if not (folder / RELEASED).exists():
        return None
    problem, solution = load_problem(folder / PROBLEM), Solution[Any].load(folder / SOLUTION)
    try:
        with (folder / RELEASED).open(encoding="utf-8", newline="") as stream:
            header, *lines = list(csv.reader(stream))
    except (OSError, ValueError, csv.Error) as cause:
        raise FileRefused(f"{folder / RELEASED}: cannot be read: {cause}") from cause
    return Released(problem, solution, tuple(header), tuple(map(tuple, lines)))

"""The folder of a run: its manifest and rows, what it released, and how several are put together."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from privopt.benchmarks.runner.rows import Row, read_rows, write_csv, write_rows
from privopt.benchmarks.runner.store import NAME, TRACES_TABLE, connected, has_traces, opened, transaction
from privopt.benchmarks.runner.traces import write_traces
from privopt.benchmarks.runner.vocabulary import Vocabulary, merged, vocabulary_from_dict
from privopt.core.problem import Problem
from privopt.core.solution import Solution
from privopt.errors import FileRefused, InvalidProblem
from privopt.files.json import read_json, write_json, writing
from privopt.files.load import load_problem

FORMAT = "privopt/run"
VERSION = 1
ROWS, TABLE, RUN = "rows.jsonl", "rows.csv", "run.json"
NO_WORDS: Mapping[str, Any] = {"problems": {}, "instances": {}}
PROBLEM, SOLUTION, RELEASED = "problem.json", "solution.json", "released.csv"
ALARMS = "alarms"
"""The folder of answers whose claim failed, or whose record differs from what was proved again."""
KEY = 12
"""Letters of a row's key that name its folder there."""


@dataclass(frozen=True)
class Manifest:
    """What a report needs to know of a run beside its rows; numbers in seconds.

    ``reference`` names the solver that others are compared with and ``reference_does`` what it does, ``instance`` and ``budget`` what the
    released mechanism answers, ``title`` the data it released; all are empty where the suite has none. ``words`` are
    what problems and instances are called; runs of before do not say it.
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
    words: Vocabulary = field(default_factory=Vocabulary)


@dataclass(frozen=True)
class Released:
    """A release read back from files: the problem, the answer, and the lines of the CSV with their header."""

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
    fields = read_json(folder / RUN)
    if fields.pop("format", None) != FORMAT or fields.pop("version", None) != VERSION:
        raise FileRefused(f"{folder / RUN}: not a run of format {FORMAT} {VERSION}; run the suite again")
    texts = ("suite", "describe", "begun", "instance", "reference", "reference_does", "title")
    about, machine = fields.get("about"), fields.get("environment")
    good = all(isinstance(fields.get(name), str) for name in texts)
    good = good and all(isinstance(fields.get(name), (int, float)) for name in ("seconds", "budget"))
    if not good or not isinstance(about, list) or not isinstance(machine, dict):
        raise FileRefused(f"{folder / RUN}: a field is missing or not of its kind; run the suite again")
    manifest = Manifest(
        about=tuple(map(str, about)),
        environment={str(k): str(v) for k, v in machine.items()},
        seconds=float(fields["seconds"]),
        budget=float(fields["budget"]),
        words=vocabulary_from_dict(fields.get("words", NO_WORDS)),
        **{name: fields[name] for name in texts},
    )
    return manifest, read_rows(folder / ROWS)


def alarm_folder(folder: Path, key: str) -> Path:
    """Where the problem and the answer of a row are kept if proving it again raised an alarm."""
    return folder / ALARMS / key[:KEY]


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


_FIELDS = "uuid, key, forced, row, solution, host, session, ended"
_COPIED = (
    "INSERT OR IGNORE INTO solutions SELECT * FROM other.solutions",
    "INSERT OR IGNORE INTO sessions SELECT * FROM other.sessions",
    f"INSERT OR IGNORE INTO attempts ({_FIELDS}) SELECT {_FIELDS} FROM other.attempts ORDER BY id",
)


def merge(output: Path, runs: Sequence[Path]) -> tuple[Row, ...]:
    """Copy what runs recorded into one folder, write its files, and give its rows.

    The folder may be that of an earlier merge or run, whose attempts stay. Released data are not merged.

    Raises
    ------
    InvalidProblem
        If there is nothing to merge, or the output is one of the runs.
    FileRefused
        If a run has no store or no manifest, or a file cannot be read or written.
    """
    if not runs:
        raise InvalidProblem("name at least one run to merge: privopt bench merge OUTPUT RUN ...")
    if any(run.resolve() == output.resolve() for run in runs):
        raise InvalidProblem(f"{output} is both a run and the output; give another output")
    for run in runs:
        with connected(run, make=False):  # refuse before anything is written
            pass
    manifests = [read_run(run)[0] for run in runs]
    prepare(output)
    for run in runs:
        _copy(run, output)
    with opened(output) as store:
        rows = tuple(attempt.row for attempt in store.attempts().values())
        seconds, traces = store.busy(), store.traces()
    write_run(output, replace(together(manifests), seconds=seconds), rows)
    write_traces(output, traces)
    return rows


def _copy(run: Path, output: Path) -> None:
    with connected(output) as base:
        base.execute("ATTACH DATABASE ? AS other", (str((run / NAME).resolve()),))
        with transaction(base):
            for statement in _COPIED:
                base.execute(statement)
            if has_traces(base, "other"):
                base.execute(TRACES_TABLE)
                base.execute("INSERT OR IGNORE INTO traces SELECT * FROM other.traces")


def together(manifests: Sequence[Manifest]) -> Manifest:
    """One manifest for several: what differs is listed, what is alike is said once.

    Raises
    ------
    FileRefused
        If there is none.
    """
    if not manifests:
        raise FileRefused("there is no manifest to merge")
    names = dict.fromkeys(name for m in manifests for name in m.environment)
    environment = {
        name: " / ".join(dict.fromkeys(m.environment[name] for m in manifests if name in m.environment))
        for name in names
    }
    first = manifests[0]
    return Manifest(
        suite=" + ".join(dict.fromkeys(m.suite for m in manifests)),
        describe=" / ".join(dict.fromkeys(m.describe for m in manifests)),
        about=tuple(dict.fromkeys(sentence for m in manifests for sentence in m.about)),
        begun=min(m.begun for m in manifests),
        seconds=sum(m.seconds for m in manifests),
        environment={**environment, "merged from": json.dumps(len(manifests)) + " runs"},
        instance=first.instance,
        budget=first.budget,
        reference=first.reference,
        reference_does=first.reference_does,
        words=merged(m.words for m in manifests),
    )

"""Several runs in one folder: every attempt once, the last of a key counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from privopt.benchmarks._database import NAME, connected, transaction
from privopt.benchmarks._folder import Manifest, prepare, read_run, write_run
from privopt.benchmarks._rows import Row
from privopt.benchmarks._store import opened
from privopt.errors import FileRefused, InvalidProblem

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
        seconds = store.busy()
    write_run(output, replace(together(manifests), seconds=seconds), rows)
    return rows


def _copy(run: Path, output: Path) -> None:
    with connected(output) as base:
        base.execute("ATTACH DATABASE ? AS other", (str((run / NAME).resolve()),))
        with transaction(base):
            for statement in _COPIED:
                base.execute(statement)


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
    )

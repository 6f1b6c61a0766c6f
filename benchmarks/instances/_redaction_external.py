"""Redaction questions on data sets that do not ship; left out where their file is not in the user's folder."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from privopt.benchmarks._suites import Instance
from privopt.benchmarks.registry import FOLDER, external_sets, load_external
from privopt.models import MarkovChain
from privopt.problems.redaction import Redaction

INTERVALS = 288
"""Intervals of five minutes in a day."""


def external() -> tuple[Instance, ...]:
    """Visits to a news site, clicks on a portal, and intervals of a day with steps, where present.

    Raises
    ------
    FileRefused
        If a file is present but not the one that is meant.
    """
    return tuple(instance for name, make in _MAKERS.items() if _present(name) for instance in make(name))


def _present(name: str) -> bool:
    folder = os.environ.get(FOLDER, "")
    return folder != "" and (Path(folder) / external_sets()[name].file).is_file()


def _clicks(name: str) -> Iterator[Instance]:
    """Sequences of states, one a line; states that are never left get half a count of everything."""
    path = load_external(name)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        sequences = [line.split() for line in stream if line.strip()]
    chain = MarkovChain.fit(sequences, smoothing=0.5)
    for n in (10, 100):
        yield Instance(f"{name}-{n}", n, Redaction(chain, n, n // 2, 1.0), name)


def _steps(name: str) -> Iterator[Instance]:
    """Whether a person walked in each five minutes; a missing measurement ends a sequence."""
    with load_external(name).open(encoding="utf-8", newline="") as stream:
        steps = [row["steps"] for row in csv.DictReader(stream)]
    days: list[list[str]] = [[]]
    for value in steps:
        if value == "NA":
            days.append([])
        else:
            days[-1].append("walks" if float(value) > 0 else "rests")
    chain = MarkovChain.fit([day for day in days if day], states=("rests", "walks"))
    for n in (INTERVALS // 12, INTERVALS):
        yield Instance(f"{name}-{n}", n, Redaction(chain, n, n // 2, 1.0), name)


_MAKERS: dict[str, Callable[[str], Iterator[Instance]]] = {
    "activity": _steps,
    "kosarak-reduced16": _clicks,
    "msnbc323": _clicks,
}

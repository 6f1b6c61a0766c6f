"""How often a reader who follows epsilon of one redaction from its file to its certificate changes files.

A problem file is loaded, solved by the simplest solver that looks at the data (``windows``), and judged; what runs is traced. A
switch is a call of a function in one file of the package from another one (through a library too); returning is not counted.
What happens once in a process, such as imports and scanning folders, is done before: the same is run twice, and the second
run is traced. The files are those that are entered.

Of the ways to count that were tried (every change of file, returns included; only frames that hold epsilon itself; only those
that hold an object with epsilon; certifying alone; other solvers), this one alone gives the figures that the package was judged
by when it stood in 641 modules: 29 files, 204 switches, for the six records below. ``python tests/oracles/switches.py`` prints the
figures of now, and the pairs of files with the most switches.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType

import privopt as po
from privopt.core.certificate import Certificate

PACKAGE = Path(po.__file__).parent
BEFORE = (29, 204)
"""Files and switches at the last commit of 2026-11-21."""

PROBLEM = {
    "type": "redaction",
    "chain": {"transition": [[0.75, 0.25], [0.5, 0.5]], "states": ["out", "in"]},
    "length": 6,
    "private": 1,
    "epsilon": 0.7310585786300049,
}


@cache
def module(file: str) -> str | None:
    """The place of a file in the assembled package, or None for a file that is not of it."""
    path = Path(os.path.realpath(file))
    for folder in ("problems", "solvers", "benchmarks"):
        place = (PACKAGE / folder).resolve()
        if path.is_relative_to(place):
            return f"{folder}/{path.relative_to(place)}"
    place = PACKAGE.resolve()
    return str(path.relative_to(place)) if path.is_relative_to(place) else None


@dataclass
class Trace:
    """Files that were entered, and calls from one into another."""

    files: set[str] = field(default_factory=set)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def switches(self) -> int:
        """Calls from one file into another."""
        return self.calls.total()

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        here = module(frame.f_code.co_filename)
        if here is None:
            return
        self.files.add(here)
        caller, there = frame.f_back, None
        while caller is not None and there is None:
            there = module(caller.f_code.co_filename)
            caller = caller.f_back
        if there is not None and there != here:
            self.calls[there, here] += 1


def traced(work: Callable[[], Certificate]) -> Trace:
    """What the second of two runs enters."""
    assert work().ok
    trace, before = Trace(), sys.gettrace()
    sys.settrace(trace)
    try:
        certificate = work()
    finally:
        sys.settrace(before)
    assert certificate.ok
    return trace


def from_file_to_certificate() -> Trace:
    """The redaction of the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.json"
        path.write_text(json.dumps(PROBLEM), encoding="utf-8")

        def work() -> Certificate:
            certificate = po.solve(po.load_problem(path), "windows").certificate
            assert certificate is not None
            return certificate

        return traced(work)


def report(trace: Trace) -> str:
    """The figures, and where the switches come from."""
    lines = [
        f"{len(trace.files)} files, {trace.switches} switches (before: {BEFORE[0]} files, {BEFORE[1]} switches)"
    ]
    lines += [f"{times:5d}  {here} -> {there}" for (here, there), times in trace.calls.most_common()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(from_file_to_certificate()))

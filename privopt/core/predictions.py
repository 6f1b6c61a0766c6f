"""Predicted seconds of solvers, corrected by what was measured: a recorded table of sizes and seconds.

Each solver predicts its cost by a formula. A table holds what runs took, beside what the formula said and what a small
fixed piece of work took on the same machine. A prediction is the formula times the factor by which it was wrong at the
recorded sizes nearby, times how much slower this machine is than that of the table.

``privopt bench calibrate`` measures a table of one's own; the one that ships with the package was measured by it.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from privopt.core.isolate import child_is_ready
from privopt.core.problem import Problem
from privopt.core.reformulation import seen_by
from privopt.core.solver import Candidate
from privopt.errors import FileRefused
from privopt.files.json import parse_json, writing

FORMAT, VERSION = "privopt/timings", 1
TABLE = "timings.json"
FOLDER = "XDG_CACHE_HOME"
"""Environment variable: where programs keep what they can compute again; ~/.cache where it is not set."""
REACH = math.log(100.0)
"""At this distance between logarithms of sizes a recorded entry counts as much as the formula itself."""
MOST = 1e4
"""The largest factor by which a formula is corrected, up or down."""
HANDED_OVER = 0.3
"""Seconds that are left of a prediction without the start of a process, at least: so short work goes to those that need none."""
LEAST, LONGEST = 1e-6, 1e3
"""Seconds: a formula that says less, or more, is compared with what was recorded as if it said this."""


@dataclass(frozen=True)
class Entry:
    """One recorded run.

    Parameters
    ----------
    sizes : tuple of int
        Those of the problem.
    formula, seconds : float
        What the solver's formula said, and what it took; where it was stopped, at least that.
    """

    sizes: tuple[int, ...]
    formula: float
    seconds: float

    @cached_property
    def logs(self) -> tuple[float, ...]:
        """Logarithms of the sizes and of what the formula said."""
        return *_logs(self.sizes), math.log(_sane(self.formula))

    @cached_property
    def error(self) -> float:
        """The logarithm of the factor by which the formula was too low."""
        most = math.log(MOST)
        return min(most, max(-most, math.log(max(LEAST, self.seconds) / _sane(self.formula))))


@dataclass(frozen=True)
class Timings:
    """A recorded table: entries by kind of problem and name of solver.

    Parameters
    ----------
    work : float
        Processor seconds that :func:`fixed_work` took on the machine on which it was measured.
    entries : mapping
    start : float
        Seconds of the start of a process, which the entries of solvers that need one include.
    """

    work: float
    entries: Mapping[tuple[str, str], tuple[Entry, ...]]
    start: float = 0.0

    def seconds(self, kind: str, solver: str, sizes: tuple[int, ...], formula: float) -> float:
        """Seconds on the machine of the table.

        The logarithm of the correction is the mean of the errors recorded for this solver, weighed by the inverse square
        of the distance between logarithms of sizes and of what the formula says, and of no correction at a distance that is
        always the same. So a recorded run is met exactly, far from all of them the formula counts, and of problems of one
        size those that are as hard count most.

        Examples
        --------
        >>> table = Timings(1.0, {("redaction", "windows"): (Entry((100,), 1.0, 8.0),)})
        >>> round(table.seconds("redaction", "windows", (100,), 1.0), 9), table.seconds("redaction", "optimal", (100,), 1.0)
        (8.0, 1.0)
        >>> 1.0 < table.seconds("redaction", "windows", (10_000,), 1.0) < 8.0
        True
        """
        comparable = [e for e in self.entries.get((kind, solver), ()) if len(e.sizes) == len(sizes)]
        if not comparable or not 0 <= formula < math.inf:
            return formula
        logs = (*_logs(sizes), math.log(_sane(formula)))
        squares = [math.dist(e.logs, logs) ** 2 for e in comparable]
        if min(squares) == 0:
            exact = [e.error for e, square in zip(comparable, squares, strict=True) if square == 0]
            return _sane(formula) * math.exp(sum(exact) / len(exact))
        weights = [1 / square for square in squares]
        weighed = sum(w * e.error for w, e in zip(weights, comparable, strict=True))
        weighed += math.log(max(formula, LEAST) / _sane(formula)) * REACH**-2
        return _sane(formula) * math.exp(weighed / (sum(weights) + REACH**-2))


def _sane(formula: float) -> float:
    """A formula within what it can be compared in: far beyond any limit it does not matter by how much."""
    return min(LONGEST, max(LEAST, formula))


def _logs(sizes: Iterable[int]) -> tuple[float, ...]:
    """The logarithms of sizes, between which distances are measured."""
    return tuple(math.log(max(1, size)) for size in sizes)


def fixed_work() -> float:
    """Processor seconds of a small fixed piece of work: loops of Python and passes over arrays, the best of nine.

    Nothing of it waits: threads of a product of matrices wait for each other where others use the processors, and on the
    clock of the wall half a millisecond has been read as ninety.

    Examples
    --------
    >>> 0 < fixed_work() < 1
    True
    """
    import numpy as np

    clock = (
        time.perf_counter if sys.platform == "win32" else time.thread_time
    )  # that of Windows ticks too seldom
    matrix = np.arange(10_000.0).reshape(100, 100) / 10_000.0

    def once() -> float:
        begun = clock()
        total = 0
        for i in range(5_000):
            total += i * i
        np.exp(matrix).sum()
        np.sort(matrix, axis=None)
        return clock() - begun

    return min(once() for _ in range(9))


def slowness(here: float, there: float) -> float:
    """How much slower a machine is than another, from the seconds of the fixed work: the power of two towards 1.

    Rounded, so that the noise of so short a reading changes no prediction; beside other work it is half as much again.

    Examples
    --------
    >>> slowness(1.1e-3, 1e-3), slowness(4.2e-3, 1e-3), slowness(0.3e-3, 1e-3)
    (1.0, 4.0, 0.5)
    """
    return float(2.0 ** math.trunc(math.log2(here / there)))


@cache
def work_here() -> float:
    """Seconds of the fixed work on this machine, measured once in a process.

    Examples
    --------
    >>> work_here() == work_here()
    True
    """
    return fixed_work()


def predicted_seconds(kind: str, solver: str, sizes: tuple[int, ...], formula: float) -> float:
    """Seconds that a solver is predicted to take on this machine.

    Parameters
    ----------
    kind : str
        Of the problem that the solver sees.
    solver : str
    sizes : tuple of int
        See :attr:`Problem.sizes`.
    formula : float
        What the solver's own formula says.

    Examples
    --------
    >>> predicted_seconds("redaction", "of nobody", (12, 2, 1), 0.0)
    0.0
    """
    table = timings()
    return slowness(work_here(), table.work) * table.seconds(kind, solver, sizes, formula)


def corrected(candidate: Candidate, problem: Problem[Any]) -> Candidate:
    """A candidate whose seconds are predicted with the table; without the start of a process where one is ready.

    What it needs that is not imported yet takes about as long as the start of a process.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction.examples()[0].problem
    >>> first = po.candidates(problem)[0]
    >>> corrected(first, problem).seconds > 0
    True
    """
    if candidate.seconds is None:
        return candidate
    posed = seen_by(candidate.solver, problem)
    seconds = predicted_seconds(posed.kind, candidate.name, posed.sizes, candidate.seconds)
    table = timings()
    start = slowness(work_here(), table.work) * table.start
    if not candidate.polls and child_is_ready():
        seconds = min(seconds, max(seconds - start, HANDED_OVER))
    if candidate.polls and not all(name in sys.modules for name in candidate.solver.requires):
        seconds += start
    return replace(candidate, seconds=seconds)


def own_table() -> Path:
    """Where a table of one's own is kept.

    Examples
    --------
    >>> own_table().name
    'timings.json'
    """
    return Path(os.environ.get(FOLDER) or Path.home() / ".cache", "privopt", TABLE)


@cache
def timings() -> Timings:
    """The table that counts: one's own where there is one, else the one that ships.

    Examples
    --------
    >>> timings().work > 0
    True
    """
    own = own_table()
    if own.is_file():
        try:
            return read_timings(own.read_text(encoding="utf-8"), str(own))
        except (OSError, UnicodeDecodeError, FileRefused) as cause:
            told = f"{own}: predictions are those that ship with privopt: {cause}; privopt bench calibrate writes it again"
            warnings.warn(told, stacklevel=2)
    shipped = files("privopt.core").joinpath(TABLE).read_text(encoding="utf-8")
    return read_timings(shipped, "the timings that ship with privopt")


def read_timings(text: str, source: str) -> Timings:
    """The table that :func:`write_timings` wrote.

    Raises
    ------
    FileRefused
        If the text is not such a table.
    """
    fields = parse_json(text, source)
    if fields.get("format") != FORMAT or fields.get("version") != VERSION:
        raise FileRefused(f"{source}: not a table of format {FORMAT} {VERSION}")
    try:
        entries = {
            (str(kind), str(solver)): tuple(_entry(row) for row in rows)
            for kind, solvers in fields["entries"].items()
            for solver, rows in solvers.items()
        }
        return Timings(_positive(fields["work"]), entries, _positive(fields.get("start", 0.0)))
    except (AttributeError, KeyError, TypeError, ValueError) as cause:
        raise FileRefused(f"{source}: an entry is malformed: {cause}") from cause


def _entry(row: Any) -> Entry:
    *sizes, formula, seconds = row
    if any(type(size) is not int for size in sizes):
        raise ValueError(f"sizes must be whole numbers, got {sizes}")
    return Entry(tuple(sizes), _positive(formula), _positive(seconds))


def _positive(value: Any) -> float:
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError(f"seconds must be finite and not negative, got {value!r}")
    return number


def write_timings(path: Path, table: Timings) -> None:
    """Write a table, whole or not at all.

    Raises
    ------
    FileRefused
        If the file cannot be written.
    """
    kinds: dict[str, dict[str, list[list[float]]]] = {}
    for (kind, solver), entries in sorted(table.entries.items()):
        rows = [[*e.sizes, float(f"{e.formula:.3g}"), float(f"{e.seconds:.3g}")] for e in entries]
        kinds.setdefault(kind, {})[solver] = rows
    with writing(path) as stream:
        stream.write(
            f'{{"format": "{FORMAT}", "version": {VERSION}, "work": {table.work:.4g}, "start": {table.start:.3g}, "entries": {{\n'
        )
        stream.write(",\n".join(_kind_lines(kind, solvers) for kind, solvers in kinds.items()))
        stream.write("\n}}\n")


def _kind_lines(kind: str, solvers: Mapping[str, list[list[float]]]) -> str:
    lines = (f"  {json.dumps(solver)}: {json.dumps(rows)}" for solver, rows in solvers.items())
    return f" {json.dumps(kind)}: {{\n" + ",\n".join(lines) + "\n }"

"""Predictions of times, measured: what ``privopt bench calibrate`` does, and whether predictions are right in between."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privopt.benchmarks.runner.case import forget
from privopt.benchmarks.timings.run import measuring
from privopt.benchmarks.timings.sizes import instances
from privopt.cli.show import check_output, emit, table
from privopt.core.dispatch import fitness
from privopt.core.isolate import IDLE, SolverFailure, SolverTimeout, believed
from privopt.core.predictions import (
    Entry,
    Timings,
    fixed_work,
    own_table,
    predicted_seconds,
    slowness,
    timings,
    write_timings,
)
from privopt.core.problem import Problem
from privopt.core.reformulation import propose, seen_by
from privopt.core.registry import solvers_of
from privopt.core.solver import Budget, Guarantee, Proposal, Solver, ran_out
from privopt.errors import InvalidProblem

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

NOTHING = 0.01
"""Seconds; nobody minds whether less is predicted right."""
LATE = 1.0
"""Seconds past its limit after which a run is listed."""
SHORT, READINGS = 0.05, 3
"""Runs shorter than this many seconds are read so many times, the least counts."""
LONG = 1.0
"""Runs shorter than this are read twice: the first of a solver may import what no small example needs."""


@dataclass(frozen=True)
class Reading:
    """What one solver took on one instance.

    Parameters
    ----------
    family, kind, solver : str
    sizes : tuple of int
    formula, seconds : float
        What the solver's formula said, and what it took.
    stopped : bool
        Whether it was stopped at its limit.
    """

    family: str
    kind: str
    solver: str
    sizes: tuple[int, ...]
    formula: float
    seconds: float
    stopped: bool

    @property
    def entry(self) -> Entry:
        """What the table keeps: of a stopped run the formula, where that is longer."""
        seconds = max(self.seconds, self.formula) if self.stopped else self.seconds
        return Entry(self.sizes, self.formula, seconds)

    def error(self, predicted: float) -> float:
        """By what factor a prediction is off, at least 1; of a stopped run only one that is too low can be told.

        Examples
        --------
        >>> reading = Reading("any", "redaction", "windows", (10,), 1.0, 2.0, False)
        >>> reading.error(1.0), reading.error(4.0), reading.error(2.0)
        (2.0, 2.0, 1.0)
        """
        took, said = max(NOTHING, self.seconds), max(NOTHING, predicted)
        return max(took / said, 1.0 if self.stopped else said / took)


def readings(
    *,
    recorded: bool,
    limit: float,
    told: Callable[[str, float | None], None],
    few: bool = False,
    kinds: Collection[str] = (),
) -> Iterator[Reading]:
    """Every solver but oracles on the instances of the table, or on those in between, as long as it ends in time.

    Only problems of some kinds are measured where these are named. A solver that was stopped at one instance is not tried on those of the family that are larger in every size.
    """
    warm: set[tuple[str, str]] = set()
    stopped: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for family, make in instances(recorded=recorded, few=few):
        begun = time.monotonic()
        problem = make()
        if kinds and problem.kind not in kinds:
            continue
        told(f"{family} {problem.sizes}", None)
        for name, cls in solvers_of(type(problem)).items():
            small = stopped.setdefault((family, name), [])
            if any(all(a <= b for a, b in zip(one, problem.sizes, strict=True)) for one in small):
                continue
            reading = _reading(family, cls(), problem, limit, warm)
            if reading is None:
                continue
            if reading.stopped:
                small.append(problem.sizes)
            yield reading
        told(f"{family} {problem.sizes}", time.monotonic() - begun)


def _reading(
    family: str, solver: Solver[Any], problem: Problem[Any], limit: float, warm: set[tuple[str, str]]
) -> Reading | None:
    """What a solver takes on an instance, None where it does not take it or fails."""
    posed = seen_by(solver, problem)
    fit = fitness(solver, problem)
    if fit.refusal is not None or fit.guarantee is Guarantee.ORACLE:
        return None
    key = (posed.kind, solver.name)
    if key not in warm:
        warm.add(key)
        for example in type(problem).examples()[:2]:
            if fitness(solver, example.problem).refusal is None:
                _clock(solver, example.problem, 1.0)
    formula = float(solver.cost(posed))
    clocked = _clock(solver, problem, limit)
    if clocked is None:
        return None
    seconds, stopped = clocked
    if seconds < LONG:
        again = [_clock(solver, problem, limit) for _ in range(READINGS - 1 if seconds < SHORT else 1)]
        seconds = min([seconds, *(one[0] for one in again if one is not None)])
    return Reading(family, *key, posed.sizes, formula, seconds, stopped)


def _clock(solver: Solver[Any], problem: Problem[Any], limit: float) -> tuple[float, bool] | None:
    """Seconds of one run and of the check of its bound, and whether it was stopped.

    None where it fails, or other work kept it waiting. Judging a mechanism is the same for all solvers, and no part of it. A
    run counts with its processor time where that is less than the time on the wall, so that other work on the machine
    does not matter; one that needs a process of its own pays for the start of that. Nothing is known of the instance
    from an earlier run.
    """
    forget()
    inside = believed(solver, seen_by(solver, problem))
    start = 0.0 if inside else _starting()
    worked = time.process_time() if inside else _executor().submit(_ready).result()
    begun = time.monotonic()
    try:
        proposal = propose(solver, problem, Budget(begun + limit))
    except SolverTimeout:
        return limit, True
    except SolverFailure:
        return None
    wall = time.monotonic() - begun
    work = (time.process_time() if inside else _executor().submit(_ready).result()) - worked
    if ran_out(proposal.stats):  # some stop well before the limit, to have time for their bound
        return wall, True
    checked = _checking(problem, proposal, limit)
    if not inside:
        return start + (min(wall, work) if work > 0 else wall) + checked, False
    if wall < 0.9 * limit:
        return min(wall, work) + checked, False
    return (wall, True) if work >= 0.5 * limit else None


def _checking(problem: Problem[Any], proposal: Proposal, limit: float) -> float:
    """Seconds in which a problem checks the bound of a proposal, 0 where there is none."""
    if proposal.bound is None or not math.isfinite(proposal.bound):
        return 0.0
    begun, worked = time.monotonic(), time.process_time()
    problem.check_bound(proposal.bound, proposal.dual, limit)
    return min(time.monotonic() - begun, time.process_time() - worked)


def _executor() -> ProcessPoolExecutor:
    """The process in which solvers run that are not interruptible; it stays between runs."""
    from loky import get_reusable_executor

    return get_reusable_executor(max_workers=1, timeout=IDLE)


def _ready() -> float:
    """In that process: the processor time that it has used, imports included."""
    return time.process_time()


@cache
def _starting() -> float:
    """Seconds that such a process takes to start, of processor time, so that other work does not matter."""
    _executor().shutdown(wait=True, kill_workers=True)
    seconds: float = _executor().submit(_ready).result()
    return seconds


def table_of(read: Iterable[Reading], work: float, start: float = 0.0) -> Timings:
    """The table of some readings; of those of equal sizes all are kept.

    Examples
    --------
    >>> reading = Reading("any", "redaction", "windows", (10,), 1.0, 2.0, False)
    >>> table_of([reading], 1.0).seconds("redaction", "windows", (10,), 1.0)
    2.0
    """
    entries: dict[tuple[str, str], list[Entry]] = {}
    for reading in read:
        if math.isfinite(reading.formula):
            entries.setdefault((reading.kind, reading.solver), []).append(reading.entry)
    return Timings(work, {key: tuple(listed) for key, listed in entries.items()}, start)


def joined(made: Timings, before: Timings, kinds: Collection[str]) -> Timings:
    """A new table for some kinds of problems, with the rest of the one before in seconds of the machine of the new one.

    Examples
    --------
    >>> entry = Entry((10,), 1.0, 3.0)
    >>> before = Timings(1.0, {("redaction", "windows"): (entry,), ("belief_release", "oracle"): (entry,)})
    >>> both = joined(Timings(2.0, {}), before, ["belief_release"])
    >>> list(both.entries), both.seconds("redaction", "windows", (10,), 1.0)
    ([('redaction', 'windows')], 6.0)
    """
    slower = slowness(made.work, before.work)
    kept = {
        key: tuple(replace(entry, seconds=slower * entry.seconds) for entry in entries)
        for key, entries in before.entries.items()
        if key[0] not in kinds
    }
    return Timings(made.work, {**kept, **made.entries}, made.start)


def calibrate_command(output: Path | None, limit: float, kinds: Collection[str], as_json: bool) -> None:
    """Measure the table of this machine and write it; of some kinds of problems only, with the rest as it was.

    Raises
    ------
    FileRefused
        If the file cannot be written.
    InvalidProblem
        If there is no such kind of problem.
    """
    measured = {make().kind for _, make in instances(recorded=True, few=True)}
    if unknown := set(kinds) - measured:
        raise InvalidProblem(
            f"no problem {min(unknown)!r} is measured; there are {', '.join(sorted(measured))}"
        )
    path = own_table() if output is None else output
    if output is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    check_output(path)
    count = sum(1 for _ in instances(recorded=True))
    with measuring(count) as told:
        read = list(readings(recorded=True, limit=limit, told=told, kinds=kinds))
    made = table_of(read, fixed_work(), _starting())
    if kinds:
        made = joined(made, timings(), kinds)
    write_timings(path, made)
    timings.cache_clear()
    solvers, entries = len(made.entries), sum(map(len, made.entries.values()))
    if as_json:
        emit({"written": str(path), "solvers": solvers, "entries": entries, "work": made.work})
        return
    far = sorted(read, key=lambda r: -r.error(r.formula))
    print("formulas that were off most, before they are corrected:")
    table([_cells(r, r.formula) for r in far[:15]], HEADER)
    late = [r for r in read if r.stopped and r.seconds > limit + LATE]
    if late:
        print(f"\nstopped more than {LATE:g} s past their limit:")
        table([_cells(r, r.formula) for r in sorted(late, key=lambda r: -r.seconds)], HEADER)
    print(f"{entries} runs of {solvers} solvers. Written: {path}")


HEADER = ("problem", "solver", "sizes", "predicted", "took", "off by")


def _cells(reading: Reading, predicted: float) -> tuple[str, ...]:
    took = f"> {reading.seconds:.3g}" if reading.stopped else f"{reading.seconds:.3g}"
    sizes = " x ".join(map(str, reading.sizes))
    return reading.kind, reading.solver, sizes, f"{predicted:.3g}", took, f"{reading.error(predicted):.3g}"


def checked(limit: float, *, few: bool) -> Iterator[tuple[Reading, float]]:
    """What solvers take on sizes that the table does not hold, with what is predicted."""
    for reading in readings(recorded=False, limit=limit, told=lambda name, seconds: None, few=few):
        yield reading, predicted_seconds(reading.kind, reading.solver, reading.sizes, reading.formula)

"""The measurement: ``solve`` on every case alone on the machine, then solvers by name, two at a time.

Where both prove the optimum, ``solve`` and the fastest by name take turns afterwards, alone, as often as ``solve`` ran: only so are
their seconds those of one machine in one state.
"""

from __future__ import annotations

import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from privopt.benchmarks.regret.regrets import MORE, standing, turns_of
from privopt.benchmarks.regret.rows import ANCHOR, SOLVE, Run, append_runs, read_runs
from privopt.benchmarks.regret.worker import STUCK
from privopt.benchmarks.runner.case import Case

PATIENCE = 45.0
"""Seconds past its limit after which a run is ended, with its process."""
SURVEYING = 120.0
"""Seconds that building a case and asking its solvers may take."""
ALIKE = 1e-4
"""Two repetitions that differ by less, relative to the scale, need no third: it would not move the median by more."""
LONGEST = 10.0
"""Seconds; limits from here on are for the cases marked for them."""
LARGE = 2**30
"""Bytes of a process after which the next task gets a fresh one."""
DEEP = 6
"""Places of a stack that are told of a run that did not come back."""
AT_ONCE = 2
"""Solvers by name that run side by side."""
Listener = Callable[[str, float | None], None]
"""Told the name of a case that begins, and again with its seconds when it is done."""


class Worker:
    """A process that answers one task at a time; it is ended, with its children, when it does not come back.

    Parameters
    ----------
    memory : float
        GiB of address space for it and for each of its children.
    """

    def __init__(self, memory: float) -> None:
        self._memory = int(memory * 2**30)
        self._process: subprocess.Popen[str] | None = None
        self._noise: IO[str] | None = None

    def ask(self, task: dict[str, Any], patience: float) -> dict[str, Any] | str:
        """The answer, or in words why there is none."""
        process = self._ready()
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a worker has no pipes")
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            self.close()
            return "its process had died"
        ready, _, _ = select.select([process.stdout], [], [], patience)
        line = process.stdout.readline() if ready else ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        where = self._stuck()
        self.close()
        return "its process died" if ready else f"did not come back within {patience:g} s{where}"

    def _stuck(self) -> str:
        """Where the process was long past its limit, innermost first, as it wrote itself; empty if it had not yet."""
        if self._noise is None:
            return ""
        self._noise.seek(0)
        last = self._noise.read().rpartition(STUCK)[2].rpartition("(most recent call first)")[2]
        places = [line.strip() for line in last.splitlines() if line.lstrip().startswith("File ")]
        return f": {'; '.join(places[:DEEP])}" if places else ""

    def _ready(self) -> subprocess.Popen[str]:
        """The process, a fresh one where the last one has grown large."""
        if self._process is not None and psutil.Process(self._process.pid).memory_info().rss > LARGE:
            self.close()
        if self._process is None:
            self._noise = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed with the process
            self._process = subprocess.Popen(
                [sys.executable, "-m", "privopt.benchmarks.regret.worker", str(self._memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._noise,
                text=True,
                start_new_session=True,
            )
        return self._process

    def close(self) -> None:
        """End the process and what it started."""
        process, self._process = self._process, None
        noise, self._noise = self._noise, None
        if noise is not None:
            noise.close()
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


@dataclass
class Measuring:
    """Cases under measurement, with what is already known of them.

    Parameters
    ----------
    folder : Path
        Where rows go as they come.
    limits : sequence of float
    repetitions : int
        Of ``solve``, at most.
    solvers : collection of str
        Run these by name only; all where it is empty.
    memory : float
        GiB of address space of each process.
    known : list of Run
        Rows of this run and of others that count.
    """

    folder: Path
    limits: Sequence[float]
    repetitions: int = 3
    solvers: Collection[str] = ()
    memory: float = 6.0
    known: list[Run] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, cases: Sequence[Case], listener: Listener | None = None) -> list[Run]:
        """Measure cases, each whole before the next; all rows that are known in the end."""
        workers = [Worker(self.memory) for _ in range(AT_ONCE)]
        with closing(workers[0]), closing(workers[1]):
            for case in cases:
                begun = time.monotonic()
                if listener is not None:
                    listener(case.name, None)
                self._case(case, workers)
                if listener is not None:
                    listener(case.name, time.monotonic() - begun)
        return self.known

    def _case(self, case: Case, workers: Sequence[Worker]) -> None:
        limits = limits_of(case, self.limits)
        if not limits:
            return
        takers = self._survey(case, workers[0])
        for limit in limits:
            self._solve(case, limit, workers[0])
        chosen = [name for name in takers if not self.solvers or name in self.solvers]
        for limit in reversed(limits):
            tasks = list(self._by_name(case, limit, chosen))
            self._side_by_side(tasks, list(workers))
        if self.repetitions > 1:
            for limit in limits:
                self._take_turns(case, limit, workers[0])

    def _take_turns(self, case: Case, limit: float, worker: Worker) -> None:
        """``solve`` and the fastest solver by name one after the other, where ``solve`` might have taken too long beside it."""
        rows = [r for r in self.known if r.case == case.name]
        first = standing(case.name, limit, [r for r in rows if not r.paired])
        if first.fastest is None or first.seconds <= MORE:
            return
        done = {(r.solver, r.repetition) for r in turns_of(rows, limit, first.fastest_by)}
        for repetition in range(self.repetitions):
            for solver, other in ((SOLVE, first.fastest_by), (first.fastest_by, SOLVE)):
                if (solver, repetition) not in done:
                    self._ask(_task(case, solver, limit, repetition, other), worker)

    def _side_by_side(self, tasks: Sequence[dict[str, Any]], free: list[Worker]) -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for done in [pool.submit(self._on_a_free_one, task, free) for task in tasks]:
                done.result()

    def _survey(self, case: Case, worker: Worker) -> list[str]:
        """The solvers that take a case."""
        known = runs_of(self.known, case.name, ANCHOR)
        if not known:
            task = {"case": case.name, "solver": ANCHOR, "paired": ""}
            answer = worker.ask(task, SURVEYING)
            if isinstance(answer, str):
                self._keep(_failure({**task, "limit": SURVEYING, "repetition": 0}, answer, 0.0))
                return []
            known = [Run.from_dict(answer)]
            self._keep(known[0])
        failed = known[-1].status == "FAILED" and known[-1].limit == SURVEYING
        return [] if failed else known[-1].reason.split()

    def _solve(self, case: Case, limit: float, worker: Worker) -> None:
        while True:
            done = runs_of(self.known, case.name, SOLVE, limit)
            if len(done) >= self.repetitions or (len(done) == 2 and alike(done)):
                return
            self._ask(_task(case, SOLVE, limit, len(done)), worker)

    def _by_name(self, case: Case, limit: float, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The runs by name that are still needed at a limit."""
        ours = runs_of(self.known, case.name, SOLVE, limit)
        needed = enough(ours, limit)
        for name in names:
            rows = runs_of(self.known, case.name, name)
            if not any(serves(row, limit, needed, ours) for row in rows):
                yield _task(case, name, needed, 0)

    def _on_a_free_one(self, task: dict[str, Any], free: list[Worker]) -> None:
        with self._lock:
            worker = free.pop(0)
        try:
            self._ask(task, worker)
        finally:
            with self._lock:
                free.insert(0, worker)

    def _ask(self, task: dict[str, Any], worker: Worker) -> None:
        answer = worker.ask(task, task["limit"] + PATIENCE)
        self._keep(_failure(task, answer, PATIENCE) if isinstance(answer, str) else Run.from_dict(answer))

    def _keep(self, run: Run) -> None:
        with self._lock:
            self.known.append(run)
            append_runs(self.folder, [run])


def limits_of(case: Case, limits: Sequence[float]) -> list[float]:
    """The limits of a case, shortest first; the longest ones are for those marked for them."""
    return sorted(limit for limit in limits if limit < LONGEST or case.long)


def _task(case: Case, solver: str, limit: float, repetition: int, paired: str = "") -> dict[str, Any]:
    return {"case": case.name, "solver": solver, "limit": limit, "repetition": repetition, "paired": paired}


def _failure(task: dict[str, Any], reason: str, seconds: float) -> Run:
    return Run(
        case=task["case"],
        solver=task["solver"],
        limit=task["limit"],
        repetition=task["repetition"],
        status="FAILED",
        reason=reason,
        winner="",
        objective=None,
        bound=None,
        scale=1.0,
        certified=False,
        seconds=task["limit"] + (seconds if "within" in reason else 0.0),
        paired=task["paired"],
    )


def runs_of(runs: Sequence[Run], case: str, solver: str, limit: float | None = None) -> list[Run]:
    """The rows of a solver on a case, at one limit or at all, without those that took turns."""
    return [
        r for r in runs if r.case == case and r.solver == solver and limit in (None, r.limit) and not r.paired
    ]


def alike(runs: Sequence[Run]) -> bool:
    """Whether repetitions agree so well that one more would not move their median by much."""
    objectives = [r.objective for r in runs if r.objective is not None]
    if len(objectives) < len(runs):
        return not objectives
    room = ALIKE * max(r.scale for r in runs)
    times = [r.seconds for r in runs]
    return max(objectives) - min(objectives) <= room and max(times) <= 1.2 * min(times) + 0.02


def enough(ours: Sequence[Run], limit: float) -> float:
    """Seconds that a solver by name needs to show all that it may: where ``solve`` proved the optimum, a little more than it took."""
    if not ours or not all(r.closed for r in ours):
        return limit
    return min(limit, max(0.2, 1.5 * statistics.median(r.seconds for r in ours)))


def serves(row: Run, limit: float, needed: float, ours: Sequence[Run]) -> bool:
    """Whether a run says what the same solver would do at a limit.

    It does if it had as much time, if it ended by itself within the limit, or if more time did not bring it above
    what ``solve`` has at the limit in any repetition: less will not either. A size that ``solve`` refused at the limit is
    asked of solvers at that limit only: with more time they may judge it, there they may not.
    """
    if ours and all(r.status == "REFUSED" for r in ours):
        return row.limit == limit
    if (
        row.limit in (limit, needed)
        or (not row.cut and row.seconds <= limit)
        or row.limit >= needed >= row.seconds
    ):
        return True
    if row.limit < limit:
        return False
    least = min((r.objective for r in ours if r.objective is not None), default=None)
    return row.objective is None or (least is not None and row.objective <= least)


def known_of(folders: Sequence[Path]) -> list[Run]:
    """The rows of several folders."""
    return [run for folder in folders for run in read_runs(folder)]

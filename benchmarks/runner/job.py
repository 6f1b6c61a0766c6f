"""The whole job: run a suite, keep its rows, release its showcase, write the page. Nothing in a task stops a run."""

from __future__ import annotations

import shlex
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from privopt.benchmarks.runner.folder import (
    PROBLEM,
    RELEASED,
    RUN,
    SOLUTION,
    Manifest,
    alarm_folder,
    prepare,
    read_released,
    read_run,
    write_run,
    write_table,
)
from privopt.benchmarks.runner.machine import environment, own_paths
from privopt.benchmarks.runner.outcome import Outcome
from privopt.benchmarks.runner.pool import Engine, Pool, default_jobs
from privopt.benchmarks.runner.process import Limits
from privopt.benchmarks.runner.rows import Row, standing
from privopt.benchmarks.runner.store import LEASE, Attempt, Store, opened, write_contradictions
from privopt.benchmarks.runner.suite import Showcase, Suite, vocabulary
from privopt.benchmarks.runner.task import Task, chosen, tasks_of
from privopt.benchmarks.runner.traces import write_traces
from privopt.core.certificate import Certificate
from privopt.core.solution import Solution
from privopt.core.verify import verify
from privopt.files.json import write_json

if TYPE_CHECKING:
    from privopt.benchmarks.report.write import Verdict


class Interrupted(Exception):
    """A run was asked to stop, and did: what was finished is kept.

    Parameters
    ----------
    done, total : int
        Tasks that are done, of those that were asked for.
    """

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"stopped with {done} of {total} tasks done")
        self.done, self.total = done, total


@contextmanager
def terminable() -> Iterator[None]:
    """Within it, SIGTERM does what Ctrl-C does; only the main thread can ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


Result: TypeAlias = tuple[Task, Attempt]
Load: TypeAlias = Callable[[str], Mapping[str, Any]]
"""Gives the stored form of a solution for its hash."""


def best_certified(results: Iterable[Result], instance: str, budget: float) -> Result | None:
    """The verified result that stands first by :func:`privopt.benchmarks.runner.rows.standing`."""
    fit = [
        (task, attempt)
        for task, attempt in results
        if attempt.row.verified
        and attempt.solution is not None
        and (task.instance.name, task.budget) == (instance, budget)
    ]
    return min(fit, key=lambda pair: standing(pair[1].row), default=None)


def release_showcase(
    folder: Path, showcase: Showcase, results: Iterable[Result], load: Load
) -> Result | None:
    """Write the problem, the best certified answer and the data released by it; None if there is nothing to write.

    Redacted cells of the CSV file are empty. What was released before stays as it is: to draw the same records again
    would be a second release of them, which no certificate covers.
    """
    if (folder / RELEASED).exists():
        return None
    best = best_certified(results, showcase.instance, showcase.budget)
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


def write_alarms(folder: Path, results: Iterable[Result], load: Load) -> None:
    """Keep problem and answer of every row whose claim failed, or whose record differs, so that it can be looked at."""
    for task, attempt in results:
        row = attempt.row
        if attempt.solution is None or not (row.broken or row.differing):
            continue
        place = alarm_folder(folder, row.key)
        place.mkdir(parents=True, exist_ok=True)
        write_json(place / PROBLEM, task.instance.problem.with_budget(task.budget).to_dict())
        write_json(place / SOLUTION, load(attempt.solution))


def verify_folder(folder: Path) -> Certificate | None:
    """Prove the released mechanism again from the files of a run alone; None if nothing was released.

    Raises
    ------
    FileRefused
        If some of the files are missing or malformed.
    """
    released = read_released(folder)
    return None if released is None else verify(released.problem, released.solution)


__all__ = ["Listener", "run_tasks", "tasks_of"]

PATIENCE = 0.5
"""Seconds between looks at tasks that another runner of the same store is doing."""

Listener = Callable[[Outcome, int], None]
"""Told each outcome of this runner, and how many tasks are left."""


def run_tasks(tasks: Sequence[Task], store: Store, engine: Engine, listener: Listener | None = None) -> None:
    """Do every task that the store does not hold, together with any other runner of that store.

    Returns when all are done, by whomever; a task of a runner that died is done here.
    """
    waiting = deque(_missing(tasks, store))
    under_way, renewed = 0, time.monotonic()
    try:
        while waiting or under_way:
            begun = _fill(waiting, store, engine)
            under_way += begun
            if not under_way:  # all that is left is being done elsewhere
                time.sleep(PATIENCE)
                waiting = deque(t for t in waiting if not store.done(t.key))
            for outcome in engine.wait(PATIENCE if waiting else LEASE / 10) if under_way else ():
                under_way -= 1
                if (
                    store.record(outcome.row, outcome.stored, outcome.host, outcome.trace)
                    and listener is not None
                ):
                    listener(outcome, len(waiting) + under_way)
            if time.monotonic() > renewed + LEASE / 6:
                store.renew()
                renewed = time.monotonic()
    finally:
        engine.close()
        store.release()


def _missing(tasks: Iterable[Task], store: Store) -> list[Task]:
    """Tasks that are not done, one for each key."""
    distinct = {task.key: task for task in tasks}
    return [task for key, task in distinct.items() if not store.done(key)]


def _fill(waiting: deque[Task], store: Store, engine: Engine) -> int:
    """Give the engine what it takes; what others are doing goes to the end of the queue."""
    begun = 0
    for _ in range(len(waiting)):
        if not engine.free:
            break
        task = waiting.popleft()
        if store.claim(task.key):
            engine.submit(task)
            begun += 1
        elif not store.done(task.key):
            waiting.append(task)
    return begun


@dataclass(frozen=True)
class Job:
    """A suite, where its results go, and how it is run.

    Parameters
    ----------
    suite : Suite
    folder, page : Path
        Of the rows, and of the report.
    seeds : tuple of int
    time_limit : float or None
        Seconds for each task; None for that of the suite.
    solvers, instances : tuple of str
        Run these only; all where empty. The files show every task of the suite that is done.
    force : bool
        Do again what is done, the release of the showcase included.
    jobs : int or None
        Tasks at a time on this machine; None for two, or one on one processor.
    memory : float
        GiB of address space for each task.
    scheduler : str or None
        Address of a Dask scheduler whose workers run the tasks.
    command : str
        What a person types to run it again, for the report; made from the rest where it is empty.
    """

    suite: Suite
    folder: Path
    page: Path
    seeds: tuple[int, ...] = (0,)
    time_limit: float | None = None
    solvers: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    force: bool = False
    jobs: int | None = None
    memory: float = 4.0
    scheduler: str | None = None
    command: str = ""

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Every task of the suite, in the order of the files."""
        return tasks_of(self.suite, seeds=self.seeds, time_limit=self.time_limit)

    @cached_property
    def selected(self) -> tuple[Task, ...]:
        """Those that are to be run."""
        return chosen(self.tasks, solvers=self.solvers, instances=self.instances)

    def left(self) -> int:
        """How many tasks are to be done, after what the store holds."""
        keys = {task.key for task in self.selected}
        prepare(self.folder, again=self.force)
        with opened(self.folder, force=self.force) as store:
            return sum(not store.done(key) for key in keys)

    def run(self, listener: Listener | None = None) -> Verdict:
        """Do it all; the verdict is reached from the files that were written.

        Raises
        ------
        FileRefused
            If the folder or the page cannot be written.
        Interrupted
            If it was asked to stop; rows and files are then those of what is done.
        """
        self.work(listener)
        from privopt.benchmarks.report.write import write_report

        return write_report(self.folder, self.page)

    def work(self, listener: Listener | None = None) -> None:
        """Run the tasks and write the files of the folder, without the report.

        Raises
        ------
        FileRefused
            If the folder cannot be written.
        Interrupted
            If it was asked to stop; the files are then those of what is done.
        """
        tasks = self.selected
        prepare(self.folder, again=self.force)
        with opened(self.folder, force=self.force) as store:
            machine = self._machine(any(not store.done(task.key) for task in tasks))
            try:
                with terminable():
                    self._run(tasks, store, listener)
            except KeyboardInterrupt as cause:
                self._write(store, machine)
                done = sum(store.done(task.key) for task in tasks)
                raise Interrupted(done, len(tasks)) from cause
            self._write(store, machine)

    def _machine(self, begins: bool) -> Mapping[str, str]:
        """Where and how the run is done; of one that is done already, where and how it was."""
        if not begins and (self.folder / RUN).exists():
            return read_run(self.folder)[0].environment
        told = {"command": f"{own_paths()}{self.command or self._command()}", "jobs": str(self._jobs())}
        return {**told, **environment()}

    def _command(self) -> str:
        """What runs the same tasks again, as a person types it."""
        seeds = ",".join(map(str, self.seeds))
        words = ["privopt", "bench", "run", self.suite.name, "--seeds", seeds, "--jobs", str(self._jobs())]
        if self.time_limit is not None:
            words += ["--time-limit", f"{self.time_limit:g}"]
        for option, names in (("--solver", self.solvers), ("--instance", self.instances)):
            words += [word for name in names for word in (option, name)]
        return shlex.join(words)

    def _jobs(self) -> int:
        return default_jobs() if self.jobs is None else self.jobs

    def _run(self, tasks: Sequence[Task], store: Store, listener: Listener | None) -> None:
        if all(store.done(task.key) for task in tasks):
            return
        engine = self._engine()
        store.begin(engine.describe)
        run_tasks(tasks, store, engine, listener)

    def _engine(self) -> Engine:
        if self.scheduler is None:
            return Pool(self._jobs(), Limits(self.memory))
        from privopt.benchmarks.runner.pool import Cluster

        return Cluster(self.scheduler, Limits(self.memory))

    def _write(self, store: Store, machine: Mapping[str, str]) -> None:
        """The files of what is done, in the order of tasks whatever the order in which they ended."""
        attempts = store.attempts()
        results: list[Result] = [(t, attempts[t.key]) for t in self.tasks if t.key in attempts]
        hosts = sorted({attempt.host for _, attempt in results} - {""})
        rows: list[Row] = [task.labelled(attempt.row) for task, attempt in results]
        write_run(self.folder, self._manifest(store, len(rows), hosts, machine), rows)
        traces = store.traces()
        write_traces(self.folder, {row.key: traces[row.key] for row in rows if row.key in traces})
        write_contradictions(self.folder, results, store.solution)
        write_alarms(self.folder, results, store.solution)
        if self.suite.showcase is not None:
            release_showcase(self.folder, self.suite.showcase, results, store.solution)

    def _manifest(
        self, store: Store, done: int, hosts: Sequence[str], machine: Mapping[str, str]
    ) -> Manifest:
        showcase, sessions = self.suite.showcase, store.sessions()
        begun = sessions[0][0] if sessions else 0.0
        told = {
            **machine,
            "tasks": f"{done} of {len(self.tasks)} done, on {len(hosts) or 1} machine{'s' * (len(hosts) > 1)}",
            "processes": "; ".join(dict.fromkeys(how for _, how in sessions)),
        }
        return Manifest(
            suite=self.suite.name,
            describe=self.suite.describe,
            about=tuple(self.suite.about()),
            begun=datetime.fromtimestamp(begun, UTC).strftime("%Y-%m-%d %H:%M UTC"),
            seconds=store.busy(),
            environment=told,
            instance="" if showcase is None else showcase.instance,
            budget=0.0 if showcase is None else showcase.budget,
            reference="" if showcase is None else showcase.reference,
            reference_does="" if showcase is None else showcase.reference_does,
            title="" if showcase is None else showcase.records().title,
            words=vocabulary(self.suite.instances(), self.suite.reference),
        )

"""The whole job: run a suite, keep its rows, release its showcase, write the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from privopt.benchmarks._contradictions import write_contradictions
from privopt.benchmarks._environment import environment
from privopt.benchmarks._folder import Manifest, prepare, write_run
from privopt.benchmarks._limits import Limits
from privopt.benchmarks._pool import Engine, Pool, default_jobs
from privopt.benchmarks._release import Result, release_showcase
from privopt.benchmarks._rows import Row
from privopt.benchmarks._signals import Interrupted, terminable
from privopt.benchmarks._store import Store, opened
from privopt.benchmarks._suites import Suite
from privopt.benchmarks._task import Task, chosen, tasks_of
from privopt.benchmarks.report import Verdict, write_report
from privopt.benchmarks.runner import Listener, run_tasks


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

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Every task of the suite, in the order of the files."""
        return tasks_of(self.suite, seeds=self.seeds, time_limit=self.time_limit)

    @cached_property
    def asked(self) -> tuple[Task, ...]:
        """Those that are to be run."""
        return chosen(self.tasks, solvers=self.solvers, instances=self.instances)

    def left(self) -> int:
        """How many tasks are to be done, after what the store holds."""
        keys = {task.key for task in self.asked}
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
        asked = self.asked
        prepare(self.folder, again=self.force)
        with opened(self.folder, force=self.force) as store:
            try:
                with terminable():
                    self._run(asked, store, listener)
            except KeyboardInterrupt as cause:
                self._write(store)
                done = sum(store.done(task.key) for task in asked)
                raise Interrupted(done, len(asked)) from cause
            self._write(store)

    def _run(self, asked: Sequence[Task], store: Store, listener: Listener | None) -> None:
        if all(store.done(task.key) for task in asked):
            return
        engine = self._engine()
        store.begin(engine.describe)
        run_tasks(asked, store, engine, listener)

    def _engine(self) -> Engine:
        if self.scheduler is None:
            return Pool(default_jobs() if self.jobs is None else self.jobs, Limits(self.memory))
        from privopt.benchmarks._cluster import Cluster

        return Cluster(self.scheduler, Limits(self.memory))

    def _write(self, store: Store) -> None:
        """The files of what is done, in the order of tasks whatever the order in which they ended."""
        attempts = store.attempts()
        found: list[Result] = [(t, attempts[t.key]) for t in self.tasks if t.key in attempts]
        hosts = sorted({attempt.host for _, attempt in found} - {""})
        rows: list[Row] = [task.labelled(attempt.row) for task, attempt in found]
        write_run(self.folder, self._manifest(store, len(rows), hosts), rows)
        write_contradictions(self.folder, found, store.solution)
        if self.suite.showcase is not None:
            release_showcase(self.folder, self.suite.showcase, found, store.solution)

    def _manifest(self, store: Store, done: int, hosts: Sequence[str]) -> Manifest:
        showcase, sessions = self.suite.showcase, store.sessions()
        begun = sessions[0][0] if sessions else 0.0
        machine = {
            **environment(),
            "tasks": f"{done} of {len(self.tasks)} done, on {len(hosts) or 1} machine{'s' * (len(hosts) > 1)}",
            "processes": "; ".join(dict.fromkeys(how for _, how in sessions)),
        }
        return Manifest(
            suite=self.suite.name,
            describe=self.suite.describe,
            about=tuple(self.suite.about()),
            begun=datetime.fromtimestamp(begun, UTC).strftime("%Y-%m-%d %H:%M UTC"),
            seconds=store.busy(),
            environment=machine,
            instance="" if showcase is None else showcase.instance,
            budget=0.0 if showcase is None else showcase.budget,
            reference="" if showcase is None else showcase.reference,
            reference_does="" if showcase is None else showcase.reference_does,
            title="" if showcase is None else showcase.records().title,
        )

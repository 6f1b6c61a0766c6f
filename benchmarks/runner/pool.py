"""Engines run tasks and say what became of them: here, several at a time, or on the workers of a Dask cluster."""

from __future__ import annotations

import os
import queue
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from multiprocessing.connection import Connection, wait
from typing import Any

from privopt.benchmarks.runner.outcome import Outcome, lost, outcome_of
from privopt.benchmarks.runner.process import Limits, Server
from privopt.benchmarks.runner.task import Task
from privopt.cluster.scheduler import RETRIES, client
from privopt.core.isolate import describe


class Engine(ABC):
    """Something that runs tasks; used by one thread, and closed in the end."""

    @property
    @abstractmethod
    def free(self) -> int:
        """How many more tasks it takes now."""

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Begin a task; only while :attr:`free` > 0."""

    @abstractmethod
    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Outcomes since the last call; waits some seconds at most for the first."""

    @abstractmethod
    def close(self) -> None:
        """End everything that still runs."""

    @property
    @abstractmethod
    def describe(self) -> str:
        """How it runs tasks, in words."""


def default_jobs() -> int:
    """Two tasks at a time, or one on a machine of one processor."""
    return min(2, len(os.sched_getaffinity(0)))


class Pool(Engine):
    """Limited processes on this machine, ``jobs`` at a time."""

    def __init__(self, jobs: int, limits: Limits) -> None:
        self.limits = limits
        self._idle = [Server(limits) for _ in range(max(1, jobs))]
        self._busy: dict[Connection, tuple[Server, Task]] = {}
        self._jobs = len(self._idle)

    @property
    def free(self) -> int:
        """How many more tasks it takes now."""
        return len(self._idle)

    def submit(self, task: Task) -> None:
        """Begin a task in a fresh process."""
        server = self._idle.pop()
        self._busy[server.connection] = (server, task)
        server.submit(task.to_dict())

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Outcomes since the last call; waits some seconds at most for the first."""
        outcomes = []
        for ready in wait(list(self._busy), seconds):
            if isinstance(ready, Connection):
                outcomes.append(self._collect(*self._busy.pop(ready)))
        return outcomes

    def _collect(self, server: Server, task: Task) -> Outcome:
        try:
            result = server.answer()
        except (EOFError, OSError):
            server.close()
            self._idle.append(Server(self.limits))
            return lost(task, "the process that watches tasks was ended from outside")
        self._idle.append(server)
        return outcome_of(task, result, self.limits.memory)

    def close(self) -> None:
        """End the processes and the tasks in them."""
        for server in (*self._idle, *(server for server, _ in self._busy.values())):
            server.close()
        self._idle, self._busy = [], {}

    @property
    def describe(self) -> str:
        """How it runs tasks, in words."""
        return (
            f"{self._jobs} at a time, each in a fresh process of one thread and at most {self.limits} of "
            "address space"
        )


AHEAD = 2
"""Tasks sent for each thread of the cluster, so that none waits for this process."""


def execute(task: Mapping[str, Any], memory: float) -> dict[str, Any]:
    """On a worker: run a task in a limited process; plain data in, plain data out, nothing changed.

    A worker keeps the processes that fork tasks: one for each of its threads.
    """
    idle = _idle(memory)
    try:
        server = idle.get_nowait()
    except queue.Empty:
        server = Server(Limits(memory))
    try:
        result = server.run(task)
    except BaseException:
        server.close()
        raise
    idle.put(server)
    return result


@cache
def _idle(memory: float) -> queue.LifoQueue[Server]:
    """Servers of this process that wait for a task."""
    return queue.LifoQueue()


class Cluster(Engine):
    """The workers of a Dask scheduler.

    Raises
    ------
    MissingExtra
        If dask and distributed are not installed.
    InvalidProblem
        If no scheduler answers at the address.
    """

    def __init__(self, address: str, limits: Limits) -> None:
        self.limits = limits
        self._address = address
        self._stack = ExitStack()
        self._client = self._stack.enter_context(client(address))
        self._busy: dict[str, tuple[Any, Task]] = {}
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()

    @property
    def free(self) -> int:
        """How many more tasks it takes now; one waits even for a cluster that has no worker yet."""
        threads: dict[str, int] = self._client.nthreads()
        return max(1, AHEAD * sum(threads.values())) - len(self._busy)

    def submit(self, task: Task) -> None:
        """Send a task; if its worker is lost the scheduler sends it to another one."""
        future = self._client.submit(execute, task.to_dict(), self.limits.memory, pure=False, retries=RETRIES)
        self._busy[future.key] = (future, task)
        future.add_done_callback(lambda done: self._ended.put(done.key))

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """Outcomes since the last call; waits some seconds at most for the first."""
        try:
            keys = [self._ended.get(timeout=seconds)]
        except queue.Empty:
            return ()
        while not self._ended.empty():
            keys.append(self._ended.get())
        return [self._collect(*self._busy.pop(key)) for key in keys if key in self._busy]

    def _collect(self, future: Any, task: Task) -> Outcome:
        try:
            return outcome_of(task, future.result(), self.limits.memory)
        except Exception as cause:  # noqa: BLE001 - whatever a cluster raises becomes the reason of a row
            return lost(task, f"the cluster gave it up: {describe(cause)}")

    def close(self) -> None:
        """Take back what was sent, and leave the cluster."""
        self._client.cancel([future for future, _ in self._busy.values()], force=True)
        self._busy = {}
        self._stack.close()

    @property
    def describe(self) -> str:
        """How it runs tasks, in words."""
        return (
            f"by the workers of the Dask scheduler {self._address}, each in a fresh process of one thread and at most "
            f"{self.limits} of address space"
        )

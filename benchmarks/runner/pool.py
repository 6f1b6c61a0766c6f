"""Engines run tasks and say what became of them; this one runs them here, several at a time."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait

from privopt.benchmarks.runner.outcome import Outcome, lost, outcome_of
from privopt.benchmarks.runner.process import Limits, Server
from privopt.benchmarks.runner.task import Task


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
        found = []
        for ready in wait(list(self._busy), seconds):
            if isinstance(ready, Connection):
                found.append(self._collect(*self._busy.pop(ready)))
        return found

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

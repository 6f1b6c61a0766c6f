"""The engine that sends tasks to a Dask cluster; a worker runs them in the same limited processes."""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

from privopt._isolate import describe
from privopt._remote import RETRIES, client
from privopt.benchmarks.runner.outcome import Outcome, lost, outcome_of
from privopt.benchmarks.runner.pool import Engine
from privopt.benchmarks.runner.process import Limits, Server
from privopt.benchmarks.runner.task import Task

AHEAD = 2
"""Tasks sent for each thread of the cluster, so that none waits for this process."""


def execute(asked: Mapping[str, Any], memory: float) -> dict[str, Any]:
    """On a worker: run a task in a limited process; plain data in, plain data out, nothing changed.

    A worker keeps the processes that fork tasks: one for each of its threads.
    """
    idle = _idle(memory)
    try:
        server = idle.get_nowait()
    except queue.Empty:
        server = Server(Limits(memory))
    try:
        result = server.run(asked)
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

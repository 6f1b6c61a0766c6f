"""The runner: a suite becomes tasks, a task becomes a row in the store. Nothing in a task stops a run."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from privopt.benchmarks._claims import LEASE
from privopt.benchmarks._outcome import Outcome
from privopt.benchmarks._pool import Engine
from privopt.benchmarks._store import Store
from privopt.benchmarks._task import Task, tasks_of

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
                if store.record(outcome.row, outcome.stored, outcome.host) and listener is not None:
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

"""The same release and small solves by workers in processes of their own, to see what a scheduler adds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from privopt._collections import frontier
from privopt._remote_release import release_users
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._machines_units import policy_of, sequences
from privopt.models import MarkovChain
from privopt.problems.redaction import Redaction

LETTERS, BUDGETS = 10, 30
WORKERS = 2


def run(pieces: int, users: int, records: int) -> Iterator[Timing]:
    """Seconds by one process here and by two workers, each with one thread; nothing where dask is missing."""
    if find_spec("distributed") is None:
        return
    import distributed

    make: Any = distributed.LocalCluster
    with make(n_workers=WORKERS, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        yield from _release(cluster.scheduler_address, pieces, users, records)
        yield _frontier(cluster.scheduler_address)


def _release(address: str, pieces: int, users: int, records: int) -> Iterator[Timing]:
    policy, table = policy_of(LETTERS), sequences(LETTERS, pieces * users, records)
    release_users(policy, table[: 2 * WORKERS], scheduler=address)
    begun = time.perf_counter()
    release_users(policy, table)
    middle = time.perf_counter()
    release_users(policy, table, scheduler=address)
    there = time.perf_counter() - middle
    name = f"release by {WORKERS} workers, {LETTERS} letters"
    quality, note = table.size / there, "records a second, all in all"
    yield Timing.against(name, table.size, there, ("in this process", middle - begun), quality, note)


def _frontier(address: str) -> Timing:
    """Questions that take next to nothing, so that what remains is the way there and back."""
    problem = Redaction(MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 2, 0, 1.0)
    budgets = [0.01 * i for i in range(1, BUDGETS + 1)]
    frontier(problem, budgets[: 2 * WORKERS], scheduler=address)
    begun = time.perf_counter()
    frontier(problem, budgets)
    middle = time.perf_counter()
    frontier(problem, budgets, scheduler=address)
    there, here = time.perf_counter() - middle, middle - begun
    note = "milliseconds a solve, the way there and back within"
    name, added = f"{BUDGETS} tiny solves by {WORKERS} workers", 1e3 * there / BUDGETS
    return Timing.against(name, BUDGETS, there, ("in this process", here), added, note)

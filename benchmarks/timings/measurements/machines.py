"""What a cluster costs: time, bytes and memory of a piece of users and of a solve, and what a scheduler adds."""

from __future__ import annotations

import json
import pickle
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from privopt.arrays import Ints
from privopt.benchmarks.runner.suite import find_suite
from privopt.benchmarks.runner.task import tasks_of
from privopt.benchmarks.suites import redaction as frost
from privopt.benchmarks.timings.measurement import Timing, clock, register_measurement
from privopt.cluster import release as remote
from privopt.cluster.pieces import Packed
from privopt.cluster.release import release_users
from privopt.core.compare import frontier
from privopt.core.dispatch import solve
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import MarkovChain
from privopt.problems.redaction.problem import Redaction

BILLION = 1_000_000_000
HOUR = 3600.0
T = TypeVar("T")
LETTERS = (2, 10)


def policy_of(letters: int) -> SequencePolicy:
    """One nat a letter on a chain that tends to stay, the same every time."""
    rng = np.random.default_rng(letters)
    moves = 0.5 * np.eye(letters) + 0.5 * rng.dirichlet(np.ones(letters), letters)
    return SequencePolicy(MarkovChain.normalised(moves), 1.0)


def sequences(letters: int, users: int, records: int) -> Ints:
    """Letters of users, uniform and independent: what a release costs does not depend on them."""
    return np.random.default_rng(0).integers(0, letters, (users, records))


def release(users: int, records: int, quick: bool) -> Iterator[Timing]:
    """A piece of users: coded, drawn in both ways, packed, and what that makes for a billion records."""
    for letters in LETTERS[1:] if quick else LETTERS:
        yield from _piece(letters, users, records)


def _piece(letters: int, users: int, records: int) -> Iterator[Timing]:
    policy, table = policy_of(letters), sequences(letters, users, records)
    piece, coding = _timed(lambda: [one for some in remote._pieces(policy, table) for one in some])
    remote._draw(policy, piece[:2], None)
    drawn, certified = _timed(lambda: remote._draw(policy, piece, None))
    _, simulated = _timed(lambda: remote._draw(policy, piece, np.random.default_rng(1)))
    shown, handing = _timed(lambda: list(remote._shown(policy, iter([drawn]), None, 0, None)))
    each = partial(_each, f"{letters} letters", users * records)
    yield each("certified release", certified)
    yield each("simulated release", simulated)
    yield each("checking and handing out, where it was asked for", coding + handing)
    yield from _bytes(
        f"{letters} letters", users * records, (policy, Packed.of(piece), None), Packed.of(drawn)
    )
    peak, seconds = _memory(lambda: remote._draw(policy, piece, None))
    name = f"memory of a piece of {users} users, {letters} letters"
    yield Timing(name, users * records, seconds, quality=peak, note="peak of the worker, MB; traced, so slow")
    hours = BILLION / HOUR / len(shown) / records
    note = "core-hours of workers for 1e9 records, extrapolated"
    yield Timing(
        f"a billion, {letters} letters", users * records, certified, quality=hours * certified, note=note
    )
    spent = hours * (coding + handing)
    note = "hours of the one process that asked, extrapolated"
    yield Timing(
        f"a billion, asked, {letters} letters", users * records, coding + handing, quality=spent, note=note
    )


def _each(of: str, count: int, case: str, seconds: float) -> Timing:
    return Timing(
        f"{case}, {of}", count, seconds, quality=1e6 * seconds / count, note="microseconds a record"
    )


def _bytes(of: str, count: int, request: object, answer: object) -> Iterator[Timing]:
    for case, item in (("sent", request), ("fetched", answer)):
        packed, seconds = clock(partial(pickle.dumps, item, protocol=5))
        yield Timing(f"{case}, {of}", count, seconds, quality=len(packed) / count, note="bytes a record")


def solves(quick: bool) -> Iterator[Timing]:
    """Frosts with one private day, four days or a month: solved and certified, and what of it travels."""
    middle, _, few = frost.month()
    solve(few.problem)
    chosen = few if quick else middle
    problem, size = chosen.problem, chosen.size
    solution, seconds = _timed(lambda: solve(problem))
    case = f"one budget of a frontier, {size} records"
    yield Timing(case, size, seconds, quality=1e3 * seconds, note="milliseconds to solve and certify")
    for name, item in (("problem", problem), ("solution", solution)):
        packed, spent = clock(partial(pickle.dumps, item, protocol=5))
        yield Timing(f"{name}, pickled", size, spent, quality=float(len(packed)), note="bytes")
    task = next(t for t in tasks_of(find_suite("quick")) if t.instance.problem.kind == problem.kind)
    text, spent = clock(lambda: json.dumps(task.to_dict()))
    yield Timing("task of a benchmark, JSON", size, spent, quality=float(len(text)), note="bytes")


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """The result, and the seconds of processor of one run, which other processes on the machine hardly change."""
    begun = time.process_time()
    value = work()
    return value, max(time.process_time() - begun, 1e-9)


def _memory(work: Callable[[], object]) -> tuple[float, float]:
    """Peak of the memory that some work allocates, in MB, and its seconds while that is traced."""
    tracemalloc.start()
    try:
        _, seconds = _timed(work)
        return tracemalloc.get_traced_memory()[1] / 1e6, seconds
    finally:
        tracemalloc.stop()


CLUSTER_LETTERS, BUDGETS = 10, 30
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
    policy, table = policy_of(CLUSTER_LETTERS), sequences(CLUSTER_LETTERS, pieces * users, records)
    release_users(policy, table[: 2 * WORKERS], scheduler=address)
    begun = time.perf_counter()
    release_users(policy, table)
    middle = time.perf_counter()
    release_users(policy, table, scheduler=address)
    there = time.perf_counter() - middle
    name = f"release by {WORKERS} workers, {CLUSTER_LETTERS} letters"
    quality, note = table.size / there, "records a second, all in all"
    yield Timing.against(name, table.size, there, ("in this process", middle - begun), quality, note)


def _frontier(address: str) -> Timing:
    """Problems that take next to nothing, so that what remains is the way there and back."""
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


@register_measurement("machines", "Clusters: time, bytes and memory of one piece of work, and of a billion")
def machines(quick: bool) -> Sequence[Timing]:
    """Units of work in this process; then, unless quick, the same by workers in processes of their own."""
    users, records = (200, 10) if quick else (2000, 50)
    rows = [*release(users, records, quick), *solves(quick)]
    return rows if quick else [*rows, *run(4, users, records)]

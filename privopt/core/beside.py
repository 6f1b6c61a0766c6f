"""A second lane of a search: improvers that run in a process of their own while a prover runs here."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from privopt.core.isolate import (
    GIVEN_BACK,
    SolverFailure,
    SolverTimeout,
    copied_incumbent,
    deaf_to_interrupts,
    describe,
    of_the_package,
    pack,
    read_incumbent,
)
from privopt.core.problem import Problem
from privopt.core.reformulation import propose
from privopt.core.solver import Budget, Candidate, Proposal, ran_out
from privopt.mechanisms import Mechanism

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor
    from threadpoolctl import threadpool_limits

STARTING = 1.5
"""Seconds that are not worth a process of its own: its start takes about as long."""
GRACE = 0.25
"""Seconds before the end of a search that its lane should have ended, and seconds past it that it is waited for."""

SEVERAL = 4.0
"""How many times its prediction a solver may take in a lane while others wait."""
CUT = 0.45
"""A run that took this share of its time, or more, may have been stopped before its end: some keep half of it for later."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Of the process of a lane: the other core has a prover."""

Outcome: TypeAlias = Proposal | SolverTimeout | SolverFailure
"""What a solver proposed, or why it did not."""

_Answer: TypeAlias = tuple[Outcome, float, bool]

_idle: list[ProcessPoolExecutor] = []
"""The process of an earlier lane, if it had ended its work."""


class _OneThread:
    """One thread for matrices in this process while any lane runs, of whichever solve; as before from the end of the last one on."""

    def __init__(self) -> None:
        self._lock, self._lanes = threading.Lock(), 0
        self._limits: threadpool_limits | None = None

    def begin(self) -> None:
        """With a lane."""
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._lanes == 0:
                self._limits = threadpool_limits(1, user_api="blas")
            self._lanes += 1

    def end(self) -> None:
        """With its end."""
        with self._lock:
            self._lanes -= 1
            if self._lanes == 0 and self._limits is not None:
                self._limits.restore_original_limits()


_threads = _OneThread()


def two_cores() -> bool:
    """Whether this process may use two cores or more.

    Examples
    --------
    >>> two_cores() in (True, False)
    True
    """
    try:
        return len(os.sched_getaffinity(0)) > 1
    except AttributeError:  # macOS and Windows do not say
        return (os.cpu_count() or 1) > 1


def may_run_beside(candidate: Candidate) -> bool:
    """Whether a solver may run in the lane: one of the package that polls the deadline."""
    return candidate.polls and of_the_package(candidate.solver)


@dataclass(frozen=True)
class Ended:
    """What came of one solver in the lane: its outcome, its seconds, and whether its time was up before its end."""

    candidate: Candidate
    outcome: Outcome
    seconds: float
    cut: bool = False


class Lane:
    """Solvers that run one after the other in one process of their own, until a deadline.

    Each has an equal share of the time that the deadline leaves, or several times its prediction if that is more; what one
    proposes is kept when a later one has to be ended. Nothing in here judges. While it runs, products and factorisations of
    matrices have one thread here, too: two that share what the lane leaves them wait for each other, for several times as long.

    Parameters
    ----------
    problem : Problem
    incumbent : Mechanism or None
        From which they start.
    seed : int
    """

    def __init__(self, problem: Problem[Any], incumbent: Mechanism | None, seed: int) -> None:
        self._problem, self._incumbent = problem, incumbent
        self._seed = seed
        self._sent: tuple[bytes, ProcessPoolExecutor] | None = None
        self._lock = threading.RLock()
        self._waiting: deque[Candidate] = deque()
        self._running: tuple[Candidate, Future[_Answer]] | None = None
        self._ended: list[Ended] = []
        self._deadline = math.inf
        self._later: threading.Timer | None = None

    def add(self, candidates: Sequence[Candidate], deadline: float, delay: float = 0.0) -> None:
        """Let candidates run, in this order, until a deadline on the clock of ``time.monotonic()``; the first after some seconds."""
        with self._lock:
            self._deadline = deadline
            self._waiting.extend(candidates)
            if self._running is None and delay > 0:
                self._later = threading.Timer(delay, self._begin_later)
                self._later.daemon = True
                self._later.start()
            elif self._running is None:
                self._begin()

    def _begin_later(self) -> None:
        with self._lock:
            if self._running is None:
                self._begin()

    def _begin(self) -> None:
        """Start the next; the lock is held."""
        self._running = None
        left = self._deadline - time.monotonic()
        if not self._waiting or left <= 0:
            return
        share = left / len(self._waiting)
        candidate = self._waiting.popleft()
        if candidate.seconds is not None and candidate.seconds < math.inf:
            share = min(left, max(share, SEVERAL * candidate.seconds))
        try:
            packed, (payload, executor) = pack(candidate.solver, candidate.solver), self._ready()
        except SolverFailure as cause:
            self._ended.append(Ended(candidate, cause, 0.0))
            return
        with deaf_to_interrupts():
            future = executor.submit(_run, payload, packed, time.time() + left, share, self._seed)
        self._running = (candidate, future)
        future.add_done_callback(partial(self._end_of, candidate))

    def _ready(self) -> tuple[bytes, ProcessPoolExecutor]:
        """What is sent, and the process; made for the first that begins, since a proof may have ended before that."""
        if self._sent is None:
            content = self._problem, copied_incumbent(self._incumbent)
            self._sent = pack(content, self._problem), _process()
            _threads.begin()
        return self._sent

    def _end_of(self, candidate: Candidate, future: Future[_Answer]) -> None:
        """Keep what one brought and start the next; called by a thread of the pool."""
        with self._lock:
            if self._running is None or self._running[1] is not future:
                return
            self._ended.append(_ended(candidate, future))
            self._begin()

    @property
    def names(self) -> frozenset[str]:
        """Solvers that wait or run in the lane."""
        with self._lock:
            running = () if self._running is None else (self._running[0],)
            return frozenset(c.name for c in (*running, *self._waiting))

    def finished(self) -> list[Ended]:
        """What has ended since the last call."""
        with self._lock:
            ended, self._ended = self._ended, []
            return ended

    def give_back(self) -> Candidate | None:
        """The next solver that has not begun, taken out of the lane, or None."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    @property
    def deadline(self) -> float:
        """When its solvers must have ended, on the clock of ``time.monotonic()``; past where there is none."""
        return self._deadline if self._deadline < math.inf else -math.inf

    @property
    def waiting(self) -> int:
        """How many solvers have not begun."""
        return len(self._waiting)

    def wait(self, deadline: float) -> list[Ended]:
        """What the lane has when the one that runs has ended, or by a deadline with a short grace."""
        with self._lock:
            running = self._running
        if running is not None:
            patience = max(0.0, deadline + GRACE - time.monotonic())
            wait([running[1]], None if patience == math.inf else patience)
        with self._lock:
            if self._running is not None and self._running[1].done():
                self._end_of(*self._running)
            late = SolverTimeout("did not stop at the deadline and its process was ended")
            left = [] if self._running is None else [Ended(self._running[0], late, 0.0)]
        return self.finished() + left

    def end(self) -> None:
        """Leave the process to the next lane if it has ended its work; else end it, whatever it does."""
        with self._lock:
            busy, self._running = self._running is not None, None
            self._waiting.clear()
        if self._later is not None:
            self._later.cancel()
        with self._lock:
            executor = None if self._sent is None else self._sent[1]
            self._sent = None
        if executor is None:
            return
        _threads.end()
        if busy or _idle:
            executor.shutdown(wait=True, kill_workers=True)
        else:
            _idle.append(executor)


@atexit.register
def _end_idle() -> None:
    while _idle:
        _idle.pop().shutdown(wait=True, kill_workers=True)


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_idle.clear)  # a copy of this process has no lane


def _process() -> ProcessPoolExecutor:
    """The process that an earlier lane left, or a new one."""
    from loky import ProcessPoolExecutor

    with contextlib.suppress(IndexError):
        return _idle.pop()
    return ProcessPoolExecutor(max_workers=1, timeout=300, env=ONE_THREAD | GIVEN_BACK)


def _ended(candidate: Candidate, future: Future[_Answer]) -> Ended:
    try:
        return Ended(candidate, *future.result())
    except Exception as cause:  # noqa: BLE001 - the process may die of anything; the reason is kept
        died = f"the process of the solver died: {describe(cause).partition('.')[0]}"
        return Ended(candidate, SolverFailure(died), 0.0)


def _run(payload: bytes, packed: bytes, until: float, share: float, seed: int) -> _Answer:
    """In the lane's process: one solver, for its share of the time, which ends at ``until`` on the clock of the wall."""
    import cloudpickle

    begun = time.monotonic()
    problem, copied = cloudpickle.loads(payload)
    start = read_incumbent(copied)
    seconds = min(share, until - time.time())
    outcome: Outcome
    try:
        outcome = propose(cloudpickle.loads(packed), problem, Budget(begun + seconds, seed, incumbent=start))
    except SolverFailure as cause:
        outcome = cause
    spent = time.monotonic() - begun
    stopped = isinstance(outcome, Proposal) and ran_out(outcome.stats)
    return outcome, spent, stopped or spent >= CUT * seconds

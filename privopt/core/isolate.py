"""Runs of solvers that are not believed: in a child process that is ended at the deadline."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import multiprocessing
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from privopt.core.folders import is_own
from privopt.core.problem import Problem
from privopt.core.solver import Budget, Proposal, Solver
from privopt.core.trace import Course
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.mechanisms import Mechanism, is_stored_kind, mechanism_from_dict

PATIENCE = 1.0
"""Seconds, at most, that starting the child may add to a deadline."""
STARTING = 60.0
"""Seconds after which a child that is not ready is ended."""
START = "start_seconds"
"""The statistic of a run in a process of its own: the seconds until that was ready, with the packages of the solver imported."""
MOST_STORED = 2**21
"""Bytes of a pickled incumbent, some 10^5 records, above which it is not brought into its stored form: that would take seconds."""
RETURNING = 0.25
"""Seconds after its deadline in which a child that polls it may still hand over what it has."""
IDLE = 300
"""Seconds after which a child that has nothing to do ends."""


class SolverTimeout(Exception):
    """The solver had to be ended at the deadline."""


class SolverFailure(Exception):
    """The solver raised, or its process died; the text says how."""


GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "1048576"}
"""Of a child: large arrays go back to the system when they are done with (GNU libc). loky starts a child anew that seems to have grown."""

_last_used: list[float] = []
"""When the child that waits for the next solver, if there is one, last ended a run, on the monotonic clock."""

_isolated: ContextVar[bool] = ContextVar("isolated", default=False)


@contextlib.contextmanager
def already_isolated() -> Iterator[None]:
    """Within it, solvers of the package run here whether or not they poll the deadline.

    For a process that runs one task and is ended at its deadline by another one. Solvers from outside the
    package still get a process of their own: they are not trusted with the objects of the caller.
    """
    token = _isolated.set(True)
    try:
        yield
    finally:
        _isolated.reset(token)


def is_isolated() -> bool:
    """Whether this is a process for one task; see :func:`already_isolated`."""
    return _isolated.get()


def may_have_children() -> bool:
    """Whether this process may start others: a daemonic one, such as a worker of a Dask cluster, may not.

    Examples
    --------
    >>> may_have_children()
    True
    """
    return not multiprocessing.current_process().daemon


def child_is_ready() -> bool:
    """Whether a child process of an earlier run waits for the next solver, which then need not wait for its start.

    Examples
    --------
    >>> child_is_ready() in (True, False)
    True
    """
    return bool(_last_used) and time.monotonic() - _last_used[-1] < IDLE / 2


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Within it, processes that are started never see Ctrl+C: whoever started them hears it and ends them.

    A terminal sends an interrupt to all processes at once; one that is still importing would print a traceback. The mask is
    inherited; what arrives meanwhile is raised here at the end. On Windows nothing is masked.

    Raises
    ------
    KeyboardInterrupt
        At the end, if an interrupt arrived within.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # starting it takes the mask away
    with _interrupt_at_the_end():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _interrupt_at_the_end() -> Iterator[None]:
    """A mask is a thread's own, and another thread may take the signal: in the main thread its handler waits, too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if arrived:
        signal.raise_signal(signal.SIGINT)


def run_guarded(solver: Solver[Any], problem: Problem[Any], budget: Budget) -> Proposal:
    """Run a solver and return what it proposes, whatever it does to itself.

    Solvers of the package that poll the deadline run here; every other one in a child process, which
    cannot change its input for the caller, print, or outlive the deadline.

    Raises
    ------
    SolverTimeout
        If it was ended at the deadline.
    SolverFailure
        If it raised, died, or returned something else than a Proposal.
    """
    run = _run_here if believed(solver, problem) else _run_in_child
    proposal = run(solver, problem, budget)
    if not isinstance(proposal, Proposal):
        raise SolverFailure(f"run returned {type(proposal).__name__}, not a Proposal")
    return proposal


def believed(solver: Solver[Any], problem: Problem[Any]) -> bool:
    """Whether a solver may run in this process: one of the package that polls the deadline on this problem."""
    return of_the_package(solver) and (_isolated.get() or solver.polls(problem))


def of_the_package(solver: Solver[Any]) -> bool:
    """Whether a solver is one of the package, whose word on polling the deadline is taken."""
    return _of_the_package(type(solver).__module__)


@cache
def _of_the_package(module: str) -> bool:
    return module.startswith("privopt.solvers.") and not is_own(module)


def _run_here(solver: Solver[Any], problem: Problem[Any], budget: Budget) -> object:
    try:
        return solver.run(problem, budget)
    except Exception as cause:
        raise SolverFailure(describe(cause)) from cause


def describe(error: BaseException) -> str:
    """An exception as one sentence."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def copied_incumbent(mechanism: Mechanism | None, stored: bool = False) -> bytes | None:
    """The mechanism that a solver in a process of its own starts from, pickled; None, too, where it cannot be.

    ``stored`` for a solver from outside: it sees what a file would hold, and nothing else of the caller. Millions of
    numbers, whose stored form takes seconds, and mechanisms of a kind of one's own stay as they are.

    Examples
    --------
    >>> from privopt.mechanisms import RedactionMechanism
    >>> mechanism = RedactionMechanism([[1, 1], [0.5, 1]])
    >>> read_incumbent(copied_incumbent(mechanism, stored=True)) == mechanism
    True
    """
    if mechanism is None:
        return None
    try:
        pickled = pack(mechanism, mechanism)
    except SolverFailure:
        return None
    if not stored or len(pickled) > MOST_STORED or not is_stored_kind(mechanism):
        return pickled
    try:
        return pack(mechanism.to_dict())
    except (InvalidMechanism, InvalidProblem):  # such as a query that is a function
        return pickled


def read_incumbent(copied: bytes | None) -> Mechanism | None:
    """In the child: what :func:`copied_incumbent` packed."""
    import cloudpickle

    if copied is None:
        return None
    content = cloudpickle.loads(copied)
    mechanism: Mechanism = mechanism_from_dict(content) if isinstance(content, dict) else content
    return mechanism


def _run_in_child(solver: Solver[Any], problem: Problem[Any], budget: Budget) -> object:
    if not may_have_children():
        raise SolverFailure(
            "it needs a process of its own, and this one is daemonic: it may not start another"
        )
    import cloudpickle
    from loky import get_reusable_executor
    from loky.process_executor import BrokenProcessPool

    payload = pack((solver, problem), solver, problem)
    copied = copied_incumbent(budget.incumbent, stored=not of_the_package(solver))
    begun = time.monotonic()
    executor = get_reusable_executor(max_workers=1, timeout=IDLE, env=GIVEN_BACK)
    _last_used.clear()
    try:
        with deaf_to_interrupts():
            started = executor.submit(_start, tuple(solver.requires))
        if not _ready(started, budget):
            raise SolverTimeout("its process was not ready at the deadline")
        start = time.monotonic() - begun
        late = max(0.0, time.monotonic() - budget.deadline)
        allowed = budget.remaining + min(PATIENCE - late, time.monotonic() - begun)
        future: Future[tuple[bool, bytes | str]] = executor.submit(
            _child, payload, allowed, budget.seed, copied
        )
        ok, answer = future.result(timeout=None if math.isinf(allowed) else allowed + RETURNING)
    except FutureTimeout as cause:
        executor.shutdown(wait=True, kill_workers=True)
        raise SolverTimeout("did not stop at the deadline and its process was ended") from cause
    except KeyboardInterrupt:
        executor.shutdown(wait=True, kill_workers=True)
        raise
    except BrokenProcessPool as cause:
        raise SolverFailure("the process of the solver died: " + describe(cause).partition(".")[0]) from cause
    _last_used.append(time.monotonic())
    if not ok:
        raise SolverFailure(str(answer))
    proposal, messages = cloudpickle.loads(answer) if isinstance(answer, bytes) else (answer, ())
    for message in messages:
        budget.progress(0.0, message)
    if isinstance(proposal, Proposal):
        return replace(proposal, stats={**proposal.stats, START: start})
    return proposal


def pack(content: object, *holders: object) -> bytes:
    """Pickle, with the code of the holders' classes where a fresh process could not import it."""
    import cloudpickle

    modules = {type(holder).__module__ for holder in holders}
    by_value = [sys.modules[name] for name in modules if not _importable(name)]
    for module in by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(content))
    except Exception as cause:
        raise SolverFailure(f"cannot be sent to a process of its own: {describe(cause)}") from cause
    finally:
        for module in by_value:
            cloudpickle.unregister_pickle_by_value(module)


def _importable(name: str) -> bool:
    """Whether a module belongs to the package or to the installed libraries."""
    if name == "__main__" or name.startswith("privopt."):
        return True  # cloudpickle sends __main__ by value by itself
    origin = getattr(sys.modules[name], "__file__", None)
    installed = [Path(sysconfig.get_path(key)).resolve() for key in ("purelib", "platlib", "stdlib")]
    return origin is None or any(Path(origin).resolve().is_relative_to(place) for place in installed)


def _ready(started: Future[None], budget: Budget) -> bool:
    """Whether the child is ready, a little past the deadline at the latest.

    One that is not goes on for the next solver, whose packages are often the same, unless it has taken very long.
    """
    allowed = min(budget.remaining + PATIENCE, STARTING)
    if wait([started], allowed).done:
        started.result()
        return True
    if allowed == STARTING:
        raise FutureTimeout
    return False


def _start(packages: Sequence[str]) -> None:
    """In the child: import what a solver needs, which is no part of its time; what fails shows when it runs."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for package in packages:
            with contextlib.suppress(ImportError):
                importlib.import_module(package)


def _child(payload: bytes, seconds: float, seed: int, copied: bytes | None) -> tuple[bool, bytes | str]:
    """In the child: run with prints thrown away; what was reached on the way comes back too, exceptions as text."""
    import cloudpickle

    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            solver, problem = cloudpickle.loads(payload)
            start = read_incumbent(copied)
            course = Course()
            budget = Budget(time.monotonic() + seconds, seed, course, incumbent=start)
            return True, bytes(cloudpickle.dumps((solver.run(problem, budget), course.messages)))
    except BaseException as cause:  # noqa: BLE001 - SystemExit too: the reason is sent to the parent
        return False, describe(cause)

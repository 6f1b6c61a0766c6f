"""A second lane of a search: improvers that run in a process of their own while a prover runs here."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from privopt.core.isolate import SolverFailure, SolverTimeout, believed, describe, pack
from privopt.core.problem import Problem
from privopt.core.reformulation import propose
from privopt.core.solver import Budget, Candidate, Proposal
from privopt.mechanisms import Mechanism

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

STARTING = 1.5
"""Seconds that are not worth a process of its own: its start takes about as long."""
GRACE = 0.25
"""Seconds before the end of a search that its lane should have ended, and seconds past it that it is waited for."""


Outcome: TypeAlias = Proposal | SolverTimeout | SolverFailure
"""What a solver proposed, or why it did not."""

_idle: list[ProcessPoolExecutor] = []
"""The process of an earlier lane, if it had ended its work."""


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
    return believed(candidate.solver) and candidate.solver.interruptible


@dataclass
class Entry:
    """One solver in the lane."""

    candidate: Candidate
    future: Future[tuple[Outcome, float]]


class Lane:
    """Solvers that run one after the other in one process of their own, until a deadline.

    Each has the time that the deadline leaves, the last one all of it; what one proposes is kept when a later one has to
    be ended. Nothing in here judges.

    Parameters
    ----------
    problem : Problem
    incumbent : Mechanism or None
        From which they start.
    seed : int
    """

    def __init__(self, problem: Problem[Any], incumbent: Mechanism | None, seed: int) -> None:
        self._payload = pack((problem, None if incumbent is None else incumbent.to_dict()), problem)
        self._seed = seed
        self._executor: ProcessPoolExecutor = _idle.pop() if _idle else _process()
        self._entries: list[Entry] = []

    def add(self, candidates: Sequence[Candidate], deadline: float) -> None:
        """Let candidates run, in this order, until a deadline on the clock of ``time.monotonic()``."""
        until = time.time() + (deadline - time.monotonic())
        for i, c in enumerate(candidates):
            arguments = (self._payload, pack(c.solver, c.solver), until, len(candidates) - i, self._seed)
            self._entries.append(Entry(c, self._executor.submit(_run, *arguments)))

    @property
    def names(self) -> frozenset[str]:
        """Solvers that wait or run in the lane."""
        return frozenset(e.candidate.name for e in self._entries)

    def finished(self) -> list[tuple[Candidate, Outcome, float]]:
        """What has ended since the last call: the proposal or the reason why there is none, and its seconds."""
        ended = [e for e in self._entries if e.future.done()]
        self._entries = [e for e in self._entries if not e.future.done()]
        return [(e.candidate, *_answer(e.future)) for e in ended]

    def give_back(self) -> Candidate | None:
        """The last solver that has not begun, taken out of the lane, or None."""
        for entry in reversed(self._entries):
            if entry.future.cancel():
                self._entries.remove(entry)
                return entry.candidate
        return None

    def wait(self, deadline: float) -> list[tuple[Candidate, Outcome, float]]:
        """What the lane has by a deadline, with a short grace."""
        for e in self._entries:
            wait([e.future], max(0.0, deadline + GRACE - time.monotonic()))
        answers = self.finished()
        late = SolverTimeout("did not stop at the deadline and its process was ended")
        return answers + [(e.candidate, late, 0.0) for e in self._entries]

    def end(self) -> None:
        """Leave the process to the next lane if it has ended its work; else end it, whatever it does."""
        if all(e.future.done() for e in self._entries) and not _idle:
            _idle.append(self._executor)
        else:
            self._executor.shutdown(wait=True, kill_workers=True)
        self._entries = []


def _process() -> ProcessPoolExecutor:
    from loky import ProcessPoolExecutor

    return ProcessPoolExecutor(max_workers=1, timeout=300)


def _answer(future: Future[tuple[Outcome, float]]) -> tuple[Outcome, float]:
    try:
        return future.result()
    except Exception as cause:  # noqa: BLE001 - the process may die of anything; the reason is kept
        return SolverFailure(f"the process of the solver died: {describe(cause).partition('.')[0]}"), 0.0


def _run(payload: bytes, packed: bytes, until: float, shares: int, seed: int) -> tuple[Outcome, float]:
    """In the lane's process: one solver, with an equal share of the time that is left."""
    import cloudpickle

    from privopt.mechanisms.load import mechanism_from_dict

    begun = time.monotonic()
    stored: Mapping[str, Any] | None
    problem, stored = cloudpickle.loads(payload)
    start = None if stored is None else mechanism_from_dict(stored)
    deadline = begun + (until - time.time()) / shares
    try:
        proposal = propose(cloudpickle.loads(packed), problem, Budget(deadline, seed, incumbent=start))
    except SolverFailure as cause:
        return cause, time.monotonic() - begun
    return proposal, time.monotonic() - begun

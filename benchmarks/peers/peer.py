"""Peers: functions that do the work of a problem with another tool, and what one does inside its process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar

from privopt.benchmarks.catalogue import Catalogue
from privopt.core.certificate import Certificate
from privopt.core.dispatch import solve
from privopt.core.isolate import already_isolated, describe
from privopt.core.problem import Evaluation, Problem
from privopt.errors import InvalidMechanism
from privopt.files.load import problem_from_dict
from privopt.files.numbers import decode_float, encode_float
from privopt.mechanisms import Mechanism


@dataclass(frozen=True)
class PeerAnswer:
    """What a peer made of a problem, as it came out of the tool.

    Parameters
    ----------
    mechanism : Mechanism
        Rebuilt from the tool's numbers with no repair.
    claimed : float or None
        The objective the tool says it reached, in the sense of the problem (larger is better); None if it says none.
    """

    mechanism: Mechanism
    claimed: float | None = None


Work: TypeAlias = Callable[[Any, float], PeerAnswer]
"""Does the work of a problem within some seconds; whatever it raises becomes the reason of its row."""
Fits: TypeAlias = Callable[[Any], str | None]
"""Why a peer does not take a problem, in a sentence; None if it does."""


def _takes_all(problem: Problem[Any]) -> str | None:
    """Take everything."""
    return None


@dataclass(frozen=True)
class Peer:
    """A tool at work on one kind of problem; ``requires`` are the modules that it needs."""

    kind: str
    name: str
    work: Work
    requires: tuple[str, ...] = ()
    fits: Fits = _takes_all

    @property
    def key(self) -> str:
        """Problem and name."""
        return f"{self.kind}/{self.name}"

    def refusal(self, problem: Problem[Any]) -> str | None:
        """Why it cannot be asked: a package that is absent, or a problem of another shape; None if it can."""
        absent = [name for name in self.requires if find_spec(name) is None]
        if absent:
            return f"package {', '.join(absent)} is not installed; pip install 'privopt[peers]'"
        return self.fits(problem)


_CATALOGUE = Catalogue[Peer]("a peer", "privopt.benchmarks.peers.tools")


def register_peer(
    kind: str, name: str, requires: tuple[str, ...] = (), fits: Fits = _takes_all
) -> Callable[[Work], Work]:
    """Decorate the function that does the work.

    Raises
    ------
    ValueError
        If the problem has a peer of that name.
    """

    def enter(work: Work) -> Work:
        peer = Peer(kind, name, work, requires, fits)
        _CATALOGUE.add(peer.key, peer)
        return work

    return enter


def peers() -> dict[str, Peer]:
    """Every registered peer by "problem/name", in that order.

    Examples
    --------
    >>> "boundary_colouring/networkx" in peers()
    True
    """
    return _CATALOGUE.items()


def find_peer(key: str) -> Peer:
    """The peer of that "problem/name".

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    return _CATALOGUE.find(key)


T = TypeVar("T")
Send: TypeAlias = Callable[[Mapping[str, Any]], None]
Copies: TypeAlias = Callable[[], Problem[Any]]
"""Gives a fresh copy of a problem, in which nothing is remembered."""

SHORT, RUNS, PATIENCE = 0.1, 3, 1.0
"""Seconds below which work is repeated, how often it then runs, and seconds after which, copying included, it is not."""


def peer_work(task: Mapping[str, Any], send: Send) -> None:
    """Run one task of :func:`privopt.benchmarks.peers.run.task_of`; three phases are told: ours, answered, judged.

    Both tools answer an easy problem first, so that neither pays for imports; each then gets a fresh copy of
    the problem, so that neither profits from what the other computed.
    """
    peer, limit = find_peer(task["peer"]), task["time_limit"]
    easy, hard = partial(_problem, task["easy"]), partial(_problem, task["hard"])
    with already_isolated():
        solve(easy(), time_limit=limit)
        attempt(peer, easy, limit)
        send({"ours": ours(hard, limit)})
        mechanism, told = attempt(peer, hard, limit)
        send(told)
    if mechanism is not None:
        send({"judged": judged(hard(), mechanism)})


def _problem(record: Mapping[str, Any]) -> Problem[Any]:
    return problem_from_dict(record["problem"]).with_budget(decode_float(record["budget"]))


def ours(copies: Copies, limit: float) -> dict[str, Any]:
    """Seconds of ``solve``, its certificate included, and what it reached."""
    solution, seconds = timed(lambda problem: solve(problem, time_limit=limit), copies)
    return {
        "seconds": seconds,
        "objective": _written(solution.objective),
        "certified": solution.certified,
        "status": solution.status.name,
        "solver": solution.solver or "",
    }


def attempt(peer: Peer, copies: Copies, limit: float) -> tuple[Mechanism | None, dict[str, Any]]:
    """The mechanism that a peer brings, and its seconds and claim; or None, and why."""
    try:
        answer, seconds = timed(lambda problem: peer.work(problem, limit), copies)
    except Exception as cause:  # noqa: BLE001 - a foreign tool may raise anything; the reason becomes its row
        return None, {"fault": describe(cause)}
    return answer.mechanism, {"seconds": seconds, "claimed": _written(answer.claimed)}


def timed(work: Callable[[Problem[Any]], T], copies: Copies) -> tuple[T, float]:
    """The first result, and seconds: the median of a few runs, each with a fresh copy, where one is short."""
    readings: list[float] = []
    results: list[T] = []
    started = time.perf_counter()
    while not readings or (
        readings[0] < SHORT and len(readings) < RUNS and time.perf_counter() - started < PATIENCE
    ):
        problem = copies()
        begun = time.perf_counter()
        results.append(work(problem))
        readings.append(time.perf_counter() - begun)
    return results[0], statistics.median(readings)


def judged(problem: Problem[Any], raw: Mechanism) -> dict[str, Any]:
    """What the problem reads of a raw mechanism in floats, and whether its integer form is proved to keep the budget.

    Examples
    --------
    >>> from privopt.mechanisms import Channel
    >>> from privopt.problems.belief_release.problem import BeliefRelease
    >>> judgement = judged(BeliefRelease([0.5, 0.5], 1.0), Channel([[1, 0], [0, 1]]))
    >>> judgement["proved"], judgement["excess"]
    (False, 'inf')
    """
    try:
        mechanism = problem.check(raw)
    except InvalidMechanism as cause:
        return {"fault": f"no mechanism of this problem: {cause}"}
    reading = problem.evaluate(mechanism)
    certificate = problem.certify(mechanism.quantised())
    return {
        "objective": _written(reading.objective),
        "leakage": _written(reading.leakage),
        "excess": _written(reading.violation),
        "proved": certificate.ok,
        "where": _where(certificate, reading),
    }


def _where(certificate: Certificate, reading: Evaluation) -> str:
    """Why a mechanism is not proved, and where it leaks most."""
    why = "" if certificate.ok else f"{certificate.reason}; "
    return f"{why}worst pair {reading.worst!r} {reading.where}".strip() if reading.worst else why.strip("; ")


def _written(value: float | None) -> float | str | None:
    return None if value is None else encode_float(float(value))

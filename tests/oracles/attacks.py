"""Hostile mechanisms judged and hostile problems solved; what comes is compared with exact arithmetic and with itself."""

from __future__ import annotations

import math
import re
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import numpy as np
from flint import ctx

import privopt as po
from oracles import claims, hostile, hostile_sets
from oracles.documents import Json, Undecided
from privopt.core.judge import judge
from privopt.core.solver import Guarantee, Proposal
from privopt.errors import ContradictionWarning, PrivoptError

T = TypeVar("T")

PATIENCE = 20
"""Seconds of processor time after which judging one mechanism hangs."""
ASLEEP = 10
"""As many times longer it may take by the clock, beside other work."""
LIMIT, LATE = 1.0, 30.0
"""Seconds that solving may take, and by how many it may be late before it hangs."""
CLOSE = 1e-9
"""Of the objective, by which a certified one may be above another's bound: both are read in floats."""
FOREIGN = re.compile(
    r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt)\b|cannot be judged|process of the solver died"
)
"""Reasons of failures that are no sentences of the library."""
MECHANISMS = 25
"""For each problem."""


@dataclass
class Tally:
    """What was tried, and what must be 0, named by seeds."""

    problems: int = 0
    mechanisms: int = 0
    refused: int = 0
    certified: int = 0
    decided: int = 0
    solved: int = 0
    slowest: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    above: list[str] = field(default_factory=list)
    nan: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """All that must not be."""
        return [*self.above, *self.nan, *self.hangs, *self.foreign, *self.contradictions]


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Alarms after some seconds of processor time and after many by the clock, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds} s")

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, ASLEEP * seconds),
    }
    before = {number: signal.signal(number, ring) for number in timers}
    for which, after in timers.values():
        signal.setitimer(which, after)
    try:
        yield
    finally:
        for number, (which, _) in timers.items():
            signal.setitimer(which, 0)
            signal.signal(number, before[number])


def _tried(tally: Tally, told: str, act: Callable[[], T], seconds: int = PATIENCE) -> T | None:
    """What an act returns; what it raises is counted, and None then."""
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings(), limited(seconds):
            warnings.simplefilter("error")
            return act()
    except PrivoptError:
        tally.refused += 1
    except TimeoutError as cause:
        tally.hangs.append(f"{told}: {cause}")
    except ContradictionWarning as cause:
        tally.contradictions.append(f"{told}: {cause}")
    except Exception as cause:  # noqa: BLE001 - whatever else is raised is what is looked for
        tally.foreign.append(f"{told}: {type(cause).__name__}: {str(cause)[:200]}")
    finally:
        tally.slowest = max(tally.slowest, time.perf_counter() - begun)
    return None


def _examined(tally: Tally, told: str, members: Sequence[Json], solution: po.Solution[Any]) -> None:
    """Count what is wrong with a judged or found answer."""
    tally.statuses[solution.status.name] += 1
    numbers = (solution.utility, solution.leakage, solution.objective, solution.bound, solution.gap)
    if any(x is not None and math.isnan(x) for x in numbers):
        tally.nan.append(f"{told}: {numbers}")
    if not solution.status.ok:
        if FOREIGN.search(solution.reason):
            tally.foreign.append(f"{told}: {solution.reason[:200]}")
        return
    if not solution.certified:
        return
    tally.certified += 1
    private = _is_private(members, solution.mechanism)
    tally.decided += private is not None
    if private is False:
        tally.above.append(f"{told}: certified, and exact arithmetic says no")


def _members(problem: po.Problem[Any]) -> list[Json]:
    """What a problem is decided at: its document, or those at some members of its set; the same for all of its mechanisms."""
    return list(hostile_sets.members(problem, np.random.default_rng(0))) or [problem.to_dict()]


def _is_private(members: Sequence[Json], mechanism: po.Mechanism) -> bool | None:
    """Whether exact arithmetic finds a mechanism private; over a set at some of its members, as it is at all of them."""
    answer = mechanism.to_dict()
    found = [_decided(fields, answer) for fields in members]
    return False if False in found else None if None in found else True


def _decided(problem: Json, mechanism: Json) -> bool | None:
    """The same for a document; digits are added before it may say that a mechanism is not private."""
    private: bool | None = None
    for bits in (256, 4096):
        with ctx.workprec(bits):
            claims.forget()
            try:
                private = claims.truth(problem, mechanism).private
            except (Undecided, *claims.MALFORMED):
                return None
        if private is not False:
            break
    return private


def _of(seed: int) -> tuple[str, np.random.Generator, hostile.Build]:
    rng = np.random.default_rng(seed)
    names = hostile.kinds() + hostile_sets.kinds()
    kind = names[seed % len(names)]
    return kind, rng, hostile_sets.problem(kind, rng)


def judged(count: int, first: int = 0, tally: Tally | None = None) -> Tally:
    """Judge mechanisms for problems first, first + 1, ... until there were so many."""
    tally = tally or Tally()
    seed, goal = first, tally.mechanisms + count
    while tally.mechanisms < goal:
        told = f"judged {seed}"
        kind, rng, build = _of(seed)
        seed += 1
        problem = _tried(tally, f"{told} {kind}", build)
        tally.problems += 1
        if problem is None:
            continue
        members = _members(problem)
        for number in range(min(MECHANISMS, goal - tally.mechanisms)):
            name = f"{told}.{number} {kind}"
            tally.mechanisms += 1
            make = _tried(tally, name, partial(hostile.mechanism, rng, problem))
            made = None if make is None else _tried(tally, name, make)
            if made is None:
                continue
            solution = _tried(tally, name, partial(judge, problem, Proposal(made), certify=True))
            if solution is not None:
                _examined(tally, name, members, solution)
    return tally


def solved(count: int, first: int = 0, tally: Tally | None = None) -> Tally:
    """Solve problems first .. first + count - 1 by ``solve`` and by two solvers by name, and compare what they say."""
    tally = tally or Tally()
    for seed in range(first, first + count):
        kind, rng, build = _of(seed)
        told = f"solved {seed} {kind}"
        problem = _tried(tally, told, build)
        tally.solved += 1
        if problem is None:
            continue
        answers: list[po.Solution[Any]] = []
        members = _members(problem)
        for name in (None, *_some(tally, told, problem, rng)):
            begun = time.perf_counter()
            act = partial(po.solve, problem, name, time_limit=LIMIT)
            solution = _tried(tally, f"{told} {name}", act, int(LIMIT + 2 * LATE))
            if solution is None:
                continue
            if time.perf_counter() - begun > LIMIT + LATE:
                tally.hangs.append(f"{told} {name}: {time.perf_counter() - begun:.0f} s")
            _examined(tally, f"{told} {name}", members, solution)
            answers.append(solution)
        _compare(tally, told, answers)
    return tally


def _some(tally: Tally, told: str, problem: po.Problem[Any], rng: np.random.Generator) -> list[str]:
    """Two solvers of a problem by name; published ones may break their promise."""
    known = _tried(tally, told, partial(po.candidates, problem)) or ()
    failed = [c for c in known if c.refusal is not None and c.refusal.startswith("its own check failed")]
    tally.foreign.extend(f"{told} {c.name}: {c.refusal[:200]}" for c in failed if c.refusal is not None)
    names = [c.name for c in known if c.refusal is None and c.guarantee is not Guarantee.BASELINE]
    return [str(name) for name in rng.permutation(names)[:2]]


def _compare(tally: Tally, told: str, answers: list[po.Solution[Any]]) -> None:
    best = max(
        (a.objective for a in answers if a.status.ok and a.certified and a.objective is not None),
        default=-math.inf,
    )
    least = min((a.bound for a in answers if a.bound is not None), default=math.inf)
    impossible = any(a.status is po.Status.INFEASIBLE for a in answers)
    if best > least + CLOSE * max(1.0, abs(least)) or (impossible and best > -math.inf):
        tally.contradictions.append(f"{told}: certified {best!r}, bound {least!r}, infeasible {impossible}")

"""A process that answers cases: ``python -m privopt.benchmarks.regret.worker`` reads tasks and writes answers, as JSON lines.

Nothing here is isolated or simplified: a run is what a user who calls :func:`privopt.solve` sees, second process and all.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import resource
import sys
import time
from collections.abc import Mapping
from typing import Any

from privopt.benchmarks.regret.rows import ANCHOR, SOLVE, Run
from privopt.benchmarks.runner.case import find_case, forget
from privopt.core.dispatch import candidates, solve
from privopt.core.problem import Problem
from privopt.core.solution import Solution
from privopt.core.solver import Guarantee

WARMING = 0.3
"""Seconds that each solver has for a small example before its first run, so that no run pays for imports."""
EXAMPLES = 2
LATE = 20.0
"""Seconds past its limit after which a run writes down where it is."""
STUCK = "late: where it is"
_warm: set[tuple[str, str]] = set()


def _warm_up(problem: Problem[Any], solver: str) -> None:
    if (problem.kind, solver) in _warm:
        return
    _warm.add((problem.kind, solver))
    name = None if solver == SOLVE else solver
    for example in type(problem).examples()[:EXAMPLES]:
        solve(example.problem, name, time_limit=WARMING)


def run(task: Mapping[str, Any]) -> Run:
    """One run, on a problem that was built for it, of which nothing is known yet."""
    problem = find_case(task["case"]).make()
    name = task["solver"]
    _warm_up(problem, name)
    forget()
    print(STUCK, file=sys.stderr, flush=True)
    faulthandler.dump_traceback_later(task["limit"] + LATE, file=sys.stderr)
    try:
        begun = time.monotonic()
        answer = solve(problem, None if name == SOLVE else name, time_limit=task["limit"])
        seconds = time.monotonic() - begun
    finally:
        faulthandler.cancel_dump_traceback_later()
    return _row(task, problem, answer, seconds)


def _row(task: Mapping[str, Any], problem: Problem[Any], answer: Solution[Any], seconds: float) -> Run:
    ok = answer.status.ok
    return Run(
        case=task["case"],
        solver=task["solver"],
        limit=task["limit"],
        repetition=task["repetition"],
        status=answer.status.name,
        reason=answer.reason,
        winner=answer.solver,
        objective=answer.objective if ok else None,
        bound=answer.bound,
        scale=problem.scale(answer) if ok else 1.0,
        certified=answer.certified,
        seconds=seconds,
        paired=task["paired"],
    )


def survey(task: Mapping[str, Any]) -> Run:
    """What a case is about: its anchor, the solvers that take it but no oracles, and the seconds that asking took."""
    begun = time.monotonic()
    problem = find_case(task["case"]).make()
    building = time.monotonic() - begun
    begun = time.monotonic()
    listed = candidates(problem)
    asking = time.monotonic() - begun
    reading = problem.evaluate(problem.anchor())
    takers = [c.name for c in listed if c.refusal is None and c.guarantee is not Guarantee.ORACLE]
    return Run(
        case=task["case"],
        solver=ANCHOR,
        limit=building,
        repetition=0,
        status="FEASIBLE" if reading.feasible else "FAILED",
        reason=" ".join(takers),
        winner=ANCHOR,
        objective=reading.objective if reading.feasible else None,
        bound=None,
        scale=problem.scale(reading),
        certified=False,
        seconds=asking,
    )


def main() -> None:
    """Answer tasks until the input ends, in the bytes of memory given; what solvers print is thrown away."""
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers, open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        with contextlib.redirect_stdout(nowhere):
            for line in sys.stdin:
                task = json.loads(line)
                row = survey(task) if task["solver"] == ANCHOR else run(task)
                print(json.dumps(row.to_dict(), allow_nan=False), file=answers, flush=True)


if __name__ == "__main__":
    main()

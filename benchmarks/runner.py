"""The runner: a suite becomes tasks, a task becomes a row. Nothing that happens in a task stops a run."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import privopt
from privopt._dispatch import solve
from privopt._files import parse_json
from privopt._problem import Problem
from privopt._registry import solvers_of
from privopt._solution import Solution, Status
from privopt._verify import verify
from privopt.benchmarks._rows import Row
from privopt.benchmarks._suites import Instance, Suite
from privopt.errors import PrivoptError


@dataclass(frozen=True)
class Task:
    """One run to make: pure data, so that it can be sent elsewhere or skipped if its row is known."""

    suite: str
    instance: Instance
    solver: str
    budget: float
    time_limit: float
    seed: int


@dataclass(frozen=True)
class Outcome:
    """A task with its row, and the solution where solving did not raise."""

    task: Task
    row: Row
    solution: Solution[Any] | None


def tasks_of(suite: Suite, *, seed: int = 0, time_limit: float | None = None) -> tuple[Task, ...]:
    """Instances x budgets x registered solvers of the question.

    Examples
    --------
    >>> from privopt.benchmarks._suites import find_suite
    >>> len({task.budget for task in tasks_of(find_suite("quick"))})
    6
    """
    limit = suite.time_limit if time_limit is None else time_limit
    return tuple(
        Task(suite.name, instance, solver, budget, limit, seed)
        for instance in suite.instances()
        for budget in suite.budgets
        for solver in solvers_of(type(instance.problem))
    )


def run_tasks(tasks: Sequence[Task]) -> Iterator[Outcome]:
    """Warm up, then run the tasks in order, yielding each outcome as it comes."""
    warm_up(tasks)
    for task in tasks:
        yield run_task(task)


def warm_up(tasks: Iterable[Task]) -> None:
    """Run every solver once on the easiest example of its question, so that no row pays for imports."""
    pairs = {(type(task.instance.problem), task.solver) for task in tasks}
    for kind, solver in sorted(pairs, key=lambda pair: (pair[0].__name__, pair[1])):
        for example in kind.examples()[:1]:
            solve(example.problem, solver, time_limit=5.0)


def run_task(task: Task) -> Outcome:
    """Solve, judge, certify and verify one task; misuse and bad data become a failed row."""
    begun = time.monotonic()
    try:
        problem = task.instance.problem.with_budget(task.budget)
        solution = solve(problem, task.solver, time_limit=task.time_limit, seed=task.seed)
    except PrivoptError as cause:
        failed = Solution[Any](Status.FAILED, reason=str(cause), seconds=time.monotonic() - begun)
        return Outcome(task, _row(task, failed, False), None)
    fault = _fault(problem, solution)
    return Outcome(task, _row(task, solution, fault == "", fault), solution)


def _fault(problem: Problem[Any], solution: Solution[Any]) -> str:
    """Why the certified claim of a solution does not hold when it is read back; empty if it does."""
    if not solution.certified:
        return "not certified"
    try:
        stored = parse_json(json.dumps(solution.to_dict(), allow_nan=False), "the stored solution")
        again = verify(problem, Solution.from_dict(stored))
    except PrivoptError as cause:
        return f"the stored solution cannot be verified: {cause}"
    return "" if again.ok else f"the stored solution does not verify: {again.reason}"


def _row(task: Task, solution: Solution[Any], verified: bool, fault: str = "") -> Row:
    stats = solution.stats
    margin, iterations = stats.get("repaired", 0.0), stats.get("iterations")
    return Row(
        key="",
        suite=task.suite,
        question=task.instance.problem.kind,
        family=task.instance.family,
        instance=task.instance.name,
        size=task.instance.size,
        fingerprint=solution.problem,
        solver=task.solver,
        budget=task.budget,
        status=solution.status.name,
        reason=solution.reason or (fault if solution.certified else ""),
        utility=solution.utility,
        leakage=solution.leakage,
        objective=solution.objective,
        bound=solution.bound,
        gap=solution.gap,
        certified=solution.certified,
        verified=verified,
        repaired=isinstance(margin, float) and margin > 0,
        raw_leakage=_figure(stats.get("raw_leakage")),
        utility_lost=_figure(stats.get("utility_lost_by_repair")),
        seconds=solution.seconds,
        cold_seconds=None,
        peak_memory=None,
        iterations=iterations if isinstance(iterations, int) else None,
        guarantee="" if solution.guarantee is None else solution.guarantee.name,
        seed=task.seed,
        time_limit=task.time_limit,
        privopt=privopt.__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        libraries="",
    )


def _figure(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


Listener = Callable[[Outcome], None]


def run_suite(
    suite: Suite, *, seed: int = 0, time_limit: float | None = None, listener: Listener | None = None
) -> tuple[Outcome, ...]:
    """Run every task of a suite; the listener is told each outcome as it comes."""
    found = []
    for outcome in run_tasks(tasks_of(suite, seed=seed, time_limit=time_limit)):
        if listener is not None:
            listener(outcome)
        found.append(outcome)
    return tuple(found)

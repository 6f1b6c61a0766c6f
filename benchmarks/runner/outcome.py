"""From what became of a task's process to a row."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import privopt
from privopt.benchmarks.runner.process import GRACE, PROVING, WARMING, death, is_memory, out_of_memory
from privopt.benchmarks.runner.rows import Row
from privopt.benchmarks.runner.task import Task
from privopt.benchmarks.runner.traces import decode_points
from privopt.core.solution import Solution, Status
from privopt.core.trace import Point
from privopt.files.text import number


def reason_of(solution: Solution[Any], fault: str = "", *, holds: bool = False) -> str:
    """One sentence, never empty; ``fault`` says what did not hold when proved again, which the claim itself may still do.

    Examples
    --------
    >>> reason_of(Solution(Status.GAP, objective=1.0, bound=1.5, gap=0.5, stats={"stop": "deadline"}))
    'stopped with a checked gap of 0.5; the solver says: deadline'
    """
    ended = _ended(solution)
    own = solution.reason if solution.reason not in ended else ""
    said = next((str(solution.stats[name]) for name in ("stop", "status") if solution.stats.get(name)), "")
    parts = (
        f"{_FAULTS[holds]}: {fault}" if solution.certified and fault else "",
        ended,
        own,
        f"the solver says: {said}" if said and solution.status.ok else "",
    )
    return "; ".join(part for part in parts if part)


_FAULTS = {
    True: "the record differs from what was proved again, and the claim holds",
    False: "the certified claim does not hold",
}


def _ended(solution: Solution[Any]) -> str:
    gap = "unknown" if solution.gap is None else number(solution.gap, 3)
    match solution.status:
        case Status.OPTIMAL:
            return f"the checked bound is within tolerance: gap {gap}"
        case Status.GAP:
            return f"stopped with a checked gap of {gap}"
        case Status.FEASIBLE:
            return f"no bound was checked: {_no_bound(solution.stats)}"
        case _:
            return solution.reason or solution.status.value


def _no_bound(stats: Mapping[str, float | int | str]) -> str:
    if "bound_refused" in stats:
        return str(stats["bound_refused"])
    return "the claimed one is not finite" if "claimed_bound" in stats else "the solver claims none"


@dataclass(frozen=True)
class Outcome:
    """A task with its row, the stored form of its solution where there is a mechanism, and what was told over time."""

    task: Task
    row: Row
    stored: Mapping[str, Any] | None = None
    host: str = ""
    trace: tuple[Point, ...] = ()

    @property
    def solution(self) -> Solution[Any] | None:
        """The solution, from its stored form."""
        return None if self.stored is None else Solution[Any].from_dict(self.stored)


def outcome_of(task: Task, result: Mapping[str, Any], memory: float) -> Outcome:
    """The outcome of a task from what :func:`privopt.benchmarks.runner.zygote.run` returned."""
    told = result["told"]
    solution = _solution(task, result, memory)
    fault = str(told.get("fault", ""))
    if solution.certified and "verified" not in told:
        fault = _unproved(result, memory)
    row = _row(task, solution, fault, told)
    row = replace(row, peak_memory=result["peak_memory"])
    stored = told["solution"] if solution.status.ok else None
    return Outcome(task, row, stored, str(told.get("host", "")), decode_points(told.get("trace", [])))


def lost(task: Task, why: str) -> Outcome:
    """The outcome of a task that could not be run to an end."""
    return Outcome(task, _row(task, Solution(Status.FAILED, reason=why), "", {}))


def _solution(task: Task, result: Mapping[str, Any], memory: float) -> Solution[Any]:
    told, code = result["told"], result["code"]
    if "solution" in told:
        solution = Solution[Any].from_dict(told["solution"])
        if not solution.status.ok and is_memory(solution.reason):
            return replace(solution, reason=out_of_memory(memory, solution.reason))
        return solution
    if code is None and told["phase"] > 0:
        why = f"did not stop within {GRACE:g} s after its limit of {task.time_limit:g} s and was ended"
        return Solution(Status.TIME_OUT, reason=why)
    if code is None:
        why = f"its first answer, to an easy example, did not come within {WARMING:g} s and it was ended"
        return Solution(Status.TIME_OUT, reason=why)
    return Solution(Status.FAILED, reason=death(code, result["noise"], memory))


def _unproved(result: Mapping[str, Any], memory: float) -> str:
    if result["code"] is None:
        return f"proving it again did not end within {PROVING:g} s"
    return "proving it again: " + death(result["code"], result["noise"], memory)


def _row(task: Task, solution: Solution[Any], fault: str, told: Mapping[str, Any]) -> Row:
    stats = solution.stats
    margin, iterations = stats.get("repaired", 0.0), stats.get("iterations")
    failed = solution.status in (Status.REFUSED, Status.FAILED, Status.TIME_OUT) and not solution.seconds
    return Row(
        key=task.key,
        suite=task.suite,
        question=task.instance.problem.kind,
        family=task.instance.family,
        instance=task.instance.name,
        size=task.instance.size,
        fingerprint=solution.problem or task.fingerprint,
        solver=task.solver,
        budget=task.budget,
        seed=task.seed,
        time_limit=task.time_limit,
        status=solution.status.name,
        reason=reason_of(solution, fault, holds=told.get("claim_holds") is True),
        utility=solution.utility,
        leakage=solution.leakage,
        objective=solution.objective,
        bound=solution.bound,
        gap=solution.gap,
        certified=solution.certified,
        verified=solution.certified and told.get("verified") is True,
        repaired=isinstance(margin, float) and margin > 0,
        raw_leakage=_figure(stats.get("raw_leakage")),
        raw_violation=_figure(stats.get("raw_violation")),
        violation=_figure(stats.get("violation")) if solution.status.ok else None,
        utility_lost=_figure(stats.get("utility_lost_by_repair")),
        seconds=None if failed else solution.seconds,
        cold_seconds=_figure(told.get("cold_seconds")),
        peak_memory=None,
        iterations=iterations if type(iterations) is int else None,
        guarantee="" if solution.guarantee is None else solution.guarantee.name,
        privopt=str(told.get("privopt", privopt.__version__)),
        python=str(told.get("python", platform.python_version())),
        numpy=str(told.get("numpy", np.__version__)),
        libraries=str(told.get("libraries", "")),
        attack_accuracy=_figure(told.get("attack_accuracy")),
        role=str(told.get("role", "")),
        chosen=str(told.get("chosen", "")),
        claim_holds=told.get("claim_holds") is True if solution.certified else None,
        differs=str(told.get("differs", "")),
        raw_objective=_figure(told.get("raw_objective")),
        cpu=_figure(told.get("cpu")),
    )


def _figure(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

"""Performance profiles: by time, among runs that reached the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from privopt.benchmarks.report.judged import Judged, Task

TICK = 1e-6
"""Shorter times are taken to be this many seconds, so that no ratio is by zero."""

Costs = Mapping[str, Mapping[Task, float]]


@dataclass(frozen=True)
class Profile:
    """A staircase a solver, and over how many solvers and tasks.

    ``curves[s]`` holds (τ, share) where the share changes, from the least τ to a common last one.
    """

    curves: Mapping[str, tuple[tuple[float, float], ...]]
    tasks: int

    def share(self, solver: str, tau: float) -> float:
        """Share of tasks on which a solver is within τ of the best.

        Examples
        --------
        >>> Profile({"a": ((1.0, 0.5), (2.0, 1.0))}, 2).share("a", 1.5)
        0.5
        """
        return max((y for x, y in self.curves[solver] if x <= tau), default=0.0)


def time_costs(rows: Iterable[Judged]) -> dict[str, dict[Task, float]]:
    """Seconds of the rows that reached the best objective known, by solver and task."""
    costs: dict[str, dict[Task, float]] = {}
    for j in rows:
        own = costs.setdefault(j.row.solver, {})
        if j.reached and j.row.seconds is not None:
            own[j.task] = max(j.row.seconds, TICK)
    return costs


def time_profile(rows: Iterable[Judged]) -> Profile:
    """By the ratio of seconds to those of the fastest of the given solvers."""
    return profile(time_costs(rows), lambda cost, best: cost / best, 1.0)


def profile(costs: Costs, compare: Callable[[float, float], float], least: float) -> Profile:
    """The profile of costs; a task that no solver finished is left out, one that some did counts for all.

    Parameters
    ----------
    costs : mapping of solver to mapping of task to float
        A task that is missing was not finished.
    compare : callable
        Takes the cost and the least cost on the task.
    least : float
        What ``compare`` gives for the best solver: where the curves start.
    """
    best: dict[Task, float] = {}
    for own in costs.values():
        for task, cost in own.items():
            best[task] = min(cost, best.get(task, cost))
    apart = {s: sorted(compare(cost, best[task]) for task, cost in own.items()) for s, own in costs.items()}
    last = max((values[-1] for values in apart.values() if values), default=least)
    return Profile(
        {solver: _steps(values, len(best), least, last) for solver, values in apart.items()}, len(best)
    )


def _steps(values: list[float], tasks: int, least: float, last: float) -> tuple[tuple[float, float], ...]:
    if tasks == 0:
        return ()
    shares = {least: 0.0}
    for done, value in enumerate(values, 1):
        shares[value] = done / tasks
    shares.setdefault(last, len(values) / tasks)
    return tuple(shares.items())

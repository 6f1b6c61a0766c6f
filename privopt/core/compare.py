"""Several solutions side by side: of one problem by many solvers, and over a grid of budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from privopt.core.alarm import contradictions, raise_alarm
from privopt.core.dispatch import carried_over, check_solvers, solve, solve_from
from privopt.core.isolate import START
from privopt.core.judge import contradicts, with_bound
from privopt.core.problem import M, Problem
from privopt.core.solution import Solution, Status
from privopt.core.solver import Solver
from privopt.files.text import html_table, number, plain_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

HEADER = ("solver", "status", "utility", "leakage", "gap", "certified", "seconds", "reason")


def row(s: Solution[Any]) -> tuple[str, ...]:
    """The cells of one solution."""
    numbers = (number(s.utility), number(s.leakage), number(s.gap, 3))
    return (s.solver, s.status.name, *numbers, "yes" if s.certified else "no", spent(s), s.reason)


def spent(s: Solution[Any]) -> str:
    """The seconds of a solution, and how many of them the start of a process took, where that is a tenth or more.

    Examples
    --------
    >>> spent(Solution(Status.FEASIBLE, seconds=1.5, stats={"start_seconds": 1.25})), spent(Solution(Status.FEASIBLE, seconds=1.5))
    ('1.5, of which start 1.25', '1.5')
    """
    start = s.stats.get(START)
    if not isinstance(start, float) or start < 0.1 * s.seconds:
        return number(s.seconds, 3)
    return f"{number(s.seconds, 3)}, of which start {number(start, 3)}"


def frame(solutions: Iterable[Solution[Any]], budgets: Sequence[float]) -> pd.DataFrame:
    """One row a solution, with its budget."""
    import pandas as pd

    names = ("utility", "leakage", "objective", "bound", "gap")
    rows = [
        {
            "budget": budget,
            "solver": s.solver,
            "status": s.status.name,
            **{name: getattr(s, name) for name in names},
            "certified": s.certified,
            "guarantee": None if s.guarantee is None else s.guarantee.name,
            "seconds": s.seconds,
            "reason": s.reason,
        }
        for s, budget in zip(solutions, budgets, strict=True)
    ]
    return pd.DataFrame(rows).astype({name: float for name in names} if rows else {})


@dataclass(frozen=True)
class Comparison(Generic[M]):
    """Solutions of one problem by several solvers; iterating yields solutions, best objective first."""

    problem: Problem[M]
    solutions: tuple[Solution[M], ...]

    def __iter__(self) -> Iterator[Solution[M]]:
        return iter(self.solutions)

    def __len__(self) -> int:
        return len(self.solutions)

    def __getitem__(self, key: int | str) -> Solution[M]:
        """A solution by position or by the name of its solver."""
        if isinstance(key, str):
            return next(s for s in self.solutions if s.solver == key)
        return self.solutions[key]

    def __str__(self) -> str:
        return plain_table([row(s) for s in self.solutions], HEADER)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table([row(s) for s in self.solutions], HEADER)

    def to_frame(self) -> pd.DataFrame:
        """A pandas table, one row a solver; what failed has no numbers."""
        return frame(self.solutions, [self.problem.budget] * len(self.solutions))

    def plot(self) -> Figure:
        """Bars of utility by solver, with the best checked bound; needs matplotlib."""
        from privopt.plots.curves import comparison_figure

        return comparison_figure(self)


@dataclass(frozen=True)
class Frontier(Generic[M]):
    """A frontier: solutions over a grid of budgets, in increasing order; iterating yields solutions."""

    problem: Problem[M]
    budgets: tuple[float, ...]
    solutions: tuple[Solution[M], ...]

    def __iter__(self) -> Iterator[Solution[M]]:
        return iter(self.solutions)

    def __len__(self) -> int:
        return len(self.solutions)

    def __getitem__(self, index: int) -> Solution[M]:
        return self.solutions[index]

    def _rows(self) -> list[tuple[str, ...]]:
        return [(number(b), *row(s)) for b, s in zip(self.budgets, self.solutions, strict=True)]

    def __str__(self) -> str:
        return plain_table(self._rows(), ("budget", *HEADER))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(self._rows(), ("budget", *HEADER))

    def to_frame(self) -> pd.DataFrame:
        """A pandas table, one row a budget."""
        return frame(self.solutions, self.budgets)

    def plot(self) -> Figure:
        """Utility against budget, with the checked bound as a band; needs matplotlib."""
        from privopt.plots.curves import frontier_figure

        return frontier_figure(self)


def compare(
    problem: Problem[M],
    solvers: Sequence[str | Solver[Any]] | None = None,
    *,
    time_limit: float = 10.0,
    certify: bool = True,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> Comparison[M]:
    """Run every solver of a problem, oracles and baselines too, and judge each.

    Parameters
    ----------
    problem : Problem
    solvers : list of names or solver objects, optional
        Default: all that are registered.
    time_limit : float
        Seconds for each.

    Returns
    -------
    Comparison
        Refusals and failures are rows with their reason.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    >>> [s.solver for s in po.compare(problem, ["windows", "optimal"])]
    ['optimal', 'windows']
    """
    chosen = check_solvers(problem, solvers)
    solutions: list[Solution[M]] = []
    for i, candidate in enumerate(chosen):
        if progress is not None:
            progress(i / len(chosen), candidate.name)
        solutions.append(solve(problem, candidate.solver, time_limit=time_limit, certify=certify, seed=seed))
    for reached, bounded in contradictions(problem, solutions):
        alarmed = raise_alarm(problem, reached, bounded)
        solutions = [alarmed if s is reached else s for s in solutions]
    return Comparison(problem, tuple(sorted(solutions, key=_order)))


def _order(s: Solution[Any]) -> tuple[bool, float, str]:
    return (s.objective is None, -(s.objective or 0.0), s.solver)


def frontier(
    problem: Problem[M],
    budgets: Iterable[float],
    solver: str | Solver[Any] | None = None,
    *,
    time_limit: float = 10.0,
    certify: bool = True,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
    scheduler: str | None = None,
) -> Frontier[M]:
    """Solve one problem for many budgets.

    A mechanism found for one budget is judged again for the next larger one and kept there if it is
    better, so a larger budget never costs utility.

    Parameters
    ----------
    problem : Problem
    budgets : numbers
        Sorted before use.
    time_limit : float
        Seconds for each budget.
    scheduler : str, optional
        Address of a Dask scheduler, such as "tcp://host:8786", whose workers solve the budgets; needs
        ``privopt[cluster]``. Problems and solutions travel as pickles: the cluster must be trusted.

    Raises
    ------
    MissingExtra
        If a scheduler is given and dask or distributed is not installed.
    InvalidProblem
        If no scheduler answers there.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    >>> [round(s.utility, 4) for s in po.frontier(problem, [0.0, 0.5, 1.0])]
    [0.0, 0.4, 0.6511]
    """
    grid = tuple(sorted(float(b) for b in budgets))
    problems = [problem.with_budget(budget) for budget in grid]
    far: Iterator[Solution[M]] | None = None
    if scheduler is not None:
        from privopt.cluster.scheduler import solve_all

        far = solve_all(problems, solver, scheduler, time_limit=time_limit, certify=certify, seed=seed)
    solutions: list[Solution[M]] = []
    for i, one in enumerate(problems):
        if progress is not None:
            progress(i / len(grid), f"budget {number(one.budget)}")
        before = solutions[-1] if solutions else None
        if far is None:
            now = solve_from(one, before, solver, time_limit=time_limit, certify=certify, seed=seed)
        else:
            now = next(far)
        solutions.append(better_of(one, before, now, certify))
    for i in reversed(range(len(grid) - 1)):  # under a floor on utility the larger budget is the harder one
        solutions[i] = better_of(problems[i], solutions[i + 1], solutions[i], certify)
    return Frontier(problem, grid, tuple(solutions))


def better_of(
    problem: Problem[M], before: Solution[M] | None, now: Solution[M], certify: bool
) -> Solution[M]:
    """The answer to a neighbouring budget, judged for this one, where it keeps it and beats the answer that is there; else that one."""
    if before is None or before.answer is None or now.status in (Status.REFUSED, Status.INFEASIBLE):
        return now
    if now.objective is not None and problem.evaluate(before.answer).objective <= now.objective:
        return now
    carried = carried_over(problem, before, certify)
    if carried is None or carried.objective is None:
        return now
    if now.objective is not None and carried.objective <= now.objective:
        return now
    kept = replace(carried, problem=now.problem, seconds=now.seconds, alternatives=now.alternatives)
    if now.bound is None:
        return kept
    if contradicts(problem, kept, now.bound):
        return raise_alarm(problem, kept, now)
    return with_bound(problem, kept, now.bound, now.dual)

"""Tasks: one solver, one instance, one budget and one seed, known by the content of all that makes the answer."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import privopt
from privopt.benchmarks.runner.rows import AUTO, Row
from privopt.benchmarks.runner.suite import Instance, Suite
from privopt.core.folders import is_own
from privopt.core.problem import Problem
from privopt.core.registry import find_solver, solvers_of
from privopt.core.solver import Solver
from privopt.errors import InvalidProblem, PrivoptError
from privopt.files.numbers import encode_float

CORE = ("core", "files", "measures", "mechanisms", "models", "problems", "solvers/common")


def digest(solver: type[Solver[Any]] | None) -> str:
    """SHA-256 of the code that judges and of the folder that the solver lives in.

    The command line, the benchmarks and the solvers of other problems do not count; of a solver or a problem from
    outside the package its own file counts.

    Examples
    --------
    >>> len(digest(None))
    64
    """
    parts = [_folders(CORE)]
    if solver is not None:
        module = solver.__module__
        inside = module.startswith("privopt.solvers.") and not is_own(module)
        parts.append(_folders(("solvers/" + module.split(".")[2],)) if inside else _file(solver))
        if not solver.solves.__module__.startswith("privopt.problems.") or is_own(solver.solves.__module__):
            parts.append(_file(solver.solves))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


@cache
def _folders(names: tuple[str, ...]) -> str:
    """One digest of the Python files in some folders of the package and in those within, with their names."""
    total = hashlib.sha256()
    for name in names:
        for where, content in _sources(files("privopt").joinpath(name), name):
            total.update(f"{where}\0".encode() + content + b"\0")
    return total.hexdigest()


def _sources(place: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(place.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            yield from _sources(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            yield f"{name}/{entry.name}", entry.read_bytes()


@cache
def _file(cls: type) -> str:
    try:
        return hashlib.sha256(inspect.getsource(inspect.getmodule(cls) or cls).encode()).hexdigest()
    except (OSError, TypeError):
        return "the source is not to be had"


@dataclass(frozen=True)
class Task:
    """One solver on one instance with one budget: pure data, so that it can be sent elsewhere."""

    suite: str
    instance: Instance
    solver: str
    budget: float
    time_limit: float
    seed: int

    @cached_property
    def fingerprint(self) -> str:
        """That of the problem with its budget; empty where the budget makes no problem."""
        try:
            return self.instance.problem.with_budget(self.budget).fingerprint
        except PrivoptError:
            return ""

    @cached_property
    def key(self) -> str:
        """SHA-256 of all that the answer depends on; equal for tasks that would do the same work.

        The labels of a task (suite, instance, family, size) are not part of it.
        """
        problem = self.instance.problem
        inputs = {
            "question": problem.kind,
            "fingerprint": self.fingerprint or problem.fingerprint,
            "budget": encode_float(self.budget),
            "solver": self.solver,
            "options": self._options(),
            "seed": self.seed,
            "time_limit": self.time_limit,
            "privopt": privopt.__version__,
            "sources": self._sources(),
        }
        text = json.dumps(inputs, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def _sources(self) -> str:
        """Of ``solve()`` the code of every solver that it may choose."""
        known = solvers_of(type(self.instance.problem))
        if self.solver != AUTO:
            return digest(known.get(self.solver))
        return hashlib.sha256("".join(sorted({digest(cls) for cls in known.values()})).encode()).hexdigest()

    def _options(self) -> str:
        if self.solver == AUTO:
            return "chosen by solve()"
        try:
            return repr(find_solver(self.instance.problem, self.solver))
        except PrivoptError:
            return "no such solver"

    def to_dict(self) -> dict[str, Any]:
        """What a process needs to run it, JSON-safe."""
        return {
            "problem": self.instance.problem.to_dict(),
            "budget": encode_float(self.budget),
            "solver": self.solver,
            "time_limit": self.time_limit,
            "seed": self.seed,
        }

    def labelled(self, row: Row) -> Row:
        """A row of the same work under the names that this task gives it."""
        i = self.instance
        return replace(row, suite=self.suite, instance=i.name, family=i.family, size=i.size)


def tasks_of(
    suite: Suite, *, seeds: Sequence[int] = (0,), time_limit: float | None = None
) -> tuple[Task, ...]:
    """Instances x budgets x seeds x what ``solve()`` does by itself and every registered solver of the problem.

    Raises
    ------
    InvalidProblem
        If a solver has the name of what ``solve()`` does.

    Examples
    --------
    >>> from privopt.benchmarks.runner.suite import find_suite
    >>> tasks = tasks_of(find_suite("quick"))
    >>> len({task.budget for task in tasks if task.instance.name == "month-middle"})
    6
    """
    limit = suite.time_limit if time_limit is None else time_limit
    return tuple(
        Task(suite.name, instance, solver, budget, limit, seed)
        for instance in suite.instances()
        for budget in (instance.budgets or suite.budgets)
        for seed in seeds
        for solver in competitors(type(instance.problem))
    )


def competitors(kind: type[Problem[Any]]) -> tuple[str, ...]:
    """What answers a kind of problem in a suite: ``solve()`` by itself first, then every solver by name.

    Raises
    ------
    InvalidProblem
        If a solver has the name of what ``solve()`` does.

    Examples
    --------
    >>> from privopt import Redaction
    >>> competitors(Redaction)[:2]
    ('auto', 'branch-and-bound')
    """
    names = tuple(solvers_of(kind))
    if AUTO in names:
        raise InvalidProblem(
            f"a solver of {kind.__name__} is called {AUTO!r}, as suites call what solve() does by itself; give it another name"
        )
    return (AUTO, *names)


def chosen(
    tasks: Sequence[Task], *, solvers: Collection[str] = (), instances: Collection[str] = ()
) -> tuple[Task, ...]:
    """The tasks of some solvers and instances; all where none is named.

    Raises
    ------
    InvalidProblem
        If a name is not that of a solver or an instance of these tasks.
    """
    known = {"solver": {t.solver for t in tasks}, "instance": {t.instance.name for t in tasks}}
    for what, names in (("solver", solvers), ("instance", instances)):
        for name in sorted(set(names) - known[what]):
            raise InvalidProblem(f"the suite has no {what} {name!r}; it has {', '.join(sorted(known[what]))}")
    return tuple(
        t
        for t in tasks
        if (not solvers or t.solver in solvers) and (not instances or t.instance.name in instances)
    )

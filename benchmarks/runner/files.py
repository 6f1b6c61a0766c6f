"""A suite made of problem files, for who wants a comparison without writing Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from privopt.benchmarks.runner.suite import Instance, Suite
from privopt.benchmarks.runner.vocabulary import Reference
from privopt.core.problem import Problem
from privopt.core.registry import solvers_of
from privopt.errors import InvalidProblem, PrivoptError
from privopt.files.load import load_problem
from privopt.files.text import number

LONGEST = 48
"""Characters of a name that is put together from the names of files."""


def suite_of_files(
    paths: Sequence[Path], budgets: Sequence[float] = (), *, baseline: str = "", time_limit: float = 10.0
) -> Suite:
    """The suite whose instances are problem files, called as their files are.

    Parameters
    ----------
    paths : sequence of Path
        Problem files, each with a name of its own.
    budgets : sequence of float
        In place of those in the files; none for those in the files.
    baseline : str
        Solver that reports compare the best answers with.
    time_limit : float
        Seconds for each run.

    Raises
    ------
    InvalidProblem
        If two files have the same name, a budget makes no problem, or the baseline solves none of the problems.
    FileRefused
        If a file is no problem.

    Examples
    --------
    >>> import json, tempfile
    >>> import privopt as po
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "coin.json")
    ...     _ = path.write_text(json.dumps(po.BeliefRelease([0.5, 0.5], 1.0).to_dict()))
    ...     suite = suite_of_files([path], (0.5, 2.0))
    >>> suite.name, [instance.name for instance in suite.instances()], suite.budgets
    ('coin', ['coin'], (0.5, 2.0))
    """
    if not paths:
        raise InvalidProblem("name at least one problem file")
    by_name: dict[str, Path] = {}
    for path in paths:
        if by_name.setdefault(path.stem, path) is not path:
            raise InvalidProblem(
                f"{by_name[path.stem]} and {path} have the same name; name the same file once, or rename one of them"
            )
    problems = {name: load_problem(path) for name, path in by_name.items()}
    for name, problem in problems.items():
        _check_budgets(by_name[name], problem, budgets)
    instances = tuple(
        Instance(name, _size(problem), problem, budgets=tuple(budgets) or (problem.budget,))
        for name, problem in problems.items()
    )
    suite = Suite(
        _joined(tuple(problems)),
        f"Problems of files: {', '.join(str(path) for path in paths)}",
        lambda: instances,
        tuple(budgets),
        time_limit,
    )
    return with_baseline(suite, baseline)


def with_baseline(suite: Suite, solver: str) -> Suite:
    """The suite whose reports compare the best answers with those of a solver; an empty name leaves it as it is.

    Raises
    ------
    InvalidProblem
        If it solves none of the suite's problems.
    """
    if not solver:
        return suite
    known = {name for instance in suite.instances() for name in solvers_of(type(instance.problem))}
    if solver not in known:
        raise InvalidProblem(
            f"no problem has a solver {solver!r} to be the baseline; there are {', '.join(sorted(known))}"
        )
    return replace(suite, reference=Reference(solver, f"what {solver} does"))


def _check_budgets(path: Path, problem: Problem[Any], budgets: Sequence[float]) -> None:
    for budget in budgets:
        try:
            problem.with_budget(budget)
        except PrivoptError as cause:
            raise InvalidProblem(f"{path} with a budget of {number(budget)}: {cause}") from cause


def _size(problem: Problem[Any]) -> int:
    """How large a problem is, in one number."""
    return math.prod(problem.sizes)


def _joined(names: Sequence[str]) -> str:
    """A name for several problems, which is the name of a folder too."""
    name = "-".join(names)
    return name if len(name) <= LONGEST else f"{names[0][:LONGEST]}-and-{len(names) - 1}-more"

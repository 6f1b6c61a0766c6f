"""Suites: benchmarks as data, found by scanning a folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from privopt._problem import Problem
from privopt.errors import InvalidProblem

PACKAGE = "privopt.benchmarks.suites"


@dataclass(frozen=True)
class Instance:
    """A named question; budgets replace the one it carries: its own where it has some, else those of the suite.

    ``size`` orders the instances of a ``family``, which differ in nothing else that matters for time;
    tests run the smallest.
    """

    name: str
    size: int
    problem: Problem[Any]
    family: str = ""
    budgets: tuple[float, ...] = ()


@dataclass(frozen=True)
class Records:
    """Real data to release: a label and a letter for each record, and what the label column is called."""

    title: str
    label: str
    labels: tuple[str, ...]
    letter: str
    letters: tuple[str, ...]


@dataclass(frozen=True)
class Showcase:
    """The instance and budget whose best certified mechanism releases real data.

    ``reference`` names the solver that the report compares the best one with, ``reference_does`` says
    in words what that one does, as in "hides a window".
    """

    instance: str
    budget: float
    reference: str
    reference_does: str
    records: Callable[[], Records]


@dataclass(frozen=True)
class Suite:
    """Instances times budgets, given to every registered solver that answers the question.

    Parameters
    ----------
    name : str
    describe : str
        One line for the listing.
    instances : callable
        Builds the instances, so that importing a suite costs nothing.
    budgets : tuple of float
    time_limit : float
        Seconds for each run.
    about : callable
        Sentences that open the report: what the data are, what the model is.
    showcase : Showcase or None
    """

    name: str
    describe: str
    instances: Callable[[], Sequence[Instance]]
    budgets: tuple[float, ...]
    time_limit: float
    about: Callable[[], Sequence[str]] = tuple
    showcase: Showcase | None = None


_suites: dict[str, Suite] = {}


def register_suite(suite: Suite) -> Suite:
    """Enter a suite under its name.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    if suite.name in _suites:
        raise ValueError(f"suite {suite.name!r} is registered twice; give one of them another name")
    _suites[suite.name] = suite
    return suite


def suites() -> dict[str, Suite]:
    """Every registered suite by name, in the order of names.

    Examples
    --------
    >>> "quick" in suites()
    True
    """
    _scan()
    return dict(sorted(_suites.items()))


def find_suite(name: str) -> Suite:
    """The suite of that name.

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    known = suites()
    if name not in known:
        raise InvalidProblem(f"there is no suite {name!r}; there are {', '.join(known)}")
    return known[name]


@cache
def _scan() -> None:
    """Import every public module of the suites folder, once."""
    package = importlib.import_module(PACKAGE)
    for entry in pkgutil.iter_modules(package.__path__, PACKAGE + "."):
        if not entry.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(entry.name)

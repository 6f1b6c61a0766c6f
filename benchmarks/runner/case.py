"""Cases of the suite ``dispatch``: named instances, built when they are needed."""

from __future__ import annotations

import fnmatch
import functools
import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from privopt.benchmarks.catalogue import Catalogue
from privopt.core.problem import Problem
from privopt.errors import InvalidProblem


@dataclass(frozen=True)
class Case:
    """A named instance of a problem.

    Parameters
    ----------
    name : str
        Unique, with the kind of problem before a slash.
    make : callable
        Builds the problem; a random one from a seed of its own, the same every time.
    quick : bool
        Whether the quick subset has it.
    long : bool
        Whether it also runs at the longest limit.
    """

    name: str
    make: Callable[[], Problem[Any]]
    quick: bool = False
    long: bool = False

    @property
    def kind(self) -> str:
        """The kind of problem."""
        return self.name.partition("/")[0]


_CATALOGUE = Catalogue[tuple[Case, ...]]("a list of cases", "privopt.benchmarks.suites")


def register_cases(kind: str, instances: Sequence[tuple[str, str, partial[Problem[Any]]]]) -> None:
    """Enter the cases of a kind of problem: names, marks and what builds them.

    The marks are letters: "q" for the quick subset, "l" for the longest limit too.

    Raises
    ------
    ValueError
        If the kind has cases already, or two have the same name.
    """
    names = [name for name, _, _ in instances]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{kind} has two cases called {', '.join(twice)}; rename one of each")
    made = tuple(Case(f"{kind}/{name}", make, "q" in marks, "l" in marks) for name, marks, make in instances)
    _CATALOGUE.add(kind, made)


def cases(pattern: str = "*", *, quick: bool = False) -> tuple[Case, ...]:
    """The cases whose name matches a pattern such as ``redaction/*``, in the order of kinds.

    Raises
    ------
    InvalidProblem
        If there is none.

    Examples
    --------
    >>> len(cases()) >= 150, {case.kind for case in cases("belief*")}
    (True, {'belief_release'})
    """
    chosen = tuple(
        case
        for group in _CATALOGUE.items().values()
        for case in group
        if fnmatch.fnmatch(case.name, pattern) and (case.quick or not quick)
    )
    if not chosen:
        raise InvalidProblem(f"no case is called {pattern!r}; there are {', '.join(_CATALOGUE.items())}")
    return chosen


def find_case(name: str) -> Case:
    """The case of that name.

    Raises
    ------
    InvalidProblem
        If there is none.

    Examples
    --------
    >>> find_case("belief_release/letters-8").make().budget
    1.0
    """
    return next((case for case in cases() if case.name == name), None) or cases(name)[0]


def forget() -> None:
    """Empty what the package remembers of the last few problems: an equal one is met as for the first time.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> from privopt.mechanisms.policy.setting import forgets
    >>> forgets(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0)
    True
    >>> gc.freeze()
    >>> forget()
    >>> forgets.cache_info().currsize
    0
    >>> gc.unfreeze()
    """
    frozen = gc.get_freeze_count() > 0
    gc.unfreeze()  # what is frozen is not listed
    for cache in [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper)]:
        of_problems = cache.cache_parameters()["maxsize"] is not None
        if of_problems and str(cache.__wrapped__.__module__).startswith("privopt."):
            cache.cache_clear()
    if frozen:
        gc.freeze()

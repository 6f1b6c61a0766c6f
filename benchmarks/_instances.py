"""What a question gives to the suites: one self-registering file each in ``benchmarks/instances``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from privopt.benchmarks._suites import Instance

PACKAGE = "privopt.benchmarks.instances"

Make = Callable[[], Sequence[Instance]]


def _nothing() -> tuple[Instance, ...]:
    """No instances."""
    return ()


def _silence(suite: str) -> tuple[str, ...]:
    """No sentences."""
    return ()


@dataclass(frozen=True)
class InstanceSet:
    """The instances of one question in each suite; they are built when asked for.

    Parameters
    ----------
    question : str
        The kind of problem, such as "redaction".
    quick : callable
        A few instances that all solvers together do in well under a minute.
    solvers : callable
        From the smallest to what solvers refuse; random ones with a seed, and real ones.
    certification : callable
        Many instances on which numerical back ends can err.
    scaling : callable
        Families of growing size that differ in nothing else.
    about : callable
        Sentences that open the report of a suite, from its name.
    """

    question: str
    quick: Make = _nothing
    solvers: Make = _nothing
    certification: Make = _nothing
    scaling: Make = _nothing
    about: Callable[[str], Sequence[str]] = _silence

    def of(self, suite: str) -> Sequence[Instance]:
        """The instances in one of the four suites."""
        return {
            "quick": self.quick,
            "solvers": self.solvers,
            "certification": self.certification,
            "scaling": self.scaling,
        }[suite]()


_sets: dict[str, InstanceSet] = {}


def register_instances(given: InstanceSet) -> InstanceSet:
    """Enter the instances of a question.

    Raises
    ------
    ValueError
        If the question has some already.
    """
    if given.question in _sets:
        raise ValueError(
            f"the instances of {given.question!r} are registered twice; keep them in one file of benchmarks/instances"
        )
    _sets[given.question] = given
    return given


def instance_sets() -> dict[str, InstanceSet]:
    """The instances of every question, in the order of questions.

    Examples
    --------
    >>> "redaction" in instance_sets()
    True
    """
    _scan()
    return dict(sorted(_sets.items()))


def collect(suite: str) -> tuple[Instance, ...]:
    """The instances of all questions in one suite.

    Raises
    ------
    ValueError
        If two have the same name.

    Examples
    --------
    >>> [i.name for i in collect("quick") if i.problem.kind == "redaction"]
    ['month-middle', 'month-start', 'four-days']
    """
    found = tuple(instance for given in instance_sets().values() for instance in given.of(suite))
    names = [instance.name for instance in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"suite {suite!r} has two instances called {', '.join(twice)}; rename one of each")
    return found


def sentences(suite: str) -> tuple[str, ...]:
    """What the questions say about their instances in one suite."""
    return tuple(text for given in instance_sets().values() if given.of(suite) for text in given.about(suite))


@cache
def _scan() -> None:
    """Import every public module of the instances folder, once."""
    package = importlib.import_module(PACKAGE)
    for entry in pkgutil.iter_modules(package.__path__, PACKAGE + "."):
        if not entry.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(entry.name)

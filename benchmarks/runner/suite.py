"""Suites: benchmarks as data, collected from what each problem gives to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from privopt.benchmarks.catalogue import Catalogue
from privopt.benchmarks.runner.vocabulary import (
    Reference,
    Vocabulary,
    instance_key,
    instance_words,
    problem_words,
)
from privopt.core.problem import Problem
from privopt.errors import InvalidProblem


@dataclass(frozen=True)
class Instance:
    """A named problem; budgets replace the one it carries: its own where it has some, else those of the suite.

    ``size`` orders the instances of a ``family``, which differ in nothing else that matters for time;
    tests run the smallest. Reports call it by its ``title``, by default its name, and add the ``note``.
    """

    name: str
    size: int
    problem: Problem[Any]
    family: str = ""
    budgets: tuple[float, ...] = ()
    title: str = ""
    note: str = ""


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


NO_REFERENCE = Reference()


@dataclass(frozen=True)
class Suite:
    """Instances times budgets, given to every registered solver that answers the problem.

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
    reference : Reference
        The simple method that reports compare the best answers with, in place of what each problem names.
    """

    name: str
    describe: str
    instances: Callable[[], Sequence[Instance]]
    budgets: tuple[float, ...]
    time_limit: float
    about: Callable[[], Sequence[str]] = tuple
    showcase: Showcase | None = None
    reference: Reference = NO_REFERENCE


_SUITES = Catalogue[Suite]("a suite", "privopt.benchmarks.suites")


def register_suite(suite: Suite) -> Suite:
    """Enter a suite under its name.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    _SUITES.add(suite.name, suite)
    return suite


def suites() -> dict[str, Suite]:
    """Every registered suite by name, in the order of names.

    Examples
    --------
    >>> "quick" in suites()
    True
    """
    return _SUITES.items()


def find_suite(name: str) -> Suite:
    """The suite of that name.

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    return _SUITES.find(name)


Make = Callable[[], Sequence[Instance]]


def _nothing() -> tuple[Instance, ...]:
    """No instances."""
    return ()


def _silence(suite: str) -> tuple[str, ...]:
    """No sentences."""
    return ()


@dataclass(frozen=True)
class InstanceSet:
    """The instances of one problem in each suite; they are built when asked for.

    Parameters
    ----------
    problem : str
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
    reference : Reference
        The simple method that reports compare the best answers with; none by default.
    """

    question: str
    quick: Make = _nothing
    solvers: Make = _nothing
    certification: Make = _nothing
    scaling: Make = _nothing
    about: Callable[[str], Sequence[str]] = _silence
    reference: Reference = NO_REFERENCE

    def of(self, suite: str) -> Sequence[Instance]:
        """The instances in one of the four suites."""
        return {
            "quick": self.quick,
            "solvers": self.solvers,
            "certification": self.certification,
            "scaling": self.scaling,
        }[suite]()


_SETS = Catalogue[InstanceSet]("the set of instances of", "privopt.benchmarks.suites")


def register_instances(instance_set: InstanceSet) -> InstanceSet:
    """Enter the instances of a problem.

    Raises
    ------
    ValueError
        If the problem has some already.
    """
    _SETS.add(instance_set.question, instance_set)
    return instance_set


def instance_sets() -> dict[str, InstanceSet]:
    """The instances of every problem, in the order of problems.

    Examples
    --------
    >>> "redaction" in instance_sets()
    True
    """
    return _SETS.items()


def collect(suite: str) -> tuple[Instance, ...]:
    """The instances of all problems in one suite.

    Raises
    ------
    InvalidProblem
        If two have the same name.

    Examples
    --------
    >>> [i.name for i in collect("quick") if i.problem.kind == "redaction"]
    ['month-middle', 'month-start', 'four-days']
    """
    instances = tuple(
        instance for instance_set in instance_sets().values() for instance in instance_set.of(suite)
    )
    names = [instance.name for instance in instances]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidProblem(
            f"suite {suite!r} has two instances called {', '.join(twice)}; rename one of each"
        )
    return instances


def sentences(suite: str) -> tuple[str, ...]:
    """What the problems say about their instances in one suite."""
    return tuple(
        text
        for instance_set in instance_sets().values()
        if instance_set.of(suite)
        for text in instance_set.about(suite)
    )


def vocabulary(instances: Sequence[Instance], reference: Reference = NO_REFERENCE) -> Vocabulary:
    """What reports call some instances and their problems; a ``reference`` takes the place of those of the problems.

    Examples
    --------
    >>> known = vocabulary(collect("quick"))
    >>> known.problem("redaction").title, known.instance("redaction", "four-days").title
    ('Hide records of a stream', 'Four days, the second one private')
    """
    sets = instance_sets()
    kinds = {i.problem.kind: type(i.problem) for i in instances}
    own = {kind: sets[kind].reference for kind in kinds if kind in sets}
    references = {kind: reference for kind in kinds} if reference.solver else own
    return Vocabulary(
        {kind: problem_words(cls, references.get(kind, NO_REFERENCE)) for kind, cls in kinds.items()},
        {
            instance_key(i.problem.kind, i.name): instance_words(i.problem, i.name, i.title, i.note)
            for i in instances
        },
    )

"""What reports call the problems and instances of a run, kept with it so that it can be read anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from privopt.core.problem import Problem
from privopt.core.words import Quantity
from privopt.errors import FileRefused


@dataclass(frozen=True)
class Reference:
    """The simple method that the best answers are compared with.

    ``does`` says what it does, as in "hiding a fixed window"; an empty ``solver`` says that there is none.
    """

    solver: str = ""
    does: str = ""


@dataclass(frozen=True)
class ProblemWords:
    """A kind of problem: title, a shorter one, one sentence, the name of its class, its simple method."""

    title: str
    short: str
    asks: str = ""
    name: str = ""
    reference: Reference = Reference()


@dataclass(frozen=True)
class InstanceWords:
    """An instance: title, what there is to add, and what its objective measures."""

    title: str
    note: str = ""
    quantity: Quantity = field(default_factory=Quantity)


@dataclass(frozen=True)
class Vocabulary:
    """Words by kind of problem, and of instances by :func:`instance_key`; what is missing is called by its own name."""

    problems: Mapping[str, ProblemWords] = field(default_factory=dict)
    instances: Mapping[str, InstanceWords] = field(default_factory=dict)

    def problem(self, kind: str) -> ProblemWords:
        """The words of a kind of problem.

        Examples
        --------
        >>> Vocabulary().problem("data_release").title
        'Data release'
        """
        return self.problems.get(kind) or ProblemWords(plain(kind), plain(kind), "", kind)

    def instance(self, kind: str, name: str) -> InstanceWords:
        """The words of an instance.

        Examples
        --------
        >>> Vocabulary().instance("data_release", "month-start").title
        'Month start'
        """
        return self.instances.get(instance_key(kind, name)) or InstanceWords(plain(name))

    def joined(self, other: Vocabulary) -> Vocabulary:
        """Both, where the first has the say."""
        return Vocabulary({**other.problems, **self.problems}, {**other.instances, **self.instances})

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary."""
        return asdict(self)


def instance_key(kind: str, name: str) -> str:
    """The key of an instance: names are unique only among those of one problem.

    Examples
    --------
    >>> instance_key("redaction", "month-start")
    'redaction/month-start'
    """
    return f"{kind}/{name}"


def plain(name: str) -> str:
    """A name as words, for what has no title.

    Examples
    --------
    >>> plain("capped-mutual_information-2x4")
    'Capped mutual information 2x4'
    """
    words = name.replace("_", " ").replace("-", " ")
    return words[:1].upper() + words[1:]


def problem_words(cls: type[Problem[Any]], reference: Reference) -> ProblemWords:
    """The words of a problem class, its name where it declares none.

    Examples
    --------
    >>> from privopt import Redaction
    >>> problem_words(Redaction, Reference()).name
    'Redaction'
    """
    words, name = cls.wording, cls.__name__
    title = words.title or name
    return ProblemWords(title, words.short or title, words.asks, name, reference)


def instance_words(problem: Problem[Any], name: str, title: str, note: str) -> InstanceWords:
    """The words of an instance, its name where it has no title."""
    return InstanceWords(title or plain(name), note, problem.quantity())


def vocabulary_from_dict(values: Mapping[str, Any]) -> Vocabulary:
    """What :meth:`Vocabulary.to_dict` wrote.

    Raises
    ------
    FileRefused
        If a field is missing, unknown or not of its kind.
    """
    try:
        problems = {str(kind): _problem(words) for kind, words in values["problems"].items()}
        instances = {str(key): _instance(words) for key, words in values["instances"].items()}
    except (AttributeError, KeyError, TypeError) as cause:
        raise FileRefused(
            f"the words of the run are malformed ({cause!r} is missing or of another kind); run the suite again"
        ) from cause
    return Vocabulary(problems, instances)


def _problem(words: Mapping[str, Any]) -> ProblemWords:
    solver, does = _texts(words["reference"], ("solver", "does"))
    title, short, asks, name = _texts(words, ("title", "short", "asks", "name"))
    return ProblemWords(title, short, asks, name, Reference(solver, does))


def _instance(words: Mapping[str, Any]) -> InstanceWords:
    told = words["quantity"]
    name, unit, budget = _texts(told, ("name", "unit", "budget"))
    title, note = _texts(words, ("title", "note"))
    return InstanceWords(title, note, Quantity(name, unit, -1 if told["sign"] < 0 else 1, budget))


def _texts(values: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [str(values[name]) for name in names]


def merged(vocabularies: Iterable[Vocabulary]) -> Vocabulary:
    """All of several, where the earlier ones have the say."""
    total = Vocabulary()
    for one in vocabularies:
        total = total.joined(one)
    return total

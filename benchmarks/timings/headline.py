"""The few numbers that say what privopt adds: each computed by one function, with what others reach beside it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from io import StringIO

from privopt.benchmarks.catalogue import Catalogue
from privopt.errors import FileRefused

COMMAND = "privopt bench headlines"


@dataclass(frozen=True)
class Headline:
    """One line of the table.

    Parameters
    ----------
    name : str
        By which it is computed again.
    what : str
        What is measured, and on what.
    privopt, beside : str
        Our number, and what the published or the usual way reaches, named.
    timed : bool
        Whether it is a ratio of times, which differs between machines; other numbers are the same everywhere.
    """

    name: str
    what: str
    privopt: str
    beside: str
    timed: bool = False

    @property
    def command(self) -> str:
        """What computes it again."""
        return f"{COMMAND} {self.name}"


Make = Callable[[], Headline]
_CATALOGUE = Catalogue[Make]("a headline", "privopt.benchmarks.timings.measurements")


def register_headline(name: str) -> Callable[[Make], Make]:
    """Decorate the function that computes a headline.

    Raises
    ------
    ValueError
        If the name is taken.
    """

    def enter(make: Make) -> Make:
        _CATALOGUE.add(name, make)
        return make

    return enter


def headlines() -> dict[str, Make]:
    """Every headline by name.

    Examples
    --------
    >>> "redaction" in headlines()
    True
    """
    return _CATALOGUE.items()


def compute(name: str | None = None) -> list[Headline]:
    """One headline, or all of them, in the order of names.

    Raises
    ------
    InvalidProblem
        If there is none of that name.
    """
    made = [_CATALOGUE.find(name)] if name is not None else list(headlines().values())
    return [make() for make in made]


def written(lines: Iterable[Headline]) -> str:
    """The lines as CSV.

    Examples
    --------
    >>> parsed(written([Headline("a", "b", "1", "2")]))
    [Headline(name='a', what='b', privopt='1', beside='2', timed=False)]
    """
    text = StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Headline)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(one) for one in lines)
    return text.getvalue()


def parsed(text: str) -> list[Headline]:
    """The lines that :func:`written` wrote.

    Raises
    ------
    FileRefused
        If the columns are others.
    """
    rows = list(csv.DictReader(text.splitlines()))
    names = {field.name for field in fields(Headline)}
    if any(set(row) != names for row in rows):
        raise FileRefused(f"the headlines have other columns than {', '.join(sorted(names))}")
    return [
        Headline(row["name"], row["what"], row["privopt"], row["beside"], row["timed"] == "True")
        for row in rows
    ]


def markdown(lines: Iterable[Headline]) -> list[str]:
    """The lines of the table in the README.

    Examples
    --------
    >>> markdown([Headline("a", "b", "1", "2")])[-1]
    '| b | **1** | 2 | `privopt bench headlines a` |'
    """
    head = ["| what | privopt | beside it | command |", "|---|---|---|---|"]
    return head + [f"| {one.what} | **{one.privopt}** | {one.beside} | `{one.command}` |" for one in lines]

"""What the papers print, item by item: its claim, the function that computes it again, its figure and its verdict."""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.catalogue import Catalogue
from privopt.core.isolate import describe
from privopt.errors import InvalidProblem, MissingExtra

if TYPE_CHECKING:
    import pandas as pd


class Finding(Enum):
    """How what a paper prints compares with what is computed here."""

    MATCHES = "matches"
    ROUNDING = "rounding"
    OFF = "paper is off"
    HOLDS = "holds"
    NOT_REPRODUCIBLE = "not reproducible"
    OPEN = "open"
    FAILED = "failed"


@dataclass(frozen=True)
class Claim:
    """Something that a paper prints.

    Parameters
    ----------
    what, where : str
        What is claimed, and in which part of the paper.
    printed, ours : str
        The value as the paper prints it, in words where it prints none, and as computed here.
    finding : Finding
    sentence : str
        Why, in one sentence.
    """

    what: str
    where: str
    printed: str
    ours: str
    finding: Finding
    sentence: str


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A figure or table of a paper, computed again.

    Parameters
    ----------
    name : str
    caption : str
        What is shown, and which curves are the paper's and which are ours.
    frame : DataFrame
        The data.
    draw : callable or None
        Draws the figure as SVG; None for a table.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    draw: Callable[[], str] | None = None

    @property
    def svg(self) -> str:
        """The figure, empty for a table or where matplotlib is not installed."""
        try:
            return "" if self.draw is None else self.draw()
        except MissingExtra:
            return ""


@dataclass(frozen=True, eq=False)
class PaperReport:
    """What became of a paper."""

    name: str
    title: str
    authors: str
    about: tuple[str, ...]
    claims: tuple[Claim, ...]
    exhibits: tuple[Exhibit, ...]
    seconds: float

    @property
    def counts(self) -> dict[str, int]:
        """How many claims there are of each finding."""
        return dict(Counter(claim.finding.value for claim in self.claims))

    def __getitem__(self, name: str) -> Exhibit:
        """The exhibit of that name."""
        return next(exhibit for exhibit in self.exhibits if exhibit.name == name)


SOURCES = {
    "R": (
        "Luis Maßny, Rawad Bitar, Fangwei Ye, Salim El Rouayheb",
        "Between Close Enough to Reveal and Far Enough to Protect: a New Privacy Region for Correlated Data",
    ),
    "F": (
        "Parastoo Sadeghi",
        "Fundamental trade-offs between privacy and utility in data sharing (CSCIT 2021)",
    ),
    "B": (
        "Martin Lange, Patricia Guerra-Balboa, Javier Parra-Arnau, Thorsten Strufe",
        "Balancing Privacy and Utility in Correlated Data: A Study of Bayesian Differential Privacy",
    ),
    "S": (
        "Bo Jiang, Ming Li, Ravi Tandon",
        "Online Context-aware Data Release with Sequence Information Privacy",
    ),
}
"""Authors and title by the first letter of an item."""


@dataclass(frozen=True)
class Item:
    """Something that a paper prints.

    Parameters
    ----------
    name : str
        Such as "R-T1": the first letter names the source.
    place, states, printed, kind : str
        Where it stands, what it says, the values it gives, and whether it is a number, a curve, an algorithm, an
        inequality to test or a definition.
    """

    name: str
    place: str
    states: str
    printed: str
    kind: str

    @property
    def source(self) -> str:
        """First letter of the name."""
        return self.name[0]


@dataclass(frozen=True)
class Setting:
    """How an item is to be computed: ``quick`` asks for coarse grids and few instances, ``figures`` for its exhibits."""

    quick: bool = False
    figures: bool = True
    seed: int = 0

    def rng(self) -> np.random.Generator:
        """A generator of its own for each item, the same in each run."""
        return np.random.default_rng(self.seed)

    def count(self, few: int, many: int) -> int:
        """How many instances."""
        return few if self.quick else many


@dataclass(frozen=True, eq=False)
class Reproduced:
    """What computing an item again gave.

    Parameters
    ----------
    ours : str
        Our value, in the unit of the printed one.
    finding : Finding
    why : str
        One sentence: what was compared, or the counter-example.
    exhibits : tuple of Exhibit
        The figure or table, where the item is one.
    claims : tuple of Claim or None
        What the page of the paper lists; None where the item itself is what is claimed.
    """

    ours: str
    finding: Finding
    why: str
    exhibits: tuple[Exhibit, ...] = ()
    claims: tuple[Claim, ...] | None = None
    seconds: float = field(default=0.0, kw_only=True)


Check = Callable[[Setting], Reproduced]
_CHECKS = Catalogue[Check]("an item", "privopt.benchmarks.papers.items")
_NOTHING = "Nothing computes this item yet."


def reproduces(name: str) -> Callable[[Check], Check]:
    """Decorate the function that computes an item again.

    Raises
    ------
    InvalidProblem
        If the table has no such item.
    ValueError
        If something computes it already.
    """
    if name not in items():
        raise InvalidProblem(f"the table of printed items has no {name!r}")

    def enter(check: Check) -> Check:
        _CHECKS.add(name, check)
        return check

    return enter


@cache
def items() -> dict[str, Item]:
    """Every printed item by name, in the order of the sources.

    Examples
    --------
    >>> items()["R-T1"].printed
    '3/2, 1/2, 2/3, 2'
    """
    text = files("privopt.benchmarks.papers").joinpath("items.csv").read_text(encoding="utf-8")
    return {row["name"]: Item(**row) for row in csv.DictReader(text.splitlines())}


def chosen(what: str) -> tuple[Item, ...]:
    """The items that a word asks for: "all", the letter of a source, or the name of an item.

    Raises
    ------
    InvalidProblem
        If it is none of them.

    Examples
    --------
    >>> [item.name for item in chosen("R-T1")], len(chosen("all")) == len(items())
    (['R-T1'], True)
    """
    known = items()
    if what == "all":
        return tuple(known.values())
    if what in SOURCES:
        return tuple(item for item in known.values() if item.source == what)
    if what in known:
        return (known[what],)
    raise InvalidProblem(
        f"there is no printed item {what!r}: give all, quick, a source ({', '.join(SOURCES)}) or an item such as R-T1"
    )


def reproduce(
    selection: Iterable[Item], setting: Setting, progress: Callable[[float, str], None] | None = None
) -> Iterator[tuple[Item, Reproduced]]:
    """Compute items one after the other; one without code is open, one that raises has failed."""
    checks, todo = _CHECKS.items(), tuple(selection)
    for done, item in enumerate(todo):
        if progress is not None:
            progress(done / len(todo), item.name)
        yield item, _computed(checks.get(item.name), setting)


def _computed(check: Check | None, setting: Setting) -> Reproduced:
    if check is None:
        return Reproduced("", Finding.OPEN, _NOTHING)
    begun = time.monotonic()
    try:
        verdict = check(setting)
    except Exception as cause:  # noqa: BLE001 - one item that fails must not end the others; its reason is the verdict
        verdict = Reproduced("", Finding.FAILED, describe(cause))
    return replace(verdict, seconds=time.monotonic() - begun)


def counts(verdicts: Iterable[Reproduced]) -> dict[str, int]:
    """How many items there are of each finding, in the order of findings."""
    tally = Counter(one.finding for one in verdicts)
    return {finding.value: tally[finding] for finding in Finding if tally[finding]}


Results = Sequence[tuple[Item, Reproduced]]


@dataclass(frozen=True)
class Paper:
    """The page of a paper: some of the items of a source, with their claims and exhibits.

    Parameters
    ----------
    name, source : str
        Of the page, and the letter of its items.
    about : tuple of str
        Sentences that open the page.
    shown : callable
        Whether the page shows an item.
    summary : callable
        Exhibits made from all of them.
    """

    name: str
    source: str
    about: tuple[str, ...]
    shown: Callable[[Item], bool] = lambda item: True
    summary: Callable[[Results], Iterable[Exhibit]] = lambda results: ()

    def __call__(self, quick: bool = False) -> PaperReport:
        """Compute the items again; ``quick`` asks for coarse grids and few instances."""
        begun, (authors, title) = time.monotonic(), SOURCES[self.source]
        results = tuple(reproduce(filter(self.shown, chosen(self.source)), Setting(quick)))
        return PaperReport(
            name=self.name,
            title=title,
            authors=authors,
            about=self.about,
            claims=tuple(claim for item, one in results for claim in claims_of(item, one)),
            exhibits=(*(exhibit for _, one in results for exhibit in one.exhibits), *self.summary(results)),
            seconds=time.monotonic() - begun,
        )


def claims_of(item: Item, one: Reproduced) -> tuple[Claim, ...]:
    """What the page of a paper lists for an item."""
    if one.claims is not None:
        return one.claims
    where = f"{item.place} [{item.name}]"
    return (Claim(item.states, where, item.printed or "stated", one.ours, one.finding, one.why),)


_PAPERS = Catalogue[Paper]("a paper", "privopt.benchmarks.papers.items")


def register_paper(paper: Paper) -> Paper:
    """Enter the page of a paper under its name.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    _PAPERS.add(paper.name, paper)
    return paper


def papers() -> dict[str, Paper]:
    """The page of every paper by name.

    Examples
    --------
    >>> "redaction" in papers()
    True
    """
    return _PAPERS.items()


def find_paper(name: str) -> Paper:
    """The page of that name.

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    return _PAPERS.find(name)

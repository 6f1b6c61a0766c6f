"""What the papers print, item by item: a table of all items, and the code that computes each of them again."""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import numpy as np

from privopt._isolate import describe
from privopt.benchmarks._papers import Exhibit, Finding
from privopt.benchmarks.catalogue import Catalogue
from privopt.errors import InvalidProblem

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
    """How an item is to be computed: ``quick`` asks for coarse grids and few instances."""

    quick: bool = False
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
    """

    ours: str
    finding: Finding
    why: str
    exhibits: tuple[Exhibit, ...] = ()
    seconds: float = field(default=0.0, kw_only=True)


Check = Callable[[Setting], Reproduced]
_CHECKS = Catalogue[Check]("an item", "privopt.benchmarks.reproduction")
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
    text = files("privopt.benchmarks.reproduction").joinpath("items.csv").read_text(encoding="utf-8")
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
    asked: Iterable[Item], setting: Setting, progress: Callable[[float, str], None] | None = None
) -> Iterator[tuple[Item, Reproduced]]:
    """Compute items one after the other; one without code is open, one that raises has failed."""
    checks, todo = _CHECKS.items(), tuple(asked)
    for done, item in enumerate(todo):
        if progress is not None:
            progress(done / len(todo), item.name)
        yield item, _computed(checks.get(item.name), setting)


def _computed(check: Check | None, setting: Setting) -> Reproduced:
    if check is None:
        return Reproduced("", Finding.OPEN, _NOTHING)
    begun = time.monotonic()
    try:
        found = check(setting)
    except Exception as cause:  # noqa: BLE001 - one item that fails must not end the others; its reason is the verdict
        found = Reproduced("", Finding.FAILED, describe(cause))
    return Reproduced(found.ours, found.finding, found.why, found.exhibits, seconds=time.monotonic() - begun)


def counts(found: Iterable[Reproduced]) -> dict[str, int]:
    """How many items there are of each finding, in the order of findings."""
    tally = Counter(one.finding for one in found)
    return {finding.value: tally[finding] for finding in Finding if tally[finding]}

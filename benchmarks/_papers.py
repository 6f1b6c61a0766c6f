"""Papers computed again: their figures and tables with ours beside them, and what they print checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from privopt.benchmarks.catalogue import Catalogue

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
    svg : str
        The figure, empty for a table or where matplotlib is not installed.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    svg: str = ""


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


Paper = Callable[[bool], PaperReport]
"""Computes a report; True asks for coarse grids only."""

_CATALOGUE = Catalogue[Paper]("a paper", "privopt.benchmarks.papers")


P = TypeVar("P", bound=Paper)


def register_paper(name: str) -> Callable[[P], P]:
    """Decorate the function that computes a paper's report.

    Raises
    ------
    ValueError
        If the name is taken.
    """

    def enter(paper: P) -> P:
        _CATALOGUE.add(name, paper)
        return paper

    return enter


def papers() -> dict[str, Paper]:
    """Every registered paper by name, in the order of names.

    Examples
    --------
    >>> "redaction" in papers()
    True
    """
    return _CATALOGUE.items()


def find_paper(name: str) -> Paper:
    """The paper of that name.

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    return _CATALOGUE.find(name)

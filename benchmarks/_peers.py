"""Peers: functions that do the work of a question with another tool; found by scanning a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

from privopt._problem import Problem
from privopt.benchmarks.catalogue import Catalogue
from privopt.mechanisms import Mechanism


@dataclass(frozen=True)
class PeerAnswer:
    """What a peer made of a question, as it came out of the tool.

    Parameters
    ----------
    mechanism : Mechanism
        Rebuilt from the tool's numbers with no repair.
    claimed : float or None
        The objective the tool says it reached, in the sense of the question (larger is better); None if it says none.
    """

    mechanism: Mechanism
    claimed: float | None = None


Work: TypeAlias = Callable[[Any, float], PeerAnswer]
"""Does the work of a problem within some seconds; whatever it raises becomes the reason of its row."""
Fits: TypeAlias = Callable[[Any], str | None]
"""Why a peer does not take a problem, in a sentence; None if it does."""


def _takes_all(problem: Problem[Any]) -> str | None:
    """Take everything."""
    return None


@dataclass(frozen=True)
class Peer:
    """A tool at work on one kind of question; ``requires`` are the modules that it needs."""

    question: str
    name: str
    work: Work
    requires: tuple[str, ...] = ()
    fits: Fits = _takes_all

    @property
    def key(self) -> str:
        """Question and name."""
        return f"{self.question}/{self.name}"

    def refusal(self, problem: Problem[Any]) -> str | None:
        """Why it cannot be asked: a package that is absent, or a problem of another shape; None if it can."""
        absent = [name for name in self.requires if find_spec(name) is None]
        if absent:
            return f"package {', '.join(absent)} is not installed; pip install 'privopt[peers]'"
        return self.fits(problem)


_CATALOGUE = Catalogue[Peer]("a peer", "privopt.benchmarks.peers")


def register_peer(
    question: str, name: str, requires: tuple[str, ...] = (), fits: Fits = _takes_all
) -> Callable[[Work], Work]:
    """Decorate the function that does the work.

    Raises
    ------
    ValueError
        If the question has a peer of that name.
    """

    def enter(work: Work) -> Work:
        peer = Peer(question, name, work, requires, fits)
        _CATALOGUE.add(peer.key, peer)
        return work

    return enter


def peers() -> dict[str, Peer]:
    """Every registered peer by "question/name", in that order.

    Examples
    --------
    >>> "boundary_colouring/networkx" in peers()
    True
    """
    return _CATALOGUE.items()


def find_peer(key: str) -> Peer:
    """The peer of that "question/name".

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    return _CATALOGUE.find(key)

"""Catalogues: things that register under a name and are found by scanning a folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Generic, TypeVar

from privopt.errors import InvalidProblem

T = TypeVar("T")
_SCANNED: dict[str, None] = {}


class Catalogue(Generic[T]):
    """Items by name; each public module of a package enters its own when it is imported.

    Parameters
    ----------
    what : str
        What an item is called, with its article: "a measurement".
    packages : str
        The packages that are scanned, with those inside them; what begins with an underscore is not.

    Examples
    --------
    >>> shelf = Catalogue[int]("a number", "privopt.benchmarks.papers.items")
    >>> shelf.add("one", 1)
    >>> shelf.add("one", 2)
    Traceback (most recent call last):
    ValueError: a number 'one' is registered twice; give one of them another name
    """

    def __init__(self, what: str, *packages: str) -> None:
        self._what, self._packages = what, packages
        _SCANNED.update(dict.fromkeys(packages))
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Enter an item.

        Raises
        ------
        ValueError
            If the name is taken.
        """
        if name in self._items:
            raise ValueError(f"{self._what} {name!r} is registered twice; give one of them another name")
        self._items[name] = item

    def items(self) -> dict[str, T]:
        """Every item by name, in the order of names."""
        for package in self._packages:
            _scan(package)
        return dict(sorted(self._items.items()))

    def find(self, name: str) -> T:
        """The item of that name.

        Raises
        ------
        InvalidProblem
            If there is none.
        """
        known = self.items()
        if name not in known:
            raise InvalidProblem(
                f"there is no {self._what.partition(' ')[2]} {name!r}; there are {', '.join(known)}"
            )
        return known[name]


@cache
def _scan(package: str) -> None:
    """Import every public module of a package, once."""
    for entry in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
        if not entry.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(entry.name)
            if entry.ispkg:
                _scan(entry.name)


def scanned() -> tuple[str, ...]:
    """Every package that a catalogue scans, so that a test can ask each file in them what it registers."""
    return tuple(_SCANNED)

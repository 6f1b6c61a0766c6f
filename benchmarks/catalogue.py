"""Catalogues: things that register under a name and are found by scanning folders."""

from __future__ import annotations

from typing import Generic, TypeVar

from privopt.core.folders import import_below
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
            import_below(package)
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


def scanned() -> tuple[str, ...]:
    """Every package that a catalogue scans, so that a test can ask each file in them what it registers."""
    return tuple(_SCANNED)

"""Catalogues: things that register under a name and are found by scanning folders."""

from __future__ import annotations

import sys
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
    privopt.errors.InvalidProblem: a number 'one' is registered twice, in ... line 1, and in ... line 1; give one of them another name
    """

    def __init__(self, what: str, *packages: str) -> None:
        self._what, self._packages = what, packages
        _SCANNED.update(dict.fromkeys(packages))
        self._items: dict[str, T] = {}
        self._places: dict[str, str] = {}

    def add(self, name: str, item: T) -> None:
        """Enter an item.

        Raises
        ------
        InvalidProblem
            If the name is taken, with both places; a ``ValueError``.
        """
        place = _place()
        if name in self._items:
            raise InvalidProblem(
                f"{self._what} {name!r} is registered twice, in {self._places.get(name, 'another file')}, and in {place}; "
                "give one of them another name"
            )
        self._items[name], self._places[name] = item, place

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


def _place() -> str:
    """The file and line that register something now: the nearest call that is of no ``register_...`` function."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_name.startswith("register"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


def scanned() -> tuple[str, ...]:
    """Every package that a catalogue scans, so that a test can ask each file in them what it registers."""
    return tuple(_SCANNED)

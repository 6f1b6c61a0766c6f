"""Cells and tables: what is shown, and what it sorts by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privopt.files.text import number


@dataclass(frozen=True)
class Cell:
    """A cell whose text differs from what it sorts by; a key that is a number sits to the right.

    A key of NaN stands for a missing number: it sorts last, upwards and downwards.
    """

    text: str
    key: float | str | None = None
    kind: str = ""

    @property
    def value(self) -> float | str | None:
        """What a data file holds: the number, None where it is missing, else the text."""
        if isinstance(self.key, str) or self.key is None:
            return self.text
        return None if math.isnan(self.key) else self.key


@dataclass(frozen=True)
class Head:
    """The name of a column."""

    text: str


@dataclass(frozen=True)
class Table:
    """A captioned table, whatever it is written as; ``name`` is that of its files and its place in the page."""

    name: str
    caption: str
    header: tuple[Head, ...]
    lines: tuple[tuple[Cell | str, ...], ...]

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        return tuple(any(is_number(line[i]) for line in self.lines) for i in range(len(self.header)))


def quantity(value: float | None, digits: int = 5, suffix: str = "") -> Cell:
    """A number, or an empty cell that sorts last.

    Examples
    --------
    >>> quantity(0.123456789)
    Cell(text='0.12346', key=0.123456789, kind='')
    >>> quantity(None).value is None
    True
    """
    return Cell("", math.nan) if value is None else Cell(number(value, digits) + suffix, value)


def is_number(cell: Cell | str) -> bool:
    """Whether a cell sorts as a number."""
    return isinstance(cell, Cell) and isinstance(cell.key, (int, float))

"""Cells and tables: what is shown, what it sorts by, and how both become HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from privopt.files.text import number

LONG = 300
"""Lines above which a browser lays a table out only when it comes into view."""


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
    """A column: its name, what a filter reads in it ("solver", ``question``, "instance"), or whose column it is."""

    text: str
    role: str = ""
    solver: str = ""


@dataclass(frozen=True)
class Table:
    """A captioned table, whatever it is written as; ``name`` is that of its files and its place in the page."""

    name: str
    caption: str
    header: tuple[Head, ...]
    lines: tuple[tuple[Cell | str, ...], ...]
    sortable: bool = True

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        return tuple(any(is_number(line[i]) for line in self.lines) for i in range(len(self.header)))

    def without(self, role: str) -> Table:
        """The table without the columns of a role."""
        return self._only([i for i, head in enumerate(self.header) if head.role != role])

    def trimmed(self) -> Table:
        """The table without columns in which nothing stands."""
        kept = [i for i in range(len(self.header)) if any(text(line[i]) for line in self.lines)]
        return self._only(kept)

    def _only(self, kept: list[int]) -> Table:
        lines = tuple(tuple(line[i] for i in kept) for line in self.lines)
        return replace(self, header=tuple(self.header[i] for i in kept), lines=lines)

    def html(self) -> str:
        """As HTML; everything in it is escaped."""
        return table(self.header, self.lines, self.caption, sortable=self.sortable, name=self.name)


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


def text(cell: Cell | str) -> str:
    """What a cell shows."""
    return cell if isinstance(cell, str) else cell.text


def is_number(cell: Cell | str) -> bool:
    """Whether a cell sorts as a number."""
    return isinstance(cell, Cell) and isinstance(cell.key, (int, float))


def table(
    header: Sequence[str | Head],
    rows: Iterable[Sequence[Cell | str]],
    caption: str,
    *,
    sortable: bool = True,
    name: str = "",
) -> str:
    """A captioned HTML table; everything in it is escaped."""
    lines = list(rows)
    numeric = [any(is_number(line[i]) for line in lines) for i in range(len(header))]
    head = "".join(_head(one, right) for one, right in zip(header, numeric, strict=True))
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in lines)
    kind = ' class="sortable"' if sortable else ""
    size = " long" if len(lines) > LONG else ""
    named = f' data-name="{html.escape(name)}"' if name else ""
    return (
        f'<div class="scroll{size}" tabindex="0" role="region" aria-label="{html.escape(caption)}"><table{kind}{named}>'
        f"<caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n"
    )


def _head(head: str | Head, right: bool) -> str:
    one = Head(head) if isinstance(head, str) else head
    role = f' data-role="{one.role}"' if one.role else ""
    solver = f' data-solver="{html.escape(one.solver)}"' if one.solver else ""
    return f'<th scope="col"{" class=number" * right}{role}{solver}>{html.escape(one.text)}</th>'


def _cell(cell: Cell | str) -> str:
    """A number is known by its key, and needs no class of its own: tables are most of a large page."""
    entry = cell if isinstance(cell, Cell) else Cell(cell)
    key = f' data-key="{html.escape(_key(entry.key))}"' if entry.key is not None else ""
    kind = f' class="{entry.kind}{" number" * is_number(entry)}"' if entry.kind else ""
    return f"<td{kind}{key}>{html.escape(entry.text)}</td>"


def _key(key: float | str | None) -> str:
    """What a script sorts by: numbers to nine digits, nothing for a missing one."""
    if isinstance(key, float):
        return "" if math.isnan(key) else str(float(f"{key:.9g}"))
    return str(key)

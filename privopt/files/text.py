"""How things are written for people: numbers, plain tables, escaped HTML tables."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def number(value: float | None, digits: int = 6) -> str:
    """A number for a sentence or a table cell; nothing for None.

    Examples
    --------
    >>> number(0.30000000000000004), number(float("inf")), number(None)
    ('0.3', 'inf', '')
    """
    if value is None:
        return ""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.{digits}g}"


def html_table(rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """An HTML table of escaped cells.

    Examples
    --------
    >>> html_table([("a<b", 1)])
    '<table><tbody><tr><td>a&lt;b</td><td>1</td></tr></tbody></table>'
    """

    def line(cells: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    head = f"<thead>{line(header, 'th')}</thead>" if header else ""
    return f"<table>{head}<tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"


class Member(Protocol):
    """A member of an enumeration whose values are sentences."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def value(self) -> str:
        """Its sentence."""
        ...


class Named:
    """An enumeration shown by the name of its member, with the member's sentence beside it in HTML."""

    def __str__(self: Member) -> str:
        return self.name

    def _repr_html_(self: Member) -> str:
        return html_table([(self.name, self.value)])


def fields_html(item: DataclassInstance, title: str) -> str:
    """The fields of a dataclass as an HTML table, under a title row."""
    rows = [(f.name, getattr(item, f.name)) for f in fields(item)]
    return html_table([(name, number(v) if isinstance(v, float) else v) for name, v in rows], (title, ""))


def plain_table(rows: Iterable[Sequence[object]], header: Sequence[str]) -> str:
    """A table of aligned columns for a terminal.

    Examples
    --------
    >>> print(plain_table([("windows", 0.5)], ("solver", "utility")))
    solver   utility
    windows  0.5
    """
    cells = [tuple(header), *(tuple(str(c) for c in row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells
    )

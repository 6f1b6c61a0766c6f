"""HTML tables whose cells sort by something else than their text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from privopt._text import number


@dataclass(frozen=True)
class Cell:
    """A cell whose text differs from what it sorts by; a key that is a number sits to the right."""

    text: str
    key: float | str | None = None
    kind: str = ""


def quantity(value: float | None, digits: int = 5, suffix: str = "") -> Cell:
    """A number, or an empty cell that sorts last.

    Examples
    --------
    >>> quantity(0.123456789)
    Cell(text='0.12346', key=0.123456789, kind='')
    """
    return Cell(
        "" if value is None else number(value, digits) + suffix, float("-inf") if value is None else value
    )


def table(
    header: Sequence[str], rows: Iterable[Sequence[Cell | str]], caption: str, *, sortable: bool = True
) -> str:
    """A captioned HTML table; everything in it is escaped."""
    lines = list(rows)
    numeric = [bool(lines) and _numeric(cell) for cell in (lines[0] if lines else header)]
    head = "".join(
        f'<th scope="col"{" class=number" * right}>{html.escape(name)}</th>'
        for name, right in zip(header, numeric, strict=True)
    )
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in lines)
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(caption)}"><table{kind}>'
        f"<caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _numeric(cell: Cell | str) -> bool:
    return isinstance(cell, Cell) and isinstance(cell.key, (int, float))


def _cell(cell: Cell | str) -> str:
    given = cell if isinstance(cell, Cell) else Cell(cell)
    kinds = [given.kind] if given.kind else []
    key = ""
    if given.key is not None:
        key = f' data-key="{html.escape(str(given.key))}"'
        kinds += ["number"] if _numeric(given) else []
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return f"<td{kind}{key}>{html.escape(given.text)}</td>"

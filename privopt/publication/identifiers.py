"""Columns that look like identifiers: nearly every row has a value of its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from privopt.models.columns import as_number
from privopt.models.validation import is_missing

ENOUGH = 20
"""Rows below which distinct values mean nothing."""

NEARLY_ALL = 0.95
"""Share of different values among the rows from which on a column looks like an identifier."""


def many_different(count: int, rows: int) -> bool:
    """Whether nearly every row has a value of its own.

    Examples
    --------
    >>> many_different(95, 100), many_different(94, 100), many_different(10, 10)
    (True, False, False)
    """
    return rows >= ENOUGH and count >= NEARLY_ALL * rows


def looks_like_identifier(cells: Sequence[Hashable]) -> bool:
    """Whether nearly every cell that is not missing is different, and they are no measurements with digits after the point.

    Examples
    --------
    >>> looks_like_identifier(range(100)), looks_like_identifier([f"K{i}" for i in range(100)])
    (True, True)
    >>> looks_like_identifier([i / 7 for i in range(100)]), looks_like_identifier(["a", "b"] * 50)
    (False, False)
    """
    known = [cell for cell in cells if not is_missing(cell) and cell != ""]
    different = set(known)
    if not many_different(len(different), len(known)):
        return False
    numbers = [as_number(cell) for cell in different]
    return all(number is None or number.is_integer() for number in numbers)


def identifier_notes(columns: Mapping[str, Sequence[Hashable]], what_to_do: str) -> list[str]:
    """A sentence for each column that looks like an identifier; ``what_to_do`` ends it, with ``{name}`` for the column.

    Examples
    --------
    >>> identifier_notes({"id": range(30), "vote": ["a"] * 30}, "leave {name!r} out")
    ["column 'id' has 30 different values in 30 rows, like an identifier (a number of a customer, an account): leave 'id' out"]
    """
    return [
        f"column {name!r} has {len(set(cells))} different values in {len(cells)} rows, like an identifier (a number of a customer, an "
        f"account): {what_to_do.format(name=name)}"
        for name, cells in columns.items()
        if looks_like_identifier(cells)
    ]

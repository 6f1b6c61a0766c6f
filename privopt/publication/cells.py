"""From cells of text to the rows of a release: which columns are numbers, and in which order values stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from privopt.errors import InvalidModel
from privopt.files.labels import Label
from privopt.models.columns import as_number
from privopt.publication.people import DATES, FEW, MOST_VALUES, People, Rules, looks_like_dates

if TYPE_CHECKING:
    import pandas as pd


def people_of_cells(cells: Mapping[str, Sequence[str]], rules: Rules) -> tuple[People, Rules]:
    """The rows of a table of text, and the rules with the order of values written out.

    A column is numbers where a rule for intervals names it, or where it holds more than a dozen numbers and no rule names it; all
    others stay as they are written, and the few numbers of a column stand in their order. An empty order means that of numbers, or of
    letters.

    Raises
    ------
    InvalidModel
        With the row of a cell that is no number where numbers are needed; the cell is private and is not quoted.

    Examples
    --------
    >>> people, rules = people_of_cells({"size": ["10", "2", ""]}, Rules({}, {}, {}, None))
    >>> people.frame["size"].tolist(), rules.order
    (['10', '2', None], {'size': ['2', '10']})
    """
    import pandas as pd

    columns: dict[str, pd.Series[float] | pd.Series[str]] = {}
    orders: dict[str, Sequence[Label]] = dict(rules.order)
    for name, texts in cells.items():
        distinct = sorted({text for text in texts if text})
        many = len(distinct) > max(MOST_VALUES, len(texts) // 100)
        own = not rules.mention(name)
        known = _numbers(name, texts, distinct, name in rules.bins, many, own)
        if known is not None and (name in rules.bins or (not rules.mention(name) and len(distinct) > FEW)):
            columns[name] = pd.Series([known.get(text) for text in texts], dtype="float64")
            continue
        columns[name] = pd.Series([text or None for text in texts], dtype=object)
        if name in orders and not orders[name]:
            orders[name] = distinct if known is None else _sorted(known)
        elif known is not None and not rules.mention(name):
            orders[name] = _sorted(known)
    return People(pd.DataFrame(columns), cells), replace(rules, order=orders)


def _sorted(numbers: Mapping[str, float]) -> list[str]:
    """Texts in the order of their numbers."""
    return sorted(numbers, key=numbers.__getitem__)


def _numbers(
    name: str, texts: Sequence[str], distinct: Sequence[str], wanted: bool, many: bool, own: bool
) -> dict[str, float] | None:
    """The number of each text of a column, None where it holds others; where they must be numbers, a cell that is none is refused."""
    numbers = {text: as_number(text) for text in distinct}
    known = {text: number for text, number in numbers.items() if number is not None}
    if len(known) == len(numbers):
        return known
    odd = [row for row, text in enumerate(texts, 1) if text and text not in known]
    if wanted:
        if looks_like_dates(distinct[:1]):
            raise InvalidModel(f"column {name!r} {DATES}")
        raise InvalidModel(
            f"row {odd[0]}: {name!r} is not a number; empty the cell if it is missing, or give {name!r} no bins"
        )
    if (many or (own and len(known) > FEW)) and 2 * len(odd) < len(texts):
        raise InvalidModel(
            f"row {odd[0]}: {name!r} is not a number, as are {len(odd)} cells in all: empty those that stand for a missing value, or give "
            f"{name!r} an order in which they stand"
        )
    return None

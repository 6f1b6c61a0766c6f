"""From a frame of people to the joint distribution that a release rests on, with what was chosen on the way in words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidModel
from privopt.files.labels import Label
from privopt.models import JointDistribution
from privopt.models.columns import MISSING_RULES, Column, TableColumns
from privopt.models.hierarchies import Hierarchies
from privopt.models.intervals import Bins, edges_of
from privopt.models.validation import is_missing, sorted_labels
from privopt.publication.alike import alike_notes
from privopt.publication.identifiers import identifier_notes, many_different
from privopt.publication.words import share

if TYPE_CHECKING:
    import narwhals as nw

FEW = 12
"""Distinct numbers of a column up to which they are values, in their order; more are put into intervals."""

ROWS_EACH = 60
"""Rows that a combination of values has on average, where the intervals are chosen here."""

INTERVALS = (3, 10)
"""The fewest and the most intervals that are chosen here."""

OF_SECRET = 4
"""Intervals of a secret number."""

SMALL_PART = 50
"""One in so many rows makes an interval where nearly all numbers are the same."""

MOST_VALUES = 50
"""Values of a column of text beyond which it must have at least a hundred rows for each."""

SMALL = 5
"""Rows below which a cell is called small."""

LEAVE_OUT = (
    "it says nothing about people but who they are, so leave {name} out; where it is a measurement, give its intervals yourself (--bins "
    "{name}=..., in Python bins)"
)
"""What to do with a column that looks like an identifier."""

MOST_SYMBOLS = 400
"""Combinations beyond which the rarest ones are put together, so that people can read a codebook of them."""


DATES = (
    "holds dates, each of which few rows share: put years, months or ages in its place (in pandas: to_datetime(...).dt.year); of many numbers "
    "intervals are made"
)
"""What is said of a column of dates."""

_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}")


@dataclass(frozen=True)
class People:
    """The rows to be released.

    Parameters
    ----------
    frame : pandas or Polars frame
    cells : mapping of names to texts
        The columns that are used as they are written; empty where missing.
    """

    frame: Any
    cells: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Rules:
    """How columns are read where somebody said so; the rest is chosen."""

    bins: Mapping[str, Bins]
    order: Mapping[str, Sequence[Label]]
    hierarchies: Hierarchies
    minimum_count: int | None
    missing: str = "symbol"

    def mention(self, name: str) -> bool:
        """Whether they say how a column is read."""
        return name in self.bins or name in self.order or name in self.hierarchies


def roles(secret: str | Sequence[str], columns: str | Sequence[str]) -> tuple[list[str], list[str]]:
    """The secret columns and those to be released.

    Raises
    ------
    InvalidModel
        If there are none, or a column is both.

    Examples
    --------
    >>> roles("income", ["age", "school"])
    (['income'], ['age', 'school'])
    """
    hidden, shown = ([names] if isinstance(names, str) else list(names) for names in (secret, columns))
    if not hidden or not shown:
        raise InvalidModel("name at least one secret column and at least one column to release")
    for name in shown:
        if name in hidden:
            raise InvalidModel(
                f"the column {name!r} is the secret, so it cannot be released as well: leave it out of the columns"
            )
    return hidden, shown


def people_of(frame: object, names: Sequence[str]) -> People:
    """The rows of a frame, with the text of the columns that are used.

    Raises
    ------
    InvalidModel
        If it is no eager frame, has no rows, or lacks a column.

    Examples
    --------
    >>> import pandas as pd
    >>> people_of(pd.DataFrame({"age": [30, None], "vote": ["a", "b"]}), ["age"]).cells
    {'age': ['30.0', '']}
    """
    data = eager(frame)
    if len(data) == 0:
        raise InvalidModel("the frame has no rows: there is nobody to release anything of")
    lacking = [name for name in names if name not in data.columns]
    if lacking:
        raise InvalidModel(
            f"there is no column {lacking[0]!r}; there are {', '.join(map(repr, data.columns))}"
        )
    texts = {name: [text_of_cell(cell) for cell in data[name].to_list()] for name in names}
    return People(frame, texts)


def eager(frame: object) -> nw.DataFrame[Any]:
    """The frame through narwhals.

    Raises
    ------
    InvalidModel
        If it is lazy, or no frame.
    """
    import narwhals as nw

    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError as cause:
        raise InvalidModel(
            f"frame is a {type(frame).__name__}: give a pandas or Polars data frame, collected if it is lazy"
        ) from cause


def text_of_cell(cell: object) -> str:
    """A cell as text, empty where it is missing."""
    return "" if is_missing(cell) else str(cell)


def count_people(
    people: People, hidden: Sequence[str], shown: Sequence[str], rules: Rules
) -> tuple[JointDistribution, tuple[str, ...]]:
    """The joint distribution of secret and released columns, and what was chosen, a sentence each.

    Numbers of more than a dozen values become intervals, fewer ones keep their order; a missing value is a value of its own, or
    rules say otherwise; combinations of very few rows are put together.

    Raises
    ------
    InvalidModel
        If a column has too many values that are no numbers, or a rule does not fit.
    """
    if rules.missing not in MISSING_RULES:
        raise InvalidModel(f"missing is {rules.missing!r}: give one of {', '.join(MISSING_RULES)}")
    data = eager(people.frame)
    missing = len(data) - len(_whole(people))
    order = {**_own_orders(data, (*hidden, *shown), rules), **rules.order}
    bins = intervals_of(people, hidden, shown, rules)

    def counted(least: int) -> JointDistribution:
        return JointDistribution.from_frame(
            people.frame,
            list(hidden),
            list(shown),
            bins=bins,
            order=order,
            missing=rules.missing if missing or rules.missing != "symbol" else "refuse",
            minimum_count=least,
            hierarchies=rules.hierarchies,
        )

    least = rules.minimum_count
    joint = counted(least or 0)
    if least is None and (least := _least_count(joint, _rows(joint))):
        joint = counted(least)
    unruled = {name: data[name].to_list() for name in (*hidden, *shown) if not rules.mention(name)}
    notes = identifier_notes(unruled, LEAVE_OUT)
    noted = _notes(joint, missing, [name for name in bins if name not in rules.bins])
    if joint.columns is not None:
        notes += alike_notes((*joint.columns.sensitive, *joint.columns.useful))
    return joint, (*notes, *_without_secret(people, hidden, rules), *noted)


def _without_secret(people: People, hidden: Sequence[str], rules: Rules) -> tuple[str, ...]:
    """That rows without a secret have one more value of it, which few rows have, so that it decides what the others may keep."""
    if rules.missing != "symbol":
        return ()
    said = []
    for name in hidden:
        cells = people.cells[name]
        if few := sum(not cell for cell in cells):
            said.append(
                f'{few} of {len(cells)} rows have no {name}: "(missing)" is protected as one more value of the secret, which may cost much of '
                "what is kept, most of all with a confidence; take these rows out of the data if that is not meant"
            )
    return tuple(said)


def complete(people: People, rules: Rules) -> People:
    """The rows that are released: all, or where a rule drops rows with missing values, the others.

    Examples
    --------
    >>> import pandas as pd
    >>> people = people_of(pd.DataFrame({"age": ["30", None], "vote": ["a", "b"]}), ["age", "vote"])
    >>> complete(people, Rules({}, {}, {}, None, "drop")).cells
    {'age': ['30'], 'vote': ['a']}
    """
    kept = _whole(people)
    if rules.missing != "drop" or len(kept) == len(eager(people.frame)):
        return people
    frame = eager(people.frame)[kept].to_native()
    return People(frame, {name: [cells[i] for i in kept] for name, cells in people.cells.items()})


def _whole(people: People) -> list[int]:
    """The rows that lack nothing."""
    return [i for i, row in enumerate(zip(*people.cells.values(), strict=True)) if all(row)]


def _numbers(values: nw.Series[Any]) -> set[Any] | None:
    """The distinct numbers of a column; None where it holds something else."""
    if not values.dtype.is_numeric():
        return None
    return {value for value in values.to_list() if not is_missing(value)}


def _own_orders(data: nw.DataFrame[Any], names: Sequence[str], rules: Rules) -> dict[str, list[Label]]:
    """The order of numbers that are few."""
    orders: dict[str, list[Label]] = {}
    for name in names:
        if not rules.mention(name):
            numbers = _numbers(data[name])
            if numbers and len(numbers) <= FEW:
                orders[name] = sorted_labels(numbers)
    return orders


def _own_bins(
    data: nw.DataFrame[Any], hidden: Sequence[str], shown: Sequence[str], rules: Rules
) -> dict[str, list[float]]:
    """Intervals of numbers that are many."""
    many: list[str] = []
    others = 1
    for name in (*hidden, *shown):
        numbers = _numbers(data[name])
        if not rules.mention(name) and numbers is not None and len(numbers) > FEW:
            many.append(name)
        elif name in shown:
            others *= max(1, _count(data[name], numbers, rules))
        elif not rules.mention(name) and numbers is None:
            _values_of(data[name], len(data))
    released = [name for name in many if name in shown]
    each = min(len(data) / ROWS_EACH, MOST_SYMBOLS) / others
    wide = int(each ** (1 / len(released))) if released else 0
    intervals = min(max(wide, INTERVALS[0]), INTERVALS[1])
    return {name: _edges(data[name], intervals if name in shown else OF_SECRET) for name in many}


def _count(values: nw.Series[Any], numbers: set[Any] | None, rules: Rules) -> int:
    """How many values a column has as it is read."""
    if values.name in rules.bins and numbers:
        return len(edges_of(np.array(sorted(map(float, numbers))), values.name, rules.bins[values.name])) - 1
    if numbers is not None:
        return len(numbers)
    return int(values.n_unique()) if rules.mention(values.name) else _values_of(values, len(values))


def _edges(values: nw.Series[Any], count: int) -> list[float]:
    """Edges of as many intervals of equally many rows as there can be; where one number fills nearly all, it stands alone."""
    numbers = np.array([float(value) for value in values.to_list() if not is_missing(value)])
    edges = edges_of(numbers, values.name, f"quantiles:{count}")
    if len(edges) < 3:
        edges = edges_of(numbers, values.name, f"minimum:{max(1, len(numbers) // SMALL_PART)}")
    return _outward(edges.tolist(), numbers)


def _outward(edges: list[float], numbers: Floats) -> list[float]:
    """Edges whose ends are round numbers beyond all values: the least and the largest belong to somebody, and names of intervals are read by all.

    An interval of one value only, which many rows share, keeps its end.
    """
    step = 10.0 ** math.floor(math.log10(edges[-1] - edges[0]))
    low, high = step * math.floor(edges[0] / step), step * math.ceil(edges[-1] / step)
    first = len(np.unique(numbers[numbers < edges[1]])) > 1
    last = len(np.unique(numbers[numbers >= edges[-2]])) > 1
    if first and math.isfinite(low):
        edges = [min(float(f"{low:.12g}"), edges[0]), *edges[1:]]
    if last and math.isfinite(high):
        edges = [*edges[:-1], max(float(f"{high:.12g}"), edges[-1])]
    return edges


def _values_of(values: nw.Series[Any], rows: int) -> int:
    """How many values a column of text has, which must not be too many."""
    count = int(values.drop_nulls().n_unique())
    if count > max(MOST_VALUES, rows // 100):
        if looks_like_dates(values.drop_nulls().head(1).to_list()):
            raise InvalidModel(f"column {values.name!r} {DATES}")
        named = ", as an identifier should be" if many_different(count, rows) else ""
        raise InvalidModel(
            f"column {values.name!r} has {count} values in {rows} rows, and they are no numbers that could be put into intervals: "
            f"too few rows share one. Merge its values into at most 50 first, or leave it out{named}"
        )
    return count


def looks_like_dates(cells: Sequence[object]) -> bool:
    """Whether cells are dates, or text as dates are written.

    Examples
    --------
    >>> looks_like_dates(["03/11/1982"]), looks_like_dates(["1982-11-03 10:00"]), looks_like_dates(["75001"])
    (True, True, False)
    """
    return bool(cells) and all(
        isinstance(cell, date) or _DATE.match(cell if isinstance(cell, str) else "") is not None
        for cell in cells
    )


def _least_count(joint: JointDistribution, rows: int) -> int:
    """The least count that leaves few enough combinations, each of ten rows, or of one in a hundred if that is fewer."""
    counts = np.rint(joint.p_x * rows)
    least = min(10, rows // 100)
    while int((counts >= least).sum()) > MOST_SYMBOLS:
        least *= 2
    return least if least > 1 and bool((counts < least).any()) and bool((counts >= least).any()) else 0


def intervals_of(
    people: People, hidden: Sequence[str], shown: Sequence[str], rules: Rules
) -> dict[str, Bins]:
    """The rule for the intervals of each column of numbers that is put into some, the chosen ones among them.

    Raises
    ------
    InvalidModel
        If a column has too many values that are no numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> people = people_of(pd.DataFrame({"age": range(40), "vote": ["a", "b"] * 20}), ["age", "vote"])
    >>> intervals_of(people, ["vote"], ["age"], Rules({}, {}, {}, None))
    {'age': [0.0, 13.0, 26.0, 40.0]}
    """
    return {**_own_bins(eager(people.frame), hidden, shown, rules), **rules.bins}


def _rows(joint: JointDistribution) -> int:
    """Rows that were counted."""
    if joint.columns is None:
        raise InvalidModel("the joint was not counted from a table")
    return joint.columns.rows


def _notes(joint: JointDistribution, missing: int, binned: Sequence[str]) -> tuple[str, ...]:
    """What was chosen, a sentence each."""
    columns = joint.columns
    if columns is None:
        raise InvalidModel("the joint was not counted from a table")
    said = [
        _binned(column, columns) for column in (*columns.sensitive, *columns.useful) if column.name in binned
    ]
    if missing and columns.dropped:
        said.append(f"{missing} of {columns.rows + missing} rows have a missing value and were left out")
    elif missing:
        said.append(
            f'{missing} of {columns.rows} rows have a missing value, which is a value of its own: "(missing)"'
        )
    if columns.minimum_count and columns.rare in joint.useful:
        rare = float(joint.p_x[joint.useful.index(columns.rare)])
        said.append(
            f"combinations of the released columns that fewer than {columns.minimum_count} rows have are one, "
            f'"(rare)": {share(rare)} of the rows'
        )
    small, filled = joint.small_cells(SMALL), joint.small_cells(columns.rows + 1)
    if small:
        said.append(
            f"{small} of {filled} pairs of a secret and a combination that occur have fewer than {SMALL} rows: what is known of how "
            "people are spread rests on these few; coarser intervals or a larger minimum count makes fewer"
        )
    return tuple(said)


def chosen_by_rows(joint: JointDistribution, rules: Rules) -> tuple[str, ...]:
    """That what the rows themselves decided makes a confidence a little too high; nothing where they decided nothing."""
    columns = joint.columns
    if columns is None:
        return ()
    binned = [column.name for column in (*columns.sensitive, *columns.useful) if column.kind == "binned"]
    made = [f"the intervals of {name}" for name in binned if not _is_fixed(rules.bins.get(name))]
    made += ["which combinations are rare"] * bool(columns.minimum_count)
    if not made:
        return ()
    return (
        f"these rows chose {', '.join(made)}: the confidence is a little too high; edges and values that are fixed beforehand keep it",
    )


def _is_fixed(rule: Bins | None) -> bool:
    """Whether intervals are given by their edges or their width."""
    if rule is None or isinstance(rule, int):
        return False
    return not isinstance(rule, str) or not rule.startswith(("quantiles", "equal", "minimum"))


def _binned(column: Column, columns: TableColumns) -> str:
    """A column whose intervals were chosen here."""
    count, first, last = len(column.labels), column.labels[0], column.labels[-1]
    intervals = f"{count} intervals from {first} to {last}, since none were given"
    if column.name in columns.secret_names:
        return f"what is protected of {column.name} is only which of {intervals}: within one of them it may become certain which value somebody has"
    return f"{column.name} was put into {intervals}"

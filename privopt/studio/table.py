"""The table of the studio: a CSV file read strictly, each cell as it is written, and what its columns are like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privopt.errors import FileRefused
from privopt.files.csv import CodedColumn, Columns, read_coded
from privopt.models.columns import as_number
from privopt.publication.people import FEW, MOST_VALUES

MAX_BYTES = 512 * 2**20
SUSPECTS = ("NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?", "-", ".")
"""Cells that may be meant as missing, and are values all the same; empty ones alone are missing."""


@dataclass(frozen=True)
class ColumnFacts:
    """What the page shows of a column.

    Parameters
    ----------
    name : str
    distinct, missing : int
        Different values, and empty cells.
    numeric : bool
        Whether every value is a number.
    low, high : float
        The range of the numbers; 0 where the values are none.
    few : tuple of str
        Its first values, in the order in which they are met.
    rows : int
    values : tuple of str
        All values, sorted as numbers or letters; none where they are too many to be listed.
    suspect : str
        A value that may stand for a missing one; empty where there is none.
    """

    name: str
    distinct: int
    missing: int
    numeric: bool
    low: float
    high: float
    few: tuple[str, ...]
    rows: int
    values: tuple[str, ...] = ()
    suspect: str = ""

    @property
    def too_many(self) -> bool:
        """Whether too few rows share a value for the values to be used one by one."""
        return self.distinct > max(MOST_VALUES, self.rows // 100)

    @property
    def many(self) -> bool:
        """Whether it holds so many numbers that they are put into ranges where nothing else was chosen."""
        return self.numeric and self.distinct > FEW

    @property
    def advice(self) -> str:
        """What should be known before the column is used; empty where nothing should."""
        if self.distinct == 0:
            return "every cell is empty"
        if self.distinct == 1:
            return "it has one value only"
        if self.suspect:
            where = ", so it is not read as numbers" if self._nearly else ""
            return f"some cells read {self.suspect}: a value like any other{where}; empty them in the file if they are missing"
        if self.too_many and not self.numeric:
            return (
                f"{self.distinct} different values, too few rows for each: leave it out, or give a hierarchy"
            )
        return ""

    @property
    def _nearly(self) -> bool:
        return not self.numeric and self.distinct > FEW

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "name": self.name,
            "distinct": self.distinct,
            "missing": self.missing,
            "numeric": self.numeric,
            "low": self.low,
            "high": self.high,
            "few": list(self.few),
            "values": list(self.values),
            "advice": self.advice,
            "ranges": self.many,
        }


@dataclass(frozen=True)
class Table:
    """A table of text.

    Parameters
    ----------
    path : Path
    coded : mapping of name to CodedColumn
    rows : int
    columns : tuple of ColumnFacts
        Those that have a name.
    """

    path: Path
    coded: dict[str, CodedColumn]
    rows: int
    columns: tuple[ColumnFacts, ...]

    @property
    def nameless(self) -> bool:
        """Whether there is a column without a name, which cannot be used."""
        return "" in self.coded

    def column(self, name: str) -> ColumnFacts:
        """A column by its name.

        Raises
        ------
        FileRefused
            If there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise FileRefused(f"{self.path.name} has no column {name!r}; read the file again if it was changed")

    def cells(self, names: Sequence[str]) -> Columns:
        """The text of some columns, row by row."""
        return {name: self.coded[name].cells() for name in names}


def read_table(path: Path) -> Table:
    """A comma-separated UTF-8 file with a header line.

    Raises
    ------
    FileRefused
        With a sentence on what is wrong and what to do.
    """
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # what is wrong is said when it is read
    if size > MAX_BYTES:
        raise FileRefused(
            f"{path}: has more than {MAX_BYTES // 2**20} MiB; keep the columns you need and try again"
        )
    coded = read_coded(path)
    facts = tuple(facts_of(name, column) for name, column in coded.items() if name)
    return Table(path, coded, len(next(iter(coded.values())).codes), facts)


def facts_of(name: str, column: CodedColumn) -> ColumnFacts:
    """What a column is like.

    Examples
    --------
    >>> facts = facts_of("size", CodedColumn(("9", "", "10"), np.array([0, 1, 2, 0], dtype=np.int32)))
    >>> facts.distinct, facts.missing, facts.high, facts.values
    (2, 1, 10.0, ('9', '10'))
    """
    values = [value for value in column.values if value]
    numbers = _numbers(values)
    low, high = (min(numbers.values()), max(numbers.values())) if numbers else (0.0, 0.0)
    few = tuple(value if len(value) <= 40 else f"{value[:37]}..." for value in values[:4])
    listed: list[str] = []
    if len(values) <= MOST_VALUES:
        listed = sorted(values, key=numbers.__getitem__) if numbers else sorted(values)
    missing = int((column.codes == column.values.index("")).sum()) if "" in column.values else 0
    suspect = next((value for value in SUSPECTS if value in column.values), "") if not numbers else ""
    return ColumnFacts(
        name, len(values), missing, bool(numbers), low, high, few, len(column.codes), tuple(listed), suspect
    )


def _numbers(values: Sequence[str]) -> dict[str, float]:
    """The number of each value; none where some value is no number."""
    numbers: dict[str, float] = {}
    for value in values:
        number = as_number(value)
        if number is None:
            return {}
        numbers[value] = number
    return numbers


def combinations(codes: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A number for the combination of the codes of each row.

    Examples
    --------
    >>> combinations([np.array([0, 1, 0]), np.array([0, 0, 1])]).tolist()
    [0, 2, 1]
    """
    together = np.zeros(len(codes[0]), dtype=np.int64)
    for column in codes:
        _, together = np.unique(together * (int(column.max()) + 1) + column, return_inverse=True)
    return together.astype(np.int64)

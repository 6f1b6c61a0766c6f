"""The table of the studio: a CSV file read strictly, each cell as it is written, and what its columns are like."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privopt.errors import FileRefused
from privopt.models.columns import as_number
from privopt.publication.people import MOST_VALUES

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "NA", "NaN")
"""Cells that count as missing."""
MAX_BYTES = 512 * 2**20
MANY = 20
"""Distinct numbers in a column beyond which ranges are proposed."""


@dataclass(frozen=True)
class ColumnFacts:
    """What the page shows of a column.

    Parameters
    ----------
    name : str
    distinct, missing : int
        Different values, and cells without one.
    numeric : bool
        Whether every value is a number.
    low, high : float
        The range of the numbers; 0 where the values are none.
    few : tuple of str
        Its first values, in the order in which they are met.
    rows : int
    """

    name: str
    distinct: int
    missing: int
    numeric: bool
    low: float
    high: float
    few: tuple[str, ...]
    rows: int

    @property
    def too_many(self) -> bool:
        """Whether too few rows share a value for the values to be used one by one."""
        return self.distinct > max(MOST_VALUES, self.rows // 100)

    @property
    def advice(self) -> str:
        """What should be done before the column is used; empty where nothing should."""
        if self.distinct == 0:
            return "every cell is empty"
        if self.distinct == 1:
            return "it has one value only"
        if self.numeric and self.distinct > MANY:
            return f"{self.distinct} different numbers: group them into ranges"
        if self.too_many:
            return f"{self.distinct} different values, too few rows for each: leave it out"
        return ""

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
            "advice": self.advice,
            "ranges": self.numeric and self.distinct > MANY,
        }


@dataclass(frozen=True)
class Table:
    """A table of text.

    Parameters
    ----------
    path : Path
    cells : mapping of name to cells
        A missing one is None.
    rows : int
    columns : tuple of ColumnFacts
    """

    path: Path
    cells: dict[str, list[str | None]]
    rows: int
    columns: tuple[ColumnFacts, ...]

    @property
    def minimum_count(self) -> int:
        """The least number of rows of a combination that is proposed: ten, or of one in a hundred if that is fewer."""
        least = min(10, self.rows // 100)
        return least if least > 1 else 0

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

    def frame(self, names: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
        """The rows that have a value in all of some columns; those of ``numbers`` as numbers."""
        import pandas as pd

        kept = [i for i in range(self.rows) if all(self.cells[name][i] is not None for name in names)]
        columns: dict[str, Any] = {}
        for name in names:
            cells = self.cells[name]
            chosen = [cells[i] for i in kept]
            columns[name] = (
                pd.to_numeric(pd.Series(chosen)) if name in numbers else pd.Series(chosen, dtype=object)
            )
        return pd.DataFrame(columns)


def read_table(path: Path) -> Table:
    """A comma-separated UTF-8 file with a header line.

    Raises
    ------
    FileRefused
        With a sentence on what is wrong and what to do.
    """
    try:
        if path.is_dir():
            raise FileRefused(f"{path} is a folder; give the name of a CSV file in it")
        if path.stat().st_size > MAX_BYTES:
            raise FileRefused(
                f"{path} has more than {MAX_BYTES // 2**20} MiB; keep the columns you need and try again"
            )
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _read(path, csv.reader(stream, strict=True))
    except FileNotFoundError as cause:
        raise FileRefused(f"there is no file {path}; check its name and folder") from cause
    except OSError as cause:
        raise FileRefused(f"{path} cannot be read: {cause.strerror or cause}") from cause
    except UnicodeDecodeError as cause:
        raise FileRefused(
            f"{path} is not UTF-8 text (byte {cause.start}); is it a spreadsheet? Save it as CSV, UTF-8"
        ) from cause
    except csv.Error as cause:
        raise FileRefused(f"{path} is not a CSV file: {cause}; save it as CSV, UTF-8") from cause


def _read(path: Path, reader: Iterator[list[str]]) -> Table:
    header = next((line for line in reader if line), [])
    _check_header(path, header)
    columns: list[list[str | None]] = [[] for _ in header]
    rows = 0
    for line in reader:
        if not line:
            continue
        rows += 1
        if len(line) != len(header):
            raise FileRefused(
                f"{path}: row {rows} has {len(line)} cells, the header has {len(header)}; "
                "is a cell with a comma not in quotes?"
            )
        for column, cell in zip(columns, line, strict=True):
            column.append(None if cell in MISSING else cell)
    if not rows:
        raise FileRefused(f"{path} has a header but no rows")
    cells = dict(zip(header, columns, strict=True))
    return Table(path, cells, rows, tuple(_facts(name, column) for name, column in cells.items()))


def _check_header(path: Path, header: Sequence[str]) -> None:
    if not header:
        raise FileRefused(f"{path} is empty; expected a line of column names, then rows")
    if any("\0" in cell for cell in header):
        raise FileRefused(f"{path} is not a text file; save it as CSV, UTF-8")
    if len(header) == 1:
        for mark, called in ((";", "semicolons"), ("\t", "tabs")):
            if mark in header[0]:
                raise FileRefused(f"{path} seems to be separated by {called}; save it separated by commas")
    if "" in header:
        raise FileRefused(f"{path}: column {list(header).index('') + 1} has no name; give it one")
    twice = next((name for i, name in enumerate(header) if name in header[:i]), None)
    if twice is not None:
        raise FileRefused(f"{path}: the column {twice!r} is there twice; rename one")


def _facts(name: str, cells: Sequence[str | None]) -> ColumnFacts:
    values = list(dict.fromkeys(cell for cell in cells if cell is not None))
    known = [number for value in values if (number := as_number(value)) is not None]
    numeric = bool(values) and len(known) == len(values)
    low, high = (min(known), max(known)) if numeric else (0.0, 0.0)
    few = tuple(value if len(value) <= 40 else f"{value[:37]}..." for value in values[:4])
    return ColumnFacts(name, len(values), cells.count(None), numeric, low, high, few, len(cells))

"""Tables of text from CSV files: every cell as it is written, nothing guessed, nothing filled in."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from privopt.errors import FileRefused

Columns = dict[str, list[str]]


@dataclass(frozen=True)
class CsvTable:
    """The columns asked for, and the number of rows; rows are counted from 1, after the header."""

    columns: Columns
    rows: int


def read_table(path: Path, wanted: Sequence[str]) -> CsvTable:
    """Some columns of a comma-separated UTF-8 file with a header line; only these are kept in memory.

    Raises
    ------
    FileRefused
        If it cannot be read, is not UTF-8, has no header, repeats a column, lacks one that is wanted,
        or has a row with more or fewer cells than the header.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _read(path, _lines(path, csv.reader(stream, strict=True)), wanted)
    except OSError as cause:
        raise FileRefused(f"{path}: cannot be read: {cause.strerror or cause}") from cause
    except UnicodeDecodeError as cause:
        raise FileRefused(
            f"{path}: is not UTF-8 text ({cause.reason} at byte {cause.start}); save it as UTF-8"
        ) from cause
    except csv.Error as cause:
        raise FileRefused(f"{path}: is not a CSV file: {cause}") from cause


def _lines(path: Path, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows, without the blank lines at the end."""
    blank = 0
    for line in reader:
        if not line:
            blank += 1
            continue
        yield from ([] for _ in range(blank))
        blank = 0
        if any("\0" in cell for cell in line):
            raise FileRefused(f"{path}: is not a text file: it holds a zero byte")
        yield line


def _read(path: Path, lines: Iterator[list[str]], wanted: Sequence[str]) -> CsvTable:
    header = next(lines, [])
    if not header:
        raise FileRefused(f"{path}: is empty; expected a line of column names, then rows")
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise FileRefused(f"{path}: the column {twice[0]!r} is given twice; rename one")
    places = [_place(path, header, name) for name in wanted]
    columns: Columns = {name: [] for name in wanted}
    count = 0
    for count, line in enumerate(lines, 1):
        cells = line or [""] * (len(header) == 1)  # a blank line is an empty cell where there is one column
        if len(cells) != len(header):
            raise FileRefused(f"{path}: row {count} has {len(cells)} cells, the header has {len(header)}")
        for name, place in zip(wanted, places, strict=True):
            columns[name].append(cells[place])
    if not count:
        raise FileRefused(f"{path}: has a header but no rows")
    return CsvTable(columns, count)


def _place(path: Path, header: list[str], name: str) -> int:
    if name not in header:
        raise FileRefused(f"{path}: there is no column {name!r}; there are {_listed(header)}")
    return header.index(name)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")


def groups_of(path: Path, column: str, cells: Sequence[str]) -> dict[str, Sequence[int]]:
    """Positions of the rows of each user, in their order.

    Raises
    ------
    FileRefused
        If a row names no user.
    """
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(cells):
        if not name:
            raise FileRefused(f"{path}: row {i + 1} has no {column!r}; give every row its user")
        groups.setdefault(name, []).append(i)
    return dict(groups)


def write_table(path: Path, columns: Columns) -> None:
    """Write columns of equal length as CSV, whole or not at all."""
    from privopt.files.json import writing

    # The writer leaves a lone carriage return bare, which readers take for the end of a line.
    bare = any("\r" in cell for cells in columns.values() for cell in cells)
    with writing(path) as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))

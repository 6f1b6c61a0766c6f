"""Tables of text from CSV files, read strictly: every cell as it is written, nothing guessed, nothing filled in.

A cell without any character is empty, and nothing else is: ``NA``, ``?`` or a blank are values. Blank lines after the last row are
no rows; any other blank line is refused, but where there is one column, whose empty cell it is.
"""

from __future__ import annotations

import csv
import re
import shlex
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from privopt.errors import FileRefused
from privopt.files.json import writing
from privopt.files.paths import reading

Columns: TypeAlias = dict[str, list[str]]
Codes: TypeAlias = NDArray[np.int32]
T = TypeVar("T")

AT_ONCE = 4096
"""Rows that are checked together."""


@dataclass(frozen=True)
class CsvTable:
    """The columns that were wished for, and the number of rows; rows are counted from 1, after the header."""

    columns: Columns
    rows: int


@dataclass(frozen=True)
class CodedColumn:
    """A column by its different cells: small in memory, however many rows there are.

    Parameters
    ----------
    values : tuple of str
        Its different cells, in the order in which they are met.
    codes : int32 array, shape (rows,)
        The place of each cell among them.
    """

    values: tuple[str, ...]
    codes: Codes = field(repr=False)

    def cells(self) -> list[str]:
        """The text of each row.

        Examples
        --------
        >>> CodedColumn(("a", "b"), np.array([0, 1, 0], dtype=np.int32)).cells()
        ['a', 'b', 'a']
        """
        return list(map(self.values.__getitem__, self.codes.tolist()))


def read_table(path: Path, wanted: Sequence[str]) -> CsvTable:
    """Some columns of a comma-separated UTF-8 file with a header line; only these are kept in memory.

    Raises
    ------
    FileRefused
        If it cannot be read, is not UTF-8, has no header, repeats a column, lacks one that is wanted,
        or has a row with more or fewer cells than the header.
    """

    def read(header: list[str], chunks: Iterator[list[list[str]]]) -> CsvTable:
        places = [_place(path, header, name) for name in wanted]
        columns: Columns = {name: [] for name in wanted}
        known: list[dict[str, str]] = [{} for _ in wanted]
        count = 0
        for rows in chunks:
            count += len(rows)
            for name, place, seen in zip(wanted, places, known, strict=True):
                cells = [row[place] for row in rows]
                columns[name].extend(map(seen.setdefault, cells, cells))  # equal cells are one object
        if not count:
            raise FileRefused(f"{path}: has a header but no rows")
        return CsvTable(columns, count)

    return _opened(path, wanted, read)


def names_in(path: Path, texts: Sequence[str]) -> list[str]:
    r"""The columns that texts name, with commas between names: a name of the file that has a comma, or blanks around it, is found all the same.

    A name that the file does not have comes back without blanks around it.

    Raises
    ------
    FileRefused
        If the file cannot be read, or a name is empty.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = place.write_text('"city, district", age,vote\n', encoding="utf-8")
    >>> names_in(place, ["city, district,age", "vote"])
    ['city, district', ' age', 'vote']
    """
    header = _opened(path, texts, lambda header, rows: header)
    return [name for text in texts for name in _split(text, header)]


def header_of(path: Path) -> list[str]:
    r"""The names of all columns, as they stand in the file.

    Raises
    ------
    FileRefused
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = place.write_text('"city, district", age,vote\n', encoding="utf-8")
    >>> header_of(place)
    ['city, district', ' age', 'vote']
    """
    return list(_opened(path, (), lambda header, rows: header))


def _split(text: str, header: Sequence[str]) -> list[str]:
    """The names between commas, the longest first that the header has."""
    known = {**{name.strip(): name for name in header}, **{name: name for name in header}}

    def found(name: str) -> str | None:
        bare = name.strip()
        return known.get(name, known.get(bare, known.get(bare.strip('"'))))

    parts, names = text.split(","), list[str]()
    while parts:
        end = next((end for end in range(len(parts), 0, -1) if found(",".join(parts[:end])) is not None), 1)
        name = ",".join(parts[:end])
        names.append(found(name) or name.strip())
        parts = parts[end:]
    if "" in names:
        raise FileRefused(f"{text!r} holds an empty name; give NAME or NAME,NAME")
    return names


def read_coded(path: Path) -> dict[str, CodedColumn]:
    r"""All columns of such a file, each by its different cells.

    Raises
    ------
    FileRefused
        As :func:`read_table`.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = place.write_text("age,vote\n30,a\n30,b\n", encoding="utf-8")
    >>> read_coded(place)["age"].values
    ('30',)
    """

    def read(header: list[str], chunks: Iterator[list[list[str]]]) -> dict[str, CodedColumn]:
        known = [_Codes() for _ in header]
        codes = [array("i") for _ in header]
        for rows in chunks:
            for cells, places, written in zip(zip(*rows, strict=True), known, codes, strict=True):
                written.extend(map(places.__getitem__, cells))
        if not codes[0]:
            raise FileRefused(f"{path}: has a header but no rows")
        return {
            name: CodedColumn(tuple(places), np.frombuffer(written, dtype=np.int32))
            for name, places, written in zip(header, known, codes, strict=True)
        }

    return _opened(path, (), read)


class _Codes(dict[str, int]):
    """A number for each cell, given when it is first met."""

    def __missing__(self, cell: str) -> int:
        self[cell] = code = len(self)
        return code


def _opened(
    path: Path, wanted: Sequence[str], read: Callable[[list[str], Iterator[list[list[str]]]], T]
) -> T:
    """What is read of the header and the rows of a file, whose faults are said."""
    try:
        with reading(path) as raw, TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(_text(path, stream), strict=True)
            header = _header(path, next(reader, []), wanted)
            return read(header, _chunks(path, len(header), reader))
    except UnicodeDecodeError as cause:
        raise FileRefused(
            f"{path}: is not UTF-8 text ({cause.reason} at byte {cause.start}); is it a spreadsheet? Save it as CSV, UTF-8"
        ) from cause
    except csv.Error as cause:
        raise FileRefused(f"{path}: is not a CSV file: {cause}; save it as CSV, UTF-8") from cause


def _text(path: Path, stream: Iterable[str]) -> Iterator[str]:
    for line in stream:
        if "\0" in line:
            raise FileRefused(f"{path}: is not a text file: it holds a zero byte; save it as CSV, UTF-8")
        yield line


def _with_commas(path: Path, mark: str) -> str:
    """A command that writes the same table separated by commas, and changes no cell."""
    code = f"import csv, sys; csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, delimiter={mark!r}))"
    return f'python3 -c "{code}" < {shlex.quote(path.name)} > {shlex.quote(f"{path.stem}-commas.csv")}'


def _header(path: Path, header: list[str], wanted: Sequence[str]) -> list[str]:
    if not header:
        raise FileRefused(
            f"{path}: is empty, or begins with a blank line; expected a line of column names, then rows"
        )
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        if any(map(NUMBER.fullmatch, header)):
            raise FileRefused(
                f"{path}: a cell stands twice in the first line, and numbers stand in it: is the line of column names missing?"
            )
        what = f"the column {twice[0]!r} is" if twice[0] else "a column without a name is"
        raise FileRefused(f"{path}: {what} given twice; rename one")
    if len(header) == 1 and header[0] not in wanted:
        for mark, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if mark in header[0]:
                raise FileRefused(
                    f"{path}: seems to be separated by {called}; save it separated by commas, as by: {_with_commas(path, mark)}"
                )
    return header


def _chunks(path: Path, wide: int, reader: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    """The rows, some at once, each of the length of the header; without the blank lines at the end."""
    done = blank = 0
    while rows := list(islice(reader, AT_ONCE)):
        if blank or set(map(len, rows)) != {wide}:
            rows, blank = _checked(path, wide, rows, done, blank)
        done += len(rows)
        yield rows


def _checked(
    path: Path, wide: int, rows: Sequence[list[str]], done: int, blank: int
) -> tuple[list[list[str]], int]:
    """Rows of which some are blank or of another length, and how many blank lines end them."""
    kept: list[list[str]] = []
    for row in rows:
        if not row:
            blank += 1
            continue
        here = done + len(kept) + 1
        if blank and wide > 1:
            raise FileRefused(f"{path}: row {here} is blank; remove the line, or write its cells")
        kept.extend([""] for _ in range(blank))
        blank = 0
        if len(row) != wide:
            hint = "; is a cell with a comma not in quotes?" if len(row) > wide else ""
            raise FileRefused(f"{path}: row {here} has {len(row)} cells, the header has {wide}{hint}")
        kept.append(row)
    return kept, blank


def _place(path: Path, header: list[str], name: str) -> int:
    if name not in header:
        if any(map(NUMBER.fullmatch, header)):  # then it is a row, whose cells are private
            raise FileRefused(
                f"{path}: there is no column {name!r}, and numbers stand in the first line: is the line of column names missing?"
            )
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

    Examples
    --------
    >>> groups_of(Path("days.csv"), "user", ["b", "a", "b"])
    {'b': [0, 2], 'a': [1]}
    """
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(cells):
        if not name:
            raise FileRefused(f"{path}: row {i + 1} has no {column!r}; give every row its user")
        groups.setdefault(name, []).append(i)
    return dict(groups)


FORMULA = re.compile(r"\'*[=+\-@\t\r]")
"""How a cell begins that a spreadsheet runs as a formula, or that looks like one made safe."""

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def safe_cell(cell: str) -> str:
    """A text that no spreadsheet runs: one that begins as a formula does gets an apostrophe before it; numbers never do.

    Examples
    --------
    >>> safe_cell("=1+1"), safe_cell("-1"), safe_cell("plain"), raw_cell(safe_cell("=1+1"))
    ("'=1+1", '-1', 'plain', '=1+1')
    """
    return f"'{cell}" if FORMULA.match(cell) and not NUMBER.fullmatch(cell) else cell


def raw_cell(cell: str) -> str:
    """The text of which :func:`safe_cell` made a cell."""
    text = cell[1:]
    return text if cell.startswith("'") and safe_cell(text) == cell else cell


def write_table(
    path: Path, columns: Mapping[str, Sequence[str]], safe: bool = False, private: bool = False
) -> None:
    """Write columns of equal length as CSV, whole or not at all.

    Parameters
    ----------
    path : Path
    columns : mapping of names to cells
    safe : bool
        Whether texts that a spreadsheet would run as formulas, names among them, are written as :func:`safe_cell` has them.
    private : bool
        Whether only its owner may read a new file.
    """
    cells = {name: list(map(safe_cell, column)) if safe else column for name, column in columns.items()}
    # The writer leaves a lone carriage return bare, which readers take for the end of a line.
    bare = any("\r" in cell for column in cells.values() for cell in column)
    with writing(path, private) as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL)
        writer.writerow(map(safe_cell, cells) if safe else cells)
        writer.writerows(zip(*cells.values(), strict=True))

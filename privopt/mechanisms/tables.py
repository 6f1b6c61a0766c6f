"""Tables in, tables out, where a mechanism remembers the columns that it is for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from privopt.errors import InvalidMechanism, InvalidModel
from privopt.files.labels import Label, Labels
from privopt.mechanisms.columns import Codes, decode
from privopt.models.columns import TableColumns

Cells: TypeAlias = tuple[Label, ...]

RELEASED = "released"
"""The column of a release that is not of the columns it was drawn from."""


def release_cells(inputs: Labels, outputs: Labels, messages: Sequence[bool]) -> tuple[Cells, ...]:
    """What is written for each release: a value as it is, a product symbol in a cell for each part, a message by a short name.

    Parameters
    ----------
    inputs, outputs : tuple
        Labels of a mechanism.
    messages : sequence of bool
        Which releases are no values: blocks of several symbols, or the bare positions of a channel.

    Examples
    --------
    >>> release_cells(("a", "b", "c"), ("a", "b | c"), (False, True))
    (('a',), ('B1',))
    >>> release_cells((("a", 1), ("b", 2)), (("a", 1),), (False,))
    (('a', 1),)
    """
    product = any(isinstance(label, tuple) for label in inputs)
    if product and any(messages):  # one column, so that all releases are named alike
        messages = [True] * len(outputs)
    values = {str(label) for label, message in zip(outputs, messages, strict=True) if not message}
    prefix = "B"
    while any(f"{prefix}{y}" in values for y in range(len(outputs))):
        prefix += "_"
    return tuple(
        (f"{prefix}{y}",) if message else label if isinstance(label, tuple) else (label,)
        for y, (label, message) in enumerate(zip(outputs, messages, strict=True))
    )


def table_of(cells: Sequence[Cells], drawn: Sequence[int], names: Sequence[str]) -> dict[str, list[Label]]:
    """The released columns: those read where every release has their shape, else one column.

    Parameters
    ----------
    cells : sequence of tuples
        What is written for each release, see :func:`release_cells`.
    drawn : sequence of int
        The release of each row.
    names : sequence of str
        The columns read.

    Examples
    --------
    >>> table_of([("a", 1), ("b", 2)], [1, 0], ["vote", "age"])
    {'vote': ['b', 'a'], 'age': [2, 1]}
    """
    if all(len(row) == len(names) for row in cells):
        return {name: [cells[y][i] for y in drawn] for i, name in enumerate(names)}
    texts = [row[0] if len(row) == 1 else ", ".join(map(str, row)) for row in cells]
    return {RELEASED: [texts[y] for y in drawn]}


@dataclass(frozen=True)
class Rows:
    """What a mechanism reads of some data, and the data as they are given back.

    Parameters
    ----------
    symbols : sequence or array
        Inputs of the mechanism.
    like : object
        The data without the rows that are dropped.
    names : tuple of str
        Columns of a frame; empty for anything else.
    """

    symbols: Any
    like: Any
    names: tuple[str, ...] = ()

    def released(self, codes: Codes, outputs: Labels, cells: Sequence[Cells], simulated: bool) -> Any:
        """The releases in the container of the data; of a frame, a frame of what was released and nothing else."""
        if not self.names:
            return decode(codes, np.zeros(codes.shape, dtype=bool), self.like, outputs, simulated)
        columns = table_of(cells, codes.tolist(), self.names)
        if _library(self.like) == "pandas":
            import pandas as pd

            frame = pd.DataFrame(
                {
                    name: pd.Series(cells, index=self.like.index, dtype=object)
                    for name, cells in columns.items()
                },
                index=self.like.index,
            )
            frame.attrs["simulated"] = simulated
            return frame
        import polars as pl

        mark = " (simulated)" if simulated else ""
        return pl.DataFrame(
            [pl.Series(name + mark, column, strict=False) for name, column in columns.items()]
        )


def read_rows(data: Any, columns: TableColumns | None, inputs: Labels) -> Rows:
    """The symbols of some data: through the remembered columns, if there are any.

    Parameters
    ----------
    data : sequence, array, pandas or Polars column or frame
        Of a frame only the columns that are read; a column by another name is refused.
    columns : TableColumns or None
    inputs : tuple
        The symbols that the mechanism reads.

    Raises
    ------
    InvalidMechanism
        If the data are of other columns, or a row makes no symbol.
    """
    if columns is None or isinstance(data, (str, bytes)):
        return Rows(data, data)
    try:
        return _described(data, columns, inputs)
    except InvalidModel as cause:
        raise InvalidMechanism(str(cause)) from cause


def _described(data: Any, columns: TableColumns, inputs: Labels) -> Rows:
    names, known = columns.reads_names, frozenset(inputs)
    if _kind(data) == "DataFrame":
        there = list(map(str, data.columns))
        spare = [name for name in there if name not in names] if len(there) <= len(names) else []
        columns.check_names([name for name in names if name in there] + spare)
        symbols = columns.symbols({name: data[name].to_list() for name in names}, known)
        return _kept(data, symbols, names)
    if _kind(data) == "Series":
        if data.name not in (None, "") and len(names) == 1:
            columns.check_names([str(data.name)])
        return _kept(data, _symbols(data.to_list(), columns, known), ())
    if isinstance(data, np.ndarray) and (data.ndim != 1 or data.dtype.kind in "OSU"):
        return Rows(data, data)
    cells = list(data)
    read = _symbols(cells, columns, known)
    return Rows([symbol for symbol in read if symbol is not None], data)


def _symbols(cells: Sequence[Any], columns: TableColumns, known: frozenset[Label]) -> Sequence[Label | None]:
    """Raw values as symbols; what are symbols already stay."""
    if all(isinstance(cell, Hashable) and cell in known for cell in cells):
        return list(cells)
    names = columns.reads_names
    if len(names) == 1:
        return columns.symbols({names[0]: cells}, known)
    if columns.reads == "useful" and all(
        isinstance(cell, tuple) and len(cell) == len(names) for cell in cells
    ):
        table: Mapping[str, Sequence[object]] = {
            name: [cell[i] for cell in cells] for i, name in enumerate(names)
        }
        return columns.symbols(table, known)
    return list(cells)


def _kept(data: Any, symbols: Sequence[Label | None], names: tuple[str, ...]) -> Rows:
    kept = [row for row, symbol in enumerate(symbols) if symbol is not None]
    if len(kept) == len(symbols):
        return Rows(list(symbols), data, names)
    like = data.iloc[kept] if _library(data) == "pandas" else data[kept]
    return Rows([symbols[row] for row in kept], like, names)


def _library(data: Any) -> str:
    root = type(data).__module__.partition(".")[0]
    return root if root in ("pandas", "polars") else ""


def _kind(data: Any) -> str:
    """The type of a pandas or Polars object, DataFrame or Series, without importing either."""
    return type(data).__name__ if _library(data) else ""

"""Data in, data out: lists, NumPy arrays, pandas and Polars columns of letters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.errors import InvalidMechanism
from privopt.files.private import shown
from privopt.models.validation import is_missing

Codes = NDArray[np.int64]


class ReleasedArray(np.ndarray[Any, np.dtype[Any]]):
    """A released NumPy array; ``simulated`` says whether it was drawn with a simulation generator.

    Redacted cells are None. Views and copies keep the mark.
    """

    simulated: bool = False

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, ReleasedArray):
            self.simulated = source.simulated


def encode(data: Any, states: Sequence[Hashable], gaps: bool = False) -> Codes:
    """Positions in ``states`` of the letters of a column or of a 2-d array of rows (one row a user).

    With ``gaps`` a missing letter (None, NaN, NA) has the position -1.

    Raises
    ------
    InvalidMechanism
        If a letter is missing or unknown (with its position), or the data are not 1-d or 2-d. A frame of
        several columns is one sequence, whose letters are the tuples of its rows.

    Examples
    --------
    >>> encode(["b", "a"], ("a", "b"))
    array([1, 0])
    >>> encode(["b", None], ("a", "b"), gaps=True)
    array([ 1, -1])
    """
    if isinstance(data, (str, bytes)):
        raise InvalidMechanism("data must be a sequence of letters, not one string; use list(data)")
    cells = _cells(data)
    if cells.ndim not in (1, 2):
        raise InvalidMechanism(
            f"data must be one record sequence or a table of them, got {cells.ndim} dimensions"
        )
    positions: dict[Hashable, int] = {state: i for i, state in enumerate(states)}
    flat = [
        -1 if gaps and is_missing(letter) else _position(letter, positions, where, cells.shape)
        for where, letter in enumerate(cells.ravel().tolist())
    ]
    return np.array(flat, dtype=np.int64).reshape(cells.shape)


def _cells(data: Any) -> NDArray[Any]:
    if isinstance(data, np.ndarray):
        return data
    if _is_frame(data):
        data = list(zip(*(data[name].to_list() for name in data.columns), strict=True))
    rows = data.to_list() if _is_column(data) else list(data)
    nested = [r.tolist() if isinstance(r, np.ndarray) else r for r in rows]
    if nested and all(isinstance(r, list) for r in nested):
        lengths = {len(r) for r in nested}
        if len(lengths) > 1:
            raise InvalidMechanism(
                f"rows of data have different lengths {sorted(lengths)[:4]}; release them one by one"
            )
        table = np.empty((len(nested), lengths.pop()), dtype=object)
        for i, row in enumerate(nested):
            table[i, :] = row
        return table
    cells = np.empty(len(nested), dtype=object)
    for i, letter in enumerate(nested):
        cells[i] = letter
    return cells


def _position(letter: Any, positions: dict[Hashable, int], where: int, shape: tuple[int, ...]) -> int:
    index = positions.get(letter) if isinstance(letter, Hashable) else None
    if index is None:
        place = (
            f"record {where}" if len(shape) == 1 else f"row {where // shape[1]}, record {where % shape[1]}"
        )
        known = ", ".join(repr(s) for s in list(positions)[:8])
        what = "is missing; it is" if is_missing(letter) else "is"
        raise InvalidMechanism(
            f"{place}: {shown(letter, 'the letter')} {what} not one of the states {known}; recode or drop it"
        )
    return index


def _is_column(data: Any) -> bool:
    return _library(data) != ""


def _is_frame(data: Any) -> bool:
    """Whether the data are a pandas or Polars frame, whose rows are then read as tuples."""
    return (
        type(data).__module__.partition(".")[0] in ("pandas", "polars") and type(data).__name__ == "DataFrame"
    )


def _library(data: Any) -> str:
    """``pandas`` or ``polars`` for one of their columns, without importing either."""
    root = type(data).__module__.partition(".")[0]
    return root if root in ("pandas", "polars") and type(data).__name__ == "Series" else ""


def decode(
    codes: Codes, redacted: NDArray[np.bool_], like: Any, states: Sequence[Hashable], simulated: bool
) -> Any:
    """Released letters, None where redacted, in the container of ``like``.

    A pandas column carries ``attrs["simulated"]``; the name of a simulated Polars column ends in
    " (simulated)"; everything else comes back as a :class:`ReleasedArray`.
    """
    labels = np.empty(len(states), dtype=object)
    for i, state in enumerate(states):
        labels[i] = state
    cells = labels[codes]
    cells[redacted] = None
    library = _library(like)
    if library == "pandas":
        import pandas as pd

        column = pd.Series(cells, index=like.index, name=like.name, dtype=object)
        column.attrs["simulated"] = simulated
        return column
    if library == "polars":
        import polars as pl

        name = f"{like.name} (simulated)" if simulated else like.name
        try:
            return pl.Series(name, cells.tolist(), dtype=like.dtype)
        except (TypeError, pl.exceptions.PolarsError):  # labels of another kind than the column's
            return pl.Series(name, cells.tolist(), strict=False)
    released = cells.view(ReleasedArray)
    released.simulated = simulated
    return released

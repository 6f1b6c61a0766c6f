"""Counting the rows of a data frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, plain_labels
from privopt.models.validation import hashable, sorted_labels

if TYPE_CHECKING:
    import narwhals as nw

Bins: TypeAlias = int | Sequence[float] | NDArray[Any]
Codes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class FrameCounts:
    """How often each pair of symbols occurs: table[s, x], with labels."""

    table: Codes
    sensitive: Labels
    useful: Labels


def count_frame(
    frame: object, sensitive: str | Sequence[str], useful: str | Sequence[str], bins: Mapping[str, Bins]
) -> FrameCounts:
    """Count the pairs (sensitive symbol, useful symbol) over the rows of a frame."""
    data = _eager(frame)
    names = {"sensitive": _columns(sensitive, "sensitive", data), "useful": _columns(useful, "useful", data)}
    used = list(dict.fromkeys([*names["sensitive"], *names["useful"]]))
    for column in bins:
        if column not in used:
            raise InvalidModel(
                f"bins name the column {column!r}, which is neither sensitive nor useful: remove it"
            )
    _no_missing(data, used)
    coded = {column: _code(data[column], column, bins.get(column)) for column in used}
    s_codes, s_labels = _product([coded[column] for column in names["sensitive"]])
    x_codes, x_labels = _product([coded[column] for column in names["useful"]])
    cells = np.bincount(s_codes * len(x_labels) + x_codes, minlength=len(s_labels) * len(x_labels))
    return FrameCounts(cells.reshape(len(s_labels), len(x_labels)), s_labels, x_labels)


def _eager(frame: object) -> nw.DataFrame[Any]:
    """The frame through narwhals, with at least one row."""
    import narwhals as nw

    data: object = nw.from_native(frame, pass_through=True)
    if isinstance(data, nw.LazyFrame):
        raise InvalidModel("the frame is lazy: collect() it first")
    if not isinstance(data, nw.DataFrame):
        raise InvalidModel(f"frame is a {type(frame).__name__}: give a pandas or Polars data frame")
    if len(data) == 0:
        raise InvalidModel("the frame has no rows: there is nothing to count")
    return data


def _columns(names: str | Sequence[str], what: str, data: nw.DataFrame[Any]) -> list[str]:
    """The columns of one symbol, all known and distinct."""
    chosen = [names] if isinstance(names, str) else list(names)
    if not chosen:
        raise InvalidModel(f"{what} names no column: name at least one")
    for position, name in enumerate(chosen):
        if name not in data.columns:
            raise InvalidModel(
                f"{what} names the column {name!r}, which the frame lacks: it has {data.columns}"
            )
        if name in chosen[:position]:
            raise InvalidModel(f"{what} names the column {name!r} twice: name it once")
    return chosen


def _no_missing(data: nw.DataFrame[Any], columns: list[str]) -> None:
    """Refuse missing values, for dropping them silently would change the distribution."""
    missing: dict[str, int] = {}
    for column in columns:
        values = data[column]
        # Polars separates NaN from null; pandas counts both as null.
        absent = values.is_null() | values.is_nan() if values.dtype.is_float() else values.is_null()
        if count := int(absent.sum()):
            missing[column] = count
    if missing:
        listed = ", ".join(f"column {column!r} in {count} rows" for column, count in missing.items())
        raise InvalidModel(f"values are missing: {listed}; drop those rows or fill them in first")


def _code(values: nw.Series[Any], column: str, bins: Bins | None) -> tuple[Codes, list[Label]]:
    """Integer codes of a column, and the label of each code."""
    if bins is not None:
        return _bin(values, column, bins)
    cells: list[Label] = values.to_list()
    if not all(map(hashable, cells)):
        raise InvalidModel(
            f"column {column!r} holds values that cannot be hashed: turn them into strings or numbers"
        )
    labels = sorted_labels(dict.fromkeys(cells))
    position = {label: i for i, label in enumerate(labels)}
    codes = np.fromiter(map(position.__getitem__, cells), dtype=np.int64, count=len(cells))
    return codes, list(plain_labels(labels))


def _bin(values: nw.Series[Any], column: str, bins: Bins) -> tuple[Codes, list[Label]]:
    """Codes and labels of the intervals that a numeric column falls into."""
    if not values.dtype.is_numeric():
        raise InvalidModel(f"column {column!r} is not numeric, so it has no bins: remove it from bins")
    numbers = np.asarray(values.to_numpy(), dtype=np.float64)
    edges = _edges(numbers, column, bins)
    outside = np.flatnonzero(~((numbers >= edges[0]) & (numbers <= edges[-1])))
    if outside.size:
        row = int(outside[0])
        raise InvalidModel(
            f"column {column!r} is {float(numbers[row])} in row {row}, outside its bins: widen the edges"
        )
    codes = np.minimum(np.searchsorted(edges, numbers, side="right") - 1, len(edges) - 2).astype(np.int64)
    ends = edges.tolist()
    labels: list[Label] = [
        f"[{low}, {high}{']' if high == ends[-1] else ')'}" for low, high in pairwise(ends)
    ]
    return codes, labels


def _edges(numbers: Floats, column: str, bins: Bins) -> Floats:
    """Increasing finite edges, equally spaced over the data when only their number is given."""
    if isinstance(bins, int):
        if isinstance(bins, bool) or bins < 1:
            raise InvalidModel(f"bins of column {column!r} are {bins}: give a number of at least 1, or edges")
        low, high = float(numbers.min()), float(numbers.max())
        if not math.isfinite(high - low) or high == low:
            raise InvalidModel(f"column {column!r} runs from {low} to {high}: equal bins need a finite range")
        bins = np.linspace(low, high, bins + 1)
    try:
        edges = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidModel(
            f"bins of column {column!r} are {bins!r}: give a number of bins, or edges"
        ) from error
    if edges.ndim != 1 or len(edges) < 2 or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise InvalidModel(
            f"bins of column {column!r} are {edges.tolist()}: give at least 2 finite increasing edges"
        )
    return edges


def _product(columns: list[tuple[Codes, list[Label]]]) -> tuple[Codes, Labels]:
    """One symbol out of one or several columns: the combinations that occur, in order."""
    stacked = np.stack([codes for codes, _ in columns], axis=1)
    combinations, codes = np.unique(stacked, axis=0, return_inverse=True)
    words = [
        tuple(labels[int(code)] for code, (_, labels) in zip(word, columns, strict=True))
        for word in combinations
    ]
    labels = tuple(words) if len(columns) > 1 else tuple(word[0] for word in words)
    return codes.reshape(-1).astype(np.int64), labels

"""Counting the rows of a data frame, and remembering its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, plain_labels
from privopt.models.columns import MISSING, MISSING_RULES, RARE, Column, TableColumns
from privopt.models.hierarchies import Hierarchies, levels_of
from privopt.models.intervals import Bins, edges_of, interval_names, whole
from privopt.models.validation import hashable, sorted_labels

if TYPE_CHECKING:
    import narwhals as nw

Codes: TypeAlias = NDArray[np.int64]
Orders: TypeAlias = Mapping[str, Sequence[Label]]


@dataclass(frozen=True)
class FrameCounts:
    """How often each pair of symbols occurs: table[s, x], with labels and what is remembered of the columns."""

    table: Codes
    sensitive: Labels
    useful: Labels
    columns: TableColumns


@dataclass(frozen=True)
class Reading:
    """How columns are read: intervals, orders, and what becomes of missing values and rare combinations."""

    bins: Mapping[str, Bins]
    order: Orders
    missing: str
    minimum_count: int
    hierarchies: Hierarchies = field(default_factory=dict)

    def check(self, used: Sequence[str]) -> None:
        """Refuse what names another column, or no rule."""
        options: tuple[tuple[str, Mapping[str, object]], ...] = (
            ("bins", self.bins),
            ("order", self.order),
            ("hierarchies", self.hierarchies),
        )
        for option, named in options:
            for column in named:
                if column not in used:
                    raise InvalidModel(
                        f"{option} name the column {column!r}, which is neither sensitive nor useful: remove it"
                    )
        for column in self.bins:
            if column in self.order:
                raise InvalidModel(f"column {column!r} has bins, which are in order: leave it out of order")
        for column in self.hierarchies:
            if column in self.order:
                raise InvalidModel(
                    f"column {column!r} has a hierarchy, along which its values are merged: leave it out of order"
                )
        if self.missing not in MISSING_RULES:
            raise InvalidModel(f"missing is {self.missing!r}: give one of {', '.join(MISSING_RULES)}")
        if type(self.minimum_count) is not int or self.minimum_count < 0:
            raise InvalidModel(f"minimum_count is {self.minimum_count!r}: give a whole number of at least 0")


def count_frame(
    frame: object, sensitive: str | Sequence[str], useful: str | Sequence[str], reading: Reading
) -> FrameCounts:
    """Count the pairs (sensitive symbol, useful symbol) over the rows of a frame."""
    data = _eager(frame)
    names = {"sensitive": _columns(sensitive, "sensitive", data), "useful": _columns(useful, "useful", data)}
    used = list(dict.fromkeys([*names["sensitive"], *names["useful"]]))
    reading.check(used)
    absent = {column: _absent(data[column]) for column in used}
    kept = _kept(absent, reading.missing)
    columns, codes = {}, {}
    for name in used:
        present = np.flatnonzero(~absent[name])
        column, known = _code(data[name], present, reading)
        if name in reading.hierarchies:
            column = replace(column, levels=levels_of(column.labels, reading.hierarchies[name], name))
        columns[name] = column
        codes[name] = np.full(len(data), len(column.labels), dtype=np.int64)
        codes[name][present] = known
    coded = {name: (codes[name][kept], [*columns[name].labels, MISSING]) for name in used}
    s_codes, s_labels = _product([coded[column] for column in names["sensitive"]])
    x_codes, x_labels = _product([coded[column] for column in names["useful"]])
    x_codes, x_labels = _without_rare(x_codes, x_labels, reading.minimum_count, len(names["useful"]))
    cells = np.bincount(s_codes * len(x_labels) + x_codes, minlength=len(s_labels) * len(x_labels))
    described = TableColumns(
        tuple(columns[name] for name in names["sensitive"]),
        tuple(columns[name] for name in names["useful"]),
        minimum_count=reading.minimum_count,
        rows=len(kept),
        dropped=len(data) - len(kept),
    )
    return FrameCounts(cells.reshape(len(s_labels), len(x_labels)), s_labels, x_labels, described)


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


def _absent(values: nw.Series[Any]) -> NDArray[np.bool_]:
    """Where values are missing."""
    # Polars separates NaN from null; pandas counts both as null.
    absent = values.is_null() | values.is_nan() if values.dtype.is_float() else values.is_null()
    return np.asarray(absent.to_numpy(), dtype=bool)


def _kept(absent: Mapping[str, NDArray[np.bool_]], rule: str) -> Codes:
    """Rows that are counted; missing values are refused where no rule says what becomes of them."""
    count = len(next(iter(absent.values())))
    if rule == "symbol":
        return np.arange(count, dtype=np.int64)
    missing = {column: int(where.sum()) for column, where in absent.items() if where.any()}
    if missing and rule == "refuse":
        listed = ", ".join(f"column {column!r} in {count} rows" for column, count in missing.items())
        raise InvalidModel(
            f"values are missing: {listed}; drop those rows (missing='drop', on the command line --missing drop), make them a symbol (missing='symbol') "
            "or fill them in first"
        )
    kept = np.flatnonzero(~np.any(list(absent.values()), axis=0)).astype(np.int64)
    if len(kept) == 0:
        raise InvalidModel("every row has a missing value: nothing is left to count")
    return kept


def _code(values: nw.Series[Any], present: Codes, reading: Reading) -> tuple[Column, Codes]:
    """A column as it is remembered, and the codes of the cells that are present."""
    name = values.name
    if name in reading.bins:
        return _bin(values, present, reading)
    every: list[Label] = values.to_list()
    cells = [every[i] for i in present.tolist()]
    if not all(map(hashable, cells)):
        raise InvalidModel(
            f"column {name!r} holds values that cannot be hashed: turn them into strings or numbers"
        )
    labels, kind = sorted_labels(dict.fromkeys(cells)), "categorical"
    if name in reading.order:
        labels, kind = _ordered(labels, reading.order[name], name), "ordered"
    if reading.missing == "symbol" and MISSING in labels:
        raise InvalidModel(
            f"column {name!r} has the value {MISSING!r}, the name of missing values: rename it"
        )
    position = {label: i for i, label in enumerate(labels)}
    codes = np.fromiter(map(position.__getitem__, cells), dtype=np.int64, count=len(cells))
    return Column(name, kind, plain_labels(labels), missing=reading.missing), codes


def _ordered(labels: Sequence[Label], order: Sequence[Label], name: str) -> list[Label]:
    """The order of a column, if it holds each of its values once."""
    if isinstance(order, str) or len(set(order)) < len(order):
        raise InvalidModel(
            f"the order of column {name!r} must list its values, each once, from first to last"
        )
    lacking = [label for label in labels if label not in order]
    if lacking:
        raise InvalidModel(
            f"the order of column {name!r} lacks {len(lacking)} of its {len(labels)} values: list them all"
        )
    return list(order)


def _bin(values: nw.Series[Any], present: Codes, reading: Reading) -> tuple[Column, Codes]:
    """A column of numbers as intervals."""
    name = values.name
    if not values.dtype.is_numeric():
        raise InvalidModel(f"column {name!r} is not numeric, so it has no bins: remove it from bins")
    numbers = np.asarray(values.to_numpy()[present], dtype=np.float64)
    if len(numbers) == 0:
        raise InvalidModel(f"column {name!r} holds no number, so it has no bins: remove it from bins")
    edges = edges_of(numbers, name, reading.bins[name])
    outside = np.flatnonzero(~((numbers >= edges[0]) & (numbers <= edges[-1])))
    if outside.size:
        row = int(present[outside[0]])
        raise InvalidModel(
            f"column {name!r} in row {row + 1} (counted from 1) is outside its bins, {edges[0]:g} to {edges[-1]:g}: widen the edges"
        )
    codes = np.minimum(np.searchsorted(edges, numbers, side="right") - 1, len(edges) - 2).astype(np.int64)
    ends = tuple(map(float, edges.tolist()))
    return Column(name, "binned", interval_names(ends, whole(numbers)), ends, reading.missing), codes


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


def _without_rare(codes: Codes, labels: Labels, least: int, width: int) -> tuple[Codes, Labels]:
    """Symbols that fewer rows have than the least count become one, the last."""
    rare = np.bincount(codes, minlength=len(labels)) < least
    if not rare.any():
        return codes, labels
    if rare.all():
        raise InvalidModel(
            f"no combination of the useful columns has {least} rows: give a lower minimum_count"
        )
    place = np.where(rare, int((~rare).sum()), np.cumsum(~rare) - 1)
    name: Label = RARE if width == 1 else (RARE,) * width
    if name in labels:
        raise InvalidModel(f"a value is called {RARE!r}, the name of rare combinations: rename it")
    kept = tuple(label for label, few in zip(labels, rare.tolist(), strict=True) if not few)
    return place[codes].astype(np.int64), (*kept, name)

"""What every model checks: numbers, their sums and their labels."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.exact import IntegerRow, Number, row_and_sum
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, plain_labels

Objects: TypeAlias = NDArray[np.object_]
Row: TypeAlias = Sequence[Number | np.integer[Any] | np.floating[Any]] | NDArray[Any]
Table: TypeAlias = Sequence[Row] | NDArray[Any]

TOLERANCE = Fraction(1, 10**9)
"""How far a sum of probabilities may be from 1 before it counts as a mistake."""


def number_array(values: object, what: str) -> Objects:
    """Copy of array-like values holding Python int, float or Fraction, finite and non-negative."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidModel(f"{what} is a masked array: fill or drop the masked entries first")
    try:
        array = np.array(values, dtype=object)
    except ValueError as error:
        raise InvalidModel(f"{what} has rows of different lengths: give a rectangular array") from error
    if array.size == 0:
        raise InvalidModel(f"{what} is empty: give at least one entry")
    if not _all_plain(array):
        for where in np.ndindex(array.shape):
            array[where] = _number(array[where], what, where)
    return array


def _all_plain(array: Objects) -> bool:
    """Whether all entries are floats, finite and non-negative: what large tables hold, which are not looked through one by one."""
    if set(map(type, array.ravel())) != {float}:
        return False
    floats = array.astype(np.float64)
    return bool(np.isfinite(floats).all() and (floats >= 0).all())


def _number(value: object, what: str, where: tuple[int, ...]) -> Number:
    """One entry as a Python number."""
    plain = value.item() if isinstance(value, np.integer | np.floating) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float | Fraction):
        if isinstance(plain, list | tuple | np.ndarray):
            raise InvalidModel(f"{what} has rows of different lengths: give a rectangular array")
        name = _place(what, where)
        raise InvalidModel(f"{name} is {plain!r}, a {type(plain).__name__}: give an int, float or Fraction")
    if isinstance(plain, float) and not math.isfinite(plain):
        raise InvalidModel(f"{_place(what, where)} is {plain}: give a finite number")
    if plain < 0:
        raise InvalidModel(f"{_place(what, where)} is {plain}: give a number of at least 0")
    return plain


def _place(what: str, where: tuple[int, ...]) -> str:
    """The name of an entry, as one would index it."""
    return f"{what}[{', '.join(map(str, where))}]" if where else what


def exact_distribution(values: Iterable[Number], what: str, remedy: str | None) -> IntegerRow:
    """Divide values by their exact sum, which must be near 1 unless there is no remedy to point to."""
    entries = list(values)
    if not any(entries):
        raise InvalidModel(f"{what} sums to 0, so it has no distribution: give at least one positive entry")
    row, total = row_and_sum(entries)
    if remedy is not None and abs(total - 1) > TOLERANCE:
        raise InvalidModel(
            f"{what} sums to {_decimal(total)}, not to 1 within 1e-9: correct it, or use {remedy}"
        )
    return row


def exact_distributions(
    rows: Iterable[Iterable[Number]], names: Iterable[str], remedy: str | None
) -> tuple[IntegerRow, ...]:
    """The same for the rows of a table, by name."""
    return tuple(exact_distribution(row, name, remedy) for row, name in zip(rows, names, strict=True))


def _decimal(value: Fraction) -> str:
    """A readable form of an exact sum, of whatever size."""
    return repr(float(value)) if value < 10**300 else "more than 1e300"


def frozen_floats(values: object) -> Floats:
    """A read-only float64 array."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def label_tuple(values: Iterable[Label] | None, count: int, what: str) -> Labels:
    """Distinct labels as plain Python objects; 0..count-1 when none are given."""
    if values is None:
        return tuple(range(count))
    labels = distinct_labels(values, what)
    if len(labels) != count:
        raise InvalidModel(f"{what} holds {len(labels)} labels for {count} symbols: give one label for each")
    return labels


def distinct_labels(values: Iterable[Label], what: str) -> Labels:
    """Labels as plain Python objects, refused when repeated, missing or not hashable."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidModel(f"{what} is {values!r}: give a list of labels")
    seen: dict[Label, int] = {}
    for position, label in enumerate(plain_labels(values)):
        if not hashable(label):
            raise InvalidModel(
                f"{what}[{position}] is {label!r}, which cannot be hashed: use str, int or tuple"
            )
        if is_missing(label):
            raise InvalidModel(
                f"{what}[{position}] is {label!r}, which stands for a missing value: rename it"
            )
        if label in seen:
            raise InvalidModel(
                f"{what}[{position}] repeats the label {label!r} of {what}[{seen[label]}]: make labels distinct"
            )
        seen[label] = position
    return tuple(seen)


def hashable(value: object) -> bool:
    """Whether a value can be a label (a tuple that holds a list cannot)."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or the NA of pandas."""
    if value is None:
        return True
    different: object = operator.ne(value, value)
    # NA compared with itself is NA, which is neither true nor false.
    return not isinstance(different, bool | np.bool_) or bool(different)


def sorted_labels(labels: Iterable[Label]) -> list[Label]:
    """Labels in their own order, or as they came when they have none."""
    listed = list(labels)
    try:
        return sorted(listed)  # type: ignore[type-var]  # what cannot be sorted says so
    except TypeError:
        return listed


def column_names(names: object) -> tuple[str, ...]:
    """The names of columns: different texts that are not empty.

    Raises
    ------
    InvalidModel
        If they are others.
    """
    chosen: list[object] = (
        list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [None]
    )
    texts = tuple(name for name in chosen if isinstance(name, str) and name)
    if len(texts) < len(chosen) or len(set(texts)) < len(texts):
        raise InvalidModel(f"columns is {names!r}: give a list of the names of columns, each once")
    return texts

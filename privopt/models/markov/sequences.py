"""The forms in which sequences of letters are given, brought into one list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.errors import InvalidModel
from privopt.files.labels import Labels


def flatten(sequences: object, letters: Labels | None) -> tuple[list[object], list[int]]:
    """All letters with None between sequences, and where each sequence starts.

    Examples
    --------
    >>> flatten([[0, 1], [2]], None)
    ([0, 1, None, 2], [0, 3])
    """
    values: list[object] = []
    starts: list[int] = []
    for sequence in _split(sequences, letters):
        if starts:
            values.append(None)
        starts.append(len(values))
        values.extend(sequence)
    if not values:
        raise InvalidModel("sequences are empty: give at least two letters")
    return values, starts


def _split(sequences: object, letters: Labels | None) -> list[list[object]]:
    """The sequences, each a list of letters."""
    if isinstance(sequences, str | bytes):
        raise InvalidModel(
            "sequences are one string: give list(text) for its characters, or a list of labels"
        )
    if isinstance(sequences, np.ndarray):
        return _of_array(sequences)
    series = _series(sequences)
    if series is not None:
        return [series]
    if isinstance(sequences, Mapping | set | frozenset) or not isinstance(sequences, Iterable):
        raise InvalidModel(
            f"sequences are a {type(sequences).__name__}: give a list, array or Series of letters"
        )
    return _of_list(list(sequences), letters)


def _of_array(array: NDArray[Any]) -> list[list[object]]:
    """One sequence, or one a row; masked entries come out as None."""
    if array.ndim not in (1, 2):
        raise InvalidModel(f"sequences have {array.ndim} dimensions: give one sequence, or one a row")
    if array.dtype.kind in "mM":
        raise InvalidModel("sequences hold dates or durations: turn them into strings or numbers")
    rows: list[list[object]] = array.tolist() if array.ndim == 2 else [array.tolist()]
    return rows


def _of_list(items: list[object], letters: Labels | None) -> list[list[object]]:
    """One sequence of letters, or many sequences."""
    first: dict[type, object] = {}
    for item in items:
        first.setdefault(type(item), item)
    nested = {kind for kind, item in first.items() if _is_nested(item)}
    texts = {kind for kind in first if issubclass(kind, str)}
    if nested:
        for position, item in enumerate(items):
            if type(item) not in nested | texts:
                raise InvalidModel(
                    f"item {position} of sequences is {item!r} among sequences: put it into one"
                )
        return [_letters(item) for item in items]
    if texts and len(texts) == len(first) and _are_texts(items, letters):
        return [list(str(item)) for item in items]
    return [items]


def _are_texts(items: list[object], letters: Labels | None) -> bool:
    """Whether strings are sequences of characters rather than letters of one sequence."""
    if letters is not None:
        known = set(letters)
        return not known.issuperset(items) and known.issuperset("".join(map(str, items)))
    if any(len(str(item)) != 1 for item in items):
        raise InvalidModel(
            "a list of strings may be one sequence of labels or many sequences of characters: "
            "give [labels] for the first, [list(text) for text in texts] for the second, or states="
        )
    return False


def _is_nested(item: object) -> bool:
    """Whether an item is a sequence rather than a letter."""
    if isinstance(item, list | tuple | range | np.ndarray):
        return True
    if item is None or isinstance(item, str | int | float | np.generic):
        return False
    return _series(item) is not None


def _letters(item: object) -> list[object]:
    """The letters of one sequence among several."""
    if isinstance(item, np.ndarray):
        if item.ndim != 1:
            raise InvalidModel(
                f"a sequence in the list has {item.ndim} dimensions: give one-dimensional arrays"
            )
        return _of_array(item)[0]
    if isinstance(item, list | tuple | range | str):
        return list(item)
    series = _series(item)
    if series is None:
        raise InvalidModel(f"a sequence in the list is a {type(item).__name__}: give lists, arrays or Series")
    return series


def _series(value: object) -> list[object] | None:
    """The values of a pandas or Polars Series with None where missing; nothing for other objects."""
    if isinstance(value, list | tuple | range):
        return None
    import narwhals as nw

    native: object = nw.from_native(value, pass_through=True, allow_series=True)
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        raise InvalidModel(
            "sequences are a data frame: give one of its columns, or frame.to_numpy() for rows"
        )
    if not isinstance(native, nw.Series):
        return None
    # A missing value is None in some libraries and NaN or NA in others; the mask speaks for all.
    absent = native.is_null().to_list()
    return [None if gone else item for item, gone in zip(native.to_list(), absent, strict=True)]

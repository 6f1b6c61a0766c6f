"""Counting transitions in sequences of letters, in whatever form they come."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.core.exact import Number
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, plain_label
from privopt.files.private import shown
from privopt.models.validation import distinct_labels, hashable, is_missing, sorted_labels

Codes: TypeAlias = NDArray[np.int64]

MOST_STATES = 2000
"""A chain stores a dense matrix; beyond this many states it would not fit."""


@dataclass(frozen=True)
class Fitted:
    """What was counted: states are letters, or words of letters for a higher order."""

    states: Labels
    letters: Labels
    counts: tuple[tuple[int, ...], ...] | None
    smoothed: tuple[Any, ...]
    """Rows of numbers, or a matrix of them for each step of a period."""
    first: tuple[Number, ...] | None = None
    """How often each letter came first, where the chain is no longer than that."""


def count_transitions(
    sequences: object,
    states: Iterable[Label] | None,
    order: int,
    smoothing: float,
    period: int | None = None,
) -> Fitted:
    """Count the transitions between successive words; none reaches across a missing value."""
    if period is not None:
        return _by_phase(sequences, states, order, _smoothing(smoothing), period)
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InvalidModel(f"order is {order!r}: give an integer of at least 1")
    extra = _smoothing(smoothing)
    codes, letters, _ = _encode(sequences, None if states is None else distinct_labels(states, "states"))
    if len(letters) ** (order + 1) > 2**62:
        raise InvalidModel(f"order {order} over {len(letters)} letters has too many words: lower the order")
    words, pairs = _windows(codes, len(letters), order)
    if not pairs.size:
        raise InvalidModel(f"the sequences hold no transition of order {order}: give longer sequences")
    every_word = extra > 0 or order == 1
    count = len(letters) ** order if every_word else np.unique(words).size
    if count > MOST_STATES:
        raise InvalidModel(f"the chain would have {count} states, more than {MOST_STATES}: lower the order")
    present = np.arange(count) if every_word else np.unique(words)
    counts = _matrix(pairs, present, len(letters), order)
    names = letters if order == 1 else tuple(_spell(present, letters, order))
    if not extra:
        _all_left(counts, names)
    rows = tuple(tuple(row) for row in counts.tolist())
    return Fitted(names, letters, rows, _smooth(counts, present, len(letters), order, extra))


def _by_phase(
    sequences: object, states: Iterable[Label] | None, order: int, extra: int | Fraction, period: object
) -> Fitted:
    """A matrix for each step of a period; sequences begin with its first record."""
    if isinstance(period, bool) or not isinstance(period, int) or not 2 <= period <= MOST_STATES:
        raise InvalidModel(f"period is {period!r}: give an integer in 2 .. {MOST_STATES}")
    if order != 1:
        raise InvalidModel("a periodic chain is of order 1: leave order or period out")
    codes, letters, starts = _encode(sequences, None if states is None else distinct_labels(states, "states"))
    k = len(letters)
    if period * k * k > MOST_STATES**2:
        raise InvalidModel(f"{period} matrices of {k} x {k} are too many: give fewer states or wider bins")
    ends = [*(start - 1 for start in starts[1:]), len(codes)]
    place = np.arange(len(codes)) - np.repeat(starts, np.diff([*starts, len(codes)]))
    known = np.flatnonzero((codes[:-1] >= 0) & (codes[1:] >= 0))
    counts = np.zeros((period, k, k), dtype=np.int64)
    np.add.at(counts, (place[known] % period, codes[known], codes[known + 1]), 1)
    within = max(end - start for start, end in zip(starts, ends, strict=True)) <= period
    used = counts[:-1] if within else counts
    if not used.any():
        raise InvalidModel("the sequences hold no transition: give longer sequences")
    if not extra:
        stuck = np.argwhere(used.sum(axis=2) == 0)
        if len(stuck):
            step, state = stuck[0].tolist()
            raise InvalidModel(
                f"no transition leaves the state {letters[state]!r} at step {step} of the period "
                f"({len(stuck)} such cases in all): use smoothing > 0, or fewer states"
            )
    smoothed = tuple(tuple(tuple(n + extra for n in row) for row in matrix) for matrix in used.tolist())
    first = None
    if within:
        begun = codes[starts]
        seen = np.bincount(begun[begun >= 0], minlength=k).tolist()
        first = tuple(n + extra for n in seen)
        if not sum(first):
            raise InvalidModel("every sequence begins with a missing value: use smoothing > 0")
    return Fitted(letters, letters, None, smoothed, first)


def _smoothing(value: float) -> int | Fraction:
    """The exact value to add to each count."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.integer | np.floating):
        raise InvalidModel(f"smoothing is {value!r}: give a number of at least 0")
    if not (math.isfinite(value) and value >= 0):
        raise InvalidModel(f"smoothing is {value}: give a finite number of at least 0")
    exact = Fraction(value.item() if isinstance(value, np.generic) else value)
    return exact.numerator if exact.denominator == 1 else exact


def _encode(sequences: object, states: Labels | None) -> tuple[Codes, Labels, list[int]]:
    """Index of each letter, -1 where missing or between sequences; the letters; and where sequences start."""
    values, starts = flatten(sequences, states)
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError:
        place = next(i for i, value in enumerate(values) if not hashable(value))
        raise InvalidModel(
            f"{_position(place, starts)} holds {shown(values[place], 'a value')}, which cannot be hashed: use str, int or tuple"
        ) from None
    missing = {value for value in distinct if is_missing(value)}
    present = [value for value in distinct if value not in missing]
    letters = tuple(map(plain_label, sorted_labels(present))) if states is None else states
    code: dict[Label, int] = {letter: i for i, letter in enumerate(letters)}
    for value in present:
        if value not in code:
            place = next(i for i, other in enumerate(values) if other is value)
            raise InvalidModel(
                f"{_position(place, starts)} holds {shown(value, 'a value')}, which is not in states: add or map it"
            )
    code.update((value, -1) for value in missing)
    codes = np.fromiter(map(code.__getitem__, values), dtype=np.int64, count=len(values))
    return codes, letters, starts


def _position(place: int, starts: list[int]) -> str:
    """Where a place of the flat list was in what the user gave."""
    sequence = bisect_right(starts, place) - 1
    return f"position {place - starts[sequence]} of sequence {sequence}"


def _windows(codes: Codes, size: int, order: int) -> tuple[Codes, Codes]:
    """All words of `order` letters, and of one more, as numbers in base `size`."""
    words, valid = codes, codes >= 0
    for step in range(1, order):
        words, valid = words[:-1] * size + codes[step:], valid[:-1] & (codes[step:] >= 0)
    pairs = words[:-1] * size + codes[order:]
    return words[valid], pairs[valid[:-1] & (codes[order:] >= 0)]


def _matrix(pairs: Codes, present: Codes, size: int, order: int) -> Codes:
    """How often each present word was followed by each other."""
    seen, times = np.unique(pairs, return_counts=True)
    counts = np.zeros((len(present), len(present)), dtype=np.int64)
    before, after = seen // size, seen % size**order
    counts[np.searchsorted(present, before), np.searchsorted(present, after)] = times
    return counts


def _spell(words: Codes, letters: Labels, order: int) -> list[tuple[Label, ...]]:
    """Words as tuples of letters."""
    powers = [len(letters) ** place for place in reversed(range(order))]
    return [tuple(letters[word // power % len(letters)] for power in powers) for word in words.tolist()]


def _all_left(counts: Codes, states: Labels) -> None:
    """Refuse a state without a transition out of it: its row would be made up."""
    stuck = [repr(state) for state, total in zip(states, counts.sum(axis=1), strict=True) if not total]
    if stuck:
        listed = ", ".join(stuck[:5]) + (", ..." if len(stuck) > 5 else "")
        raise InvalidModel(
            f"no transition leaves the state {listed}: use smoothing > 0, or drop it from the data"
        )


def _smooth(
    counts: Codes, present: Codes, size: int, order: int, extra: int | Fraction
) -> tuple[tuple[Number, ...], ...]:
    """Counts plus the extra wherever the words overlap, exactly."""
    if not extra:
        return tuple(tuple(row) for row in counts.tolist())
    may_follow = present[:, None] % size ** (order - 1) == present[None, :] // size
    return tuple(
        tuple(count + extra if allowed else count for count, allowed in zip(row, flags, strict=True))
        for row, flags in zip(counts.tolist(), may_follow.tolist(), strict=True)
    )


def flatten(sequences: object, letters: Labels | None) -> tuple[list[object], list[int]]:
    """All letters with None between sequences, and where each sequence starts.

    Examples
    --------
    >>> flatten([[0, 1], [2]], None)
    ([0, 1, None, 2], [0, 3])
    """
    values: list[object] = []
    starts: list[int] = []
    for sequence in split(sequences, letters):
        if starts:
            values.append(None)
        starts.append(len(values))
        values.extend(sequence)
    if not values:
        raise InvalidModel("sequences are empty: give at least two letters")
    return values, starts


def split(sequences: object, letters: Labels | None) -> list[list[object]]:
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
                    f"item {position} of sequences is {shown(item, 'a value')} among sequences: put it into one"
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

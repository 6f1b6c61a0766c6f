"""Counting transitions in sequences of letters."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.core.exact import Number
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, plain_label
from privopt.models.markov.sequences import flatten
from privopt.models.validation import distinct_labels, hashable, is_missing, sorted_labels

Codes: TypeAlias = NDArray[np.int64]
MOST_STATES = 2000
"""A chain stores a dense matrix; beyond this many states it would not fit."""


@dataclass(frozen=True)
class Fitted:
    """What was counted: states are letters, or words of letters for a higher order."""

    states: Labels
    letters: Labels
    counts: tuple[tuple[int, ...], ...]
    smoothed: tuple[tuple[Number, ...], ...]


def count_transitions(
    sequences: object, states: Iterable[Label] | None, order: int, smoothing: float
) -> Fitted:
    """Count the transitions between successive words; none reaches across a missing value."""
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InvalidModel(f"order is {order!r}: give an integer of at least 1")
    extra = _smoothing(smoothing)
    given = None if states is None else distinct_labels(states, "states")
    codes, letters = _encode(sequences, given)
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


def _smoothing(value: float) -> int | Fraction:
    """The exact value to add to each count."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.integer | np.floating):
        raise InvalidModel(f"smoothing is {value!r}: give a number of at least 0")
    if not (math.isfinite(value) and value >= 0):
        raise InvalidModel(f"smoothing is {value}: give a finite number of at least 0")
    exact = Fraction(value.item() if isinstance(value, np.generic) else value)
    return exact.numerator if exact.denominator == 1 else exact


def _encode(sequences: object, given: Labels | None) -> tuple[Codes, Labels]:
    """Index of each letter, -1 where missing or between sequences; and the letters."""
    values, starts = flatten(sequences, given)
    try:
        found = list(dict.fromkeys(values))
    except TypeError:
        place = next(i for i, value in enumerate(values) if not hashable(value))
        raise InvalidModel(
            f"{_position(place, starts)} holds {values[place]!r}, which cannot be hashed: use str, int or tuple"
        ) from None
    missing = {value for value in found if is_missing(value)}
    present = [value for value in found if value not in missing]
    letters = tuple(map(plain_label, sorted_labels(present))) if given is None else given
    code: dict[Label, int] = {letter: i for i, letter in enumerate(letters)}
    for value in present:
        if value not in code:
            place = next(i for i, other in enumerate(values) if other is value)
            raise InvalidModel(
                f"{_position(place, starts)} holds {value!r}, which is not in states: add or map it"
            )
    code.update((value, -1) for value in missing)
    return np.fromiter(map(code.__getitem__, values), dtype=np.int64, count=len(values)), letters


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
    found, times = np.unique(pairs, return_counts=True)
    counts = np.zeros((len(present), len(present)), dtype=np.int64)
    before, after = found // size, found % size**order
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

"""A Markov chain as plain JSON values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privopt.core.exact import Number
from privopt.errors import InvalidModel
from privopt.files.labels import Labels, decode_labels, encode_labels
from privopt.models.codec import (
    VERSION,
    decode_flag,
    decode_numbers,
    document,
    encode_number,
)
from privopt.models.markov._parts import ChainParts, chain_parts
from privopt.models.validation import distinct_labels

_FIELDS: dict[str, object] = {
    "transition": ...,
    "initial": None,
    "states": None,
    "order": 1,
    "letters": None,
    "normalised": False,
    "counts": None,
}


def encode_chain(parts: ChainParts) -> dict[str, object]:
    """Every part, numbers unrounded."""
    return {
        "type": "markov_chain",
        "version": VERSION,
        "transition": _encode(parts.transition.tolist()),
        "initial": None if parts.initial is None else _encode(parts.initial.tolist()),
        "states": encode_labels(parts.states),
        "order": parts.order,
        "letters": encode_labels(parts.letters),
        "normalised": parts.normalised,
        "counts": None if parts.counts is None else [list(row) for row in parts.counts],
    }


def _encode(values: list[Number] | list[list[Number]] | list[list[list[Number]]]) -> list[object]:
    """Numbers in nested lists."""
    return [_encode(value) if isinstance(value, list) else encode_number(value) for value in values]


def decode_chain(d: Mapping[str, object]) -> ChainParts:
    """Parts from a document, checked as if they had been given by hand."""
    fields = document(d, "markov_chain", _FIELDS)
    initial = fields["initial"]
    parts = chain_parts(
        decode_numbers(fields["transition"], "transition", 3),
        None if initial is None else decode_numbers(initial, "initial", 1),
        None if fields["states"] is None else decode_labels(fields["states"], "states"),
        decode_flag(fields["normalised"], "normalised"),
    )
    given = fields["letters"]
    letters = parts.states if given is None else distinct_labels(decode_labels(given, "letters"), "letters")
    order = fields["order"]
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InvalidModel(f"order is {order!r}: expected an integer of at least 1")
    _check_words(parts, letters, order)
    return replace(
        parts, letters=letters, order=order, counts=_decode_counts(fields["counts"], len(parts.states))
    )


def _check_words(parts: ChainParts, letters: Labels, order: int) -> None:
    """States of a higher order are words of letters, and each step moves on by one letter."""
    if order == 1:
        if letters != parts.states:
            raise InvalidModel("letters differ from states in a chain of order 1: make them equal")
        return
    words = [state for state in parts.states if isinstance(state, tuple)]
    if not parts.homogeneous or len(words) < len(parts.states):
        raise InvalidModel(
            f"a chain of order {order} needs one matrix, and words of {order} letters as states"
        )
    for i, word in enumerate(words):
        if len(word) != order or not set(letters).issuperset(word):
            raise InvalidModel(f"states[{i}] is {word!r}, not a word of {order} of the letters")
        for j, after in enumerate(words):
            if parts.transition[i, j] and word[1:] != after[:-1]:
                raise InvalidModel(
                    f"transition[{i}, {j}] leads from {word!r} to {after!r}, which do not overlap"
                )


def _decode_counts(value: object, k: int) -> tuple[tuple[int, ...], ...] | None:
    """Counts of transitions, if there are any."""
    if value is None:
        return None
    rows = tuple(tuple(row) for row in value if isinstance(row, list)) if isinstance(value, list) else ()
    if len(rows) != k or any(len(row) != k or any(type(n) is not int or n < 0 for n in row) for row in rows):
        raise InvalidModel(f"counts are not {k} lists of {k} non-negative integers")
    return rows

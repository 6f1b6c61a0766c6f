"""Numbers and labels as plain JSON values, and back without trust in what is read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from privopt.core.exact import Number
from privopt.errors import InvalidModel
from privopt.files.labels import short

VERSION = 1
_FRACTION = re.compile(r"[0-9]{1,4000}/[0-9]{1,4000}")
_LONGEST = 13_000  # bits; Python prints no integer beyond 4300 digits


def encode_number(value: Number) -> int | float | str:
    """A number as JSON holds it: fractions and infinity become strings.

    Examples
    --------
    >>> encode_number(Fraction(1, 3)), encode_number(math.inf), encode_number(0.1)
    ('1/3', 'inf', 0.1)
    """
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST:
            raise InvalidModel("a fraction of more than 13000 bits cannot be written: round it first")
        return f"{value.numerator}/{value.denominator}"
    return "inf" if value == math.inf else value


def encode_numbers(values: Sequence[Any]) -> list[object]:
    """Numbers in nested lists, as JSON holds them.

    Examples
    --------
    >>> encode_numbers([[Fraction(1, 3), 1], 0.5])
    [['1/3', 1], 0.5]
    """
    return [_encoded(value) for value in values]


def _encoded(value: Any) -> object:
    """One of them; a finite float, which most are, is itself."""
    kind = type(value)
    if kind is float and value != math.inf:
        return value
    return encode_numbers(value) if kind is list else encode_number(value)


def decode_number(value: object, what: str) -> Number:
    """The number that :func:`encode_number` wrote."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value == "inf":
        return math.inf
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        numerator, denominator = map(int, value.split("/"))
        if denominator:
            return Fraction(numerator, denominator)
    raise InvalidModel(f"{what} holds {short(value)}: expected a number or a fraction written 'a/b'")


def decode_numbers(value: object, what: str, levels: int) -> list[object]:
    """Nested lists of numbers, at most this many levels deep."""
    if not isinstance(value, list):
        raise InvalidModel(f"{what} is {short(value)}: expected a list")
    return [
        decode_numbers(item, what, levels - 1)
        if levels > 1 and isinstance(item, list)
        else decode_number(item, what)
        for item in value
    ]


def document(
    value: object, kind: str, defaults: Mapping[str, object], newest: int = VERSION
) -> dict[str, object]:
    """The fields of a document of one kind, with defaults where they are left out.

    A default of ``...`` stands for a field that is required, a boolean for one that is a boolean; ``newest`` is the
    last version of this kind.
    """
    if not isinstance(value, Mapping):
        raise InvalidModel(f"expected a {kind} document, a dict with string keys, not {short(value)}")
    fields: dict[str, object] = {"type": kind, "version": VERSION, **defaults, **value}
    for key, content in fields.items():
        if key not in ("type", "version", *defaults):
            raise InvalidModel(f"the {kind} document has the unknown key {short(key)}: remove it")
        if content is ...:
            raise InvalidModel(f"the {kind} document has no key {key!r}: add it")
    if fields["type"] != kind:
        raise InvalidModel(
            f"the document is of type {short(fields['type'])}, not {kind!r}: read it as that type"
        )
    version = fields["version"]
    if type(version) is not int or not VERSION <= version <= newest:
        reads = f"{VERSION}" if newest == VERSION else f"{VERSION} to {newest}"
        raise InvalidModel(f"the {kind} document has version {short(version)}: this release reads {reads}")
    for key, default in defaults.items():
        if isinstance(default, bool) and not isinstance(fields[key], bool):
            raise InvalidModel(f"{key} is {short(fields[key])}: expected true or false")
    return {key: fields[key] for key in defaults}

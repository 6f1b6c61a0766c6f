"""Labels in JSON: strings, numbers and booleans as they are, tuples as {"tuple": [...]}."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Hashable, Iterable
from typing import TypeAlias

import numpy as np

from privopt.errors import InvalidModel

Label: TypeAlias = Hashable
Labels: TypeAlias = tuple[Label, ...]

_DEEPEST = 16  # levels of tuples within tuples
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60


def short(value: object) -> str:
    """A value as it is shown in a message."""
    return _REPR.repr(value)


def plain_label(label: Label) -> Label:
    """A label with NumPy scalars turned into Python ones."""
    if isinstance(label, tuple):
        return tuple(plain_label(part) for part in label)
    if isinstance(label, np.bool_ | np.integer | np.floating):
        plain: Label = label.item()
        return plain
    return str(label) if isinstance(label, np.str_) else label


def plain_labels(labels: Iterable[Label]) -> Labels:
    """Labels with NumPy scalars turned into Python ones."""
    return tuple(plain_label(label) for label in labels)


def encode_label(label: Label) -> object:
    """A label as JSON holds it.

    Raises
    ------
    InvalidModel
        If it is not a string, number, boolean or tuple of those.

    Examples
    --------
    >>> encode_label(("a", 1))
    {'tuple': ['a', 1]}
    """
    if isinstance(label, tuple):
        return {"tuple": [encode_label(part) for part in label]}
    if isinstance(label, float) and math.isinf(label):
        return {"float": "inf" if label > 0 else "-inf"}
    if type(label) in (str, int, float, bool) and not (isinstance(label, float) and math.isnan(label)):
        return label
    raise InvalidModel(
        f"the label {label!r} is a {type(label).__name__}: only str, int, float, bool and tuples can be written"
    )


def decode_label(value: object, what: str = "labels", depth: int = 0) -> Label:
    """The label that :func:`encode_label` wrote.

    Examples
    --------
    >>> decode_label({"tuple": ["a", 1]})
    ('a', 1)
    """
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, dict) and len(value) == 1 and depth < _DEEPEST:
        parts = value.get("tuple")
        if isinstance(parts, list):
            return tuple(decode_label(part, what, depth + 1) for part in parts)
        if value.get("float") in ("inf", "-inf"):
            return float(value["float"])
    raise InvalidModel(f"{what} holds {short(value)}: expected a string, number, boolean or tuple")


def encode_labels(labels: Iterable[Label]) -> list[object]:
    """Labels as a JSON list."""
    return [encode_label(label) for label in labels]


def decode_labels(value: object, what: str = "labels") -> Labels:
    """The labels that :func:`encode_labels` wrote."""
    if not isinstance(value, list):
        raise InvalidModel(f"{what} is {short(value)}: expected a list of labels")
    return tuple(decode_label(item, what) for item in value)

"""What a part of a JSON Schema accepts, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

WORDS = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
MOST = 12
"""Values of a list of choices that are named."""


def wanted(part: Mapping[str, Any]) -> str:
    """What fits a part of a schema whose references are written out.

    Examples
    --------
    >>> wanted({"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number", "minimum": 0}}]})
    'null, or a list of which each item is a number of at least 0'
    >>> wanted({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "inf"}]})
    'a number above 0, or "inf"'
    """
    said = part.get("description")
    if said and any("pattern" in one for one in (part, *part.get("anyOf", ()))):
        return str(said)  # a pattern says less than the words that go with it
    for choices in ("anyOf", "oneOf"):
        if choices in part:
            return _joined([wanted(one) for one in part[choices]])
    if "const" in part:
        return json.dumps(part["const"])
    if "enum" in part:
        return _joined([json.dumps(value) for value in part["enum"][:MOST]]) + ", ..." * (
            len(part["enum"]) > MOST
        )
    kinds = part.get("type", [])
    words = [_kind(kind, part) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return _joined(words) if words else str(said or "something else")


def _joined(words: list[str]) -> str:
    different = list(dict.fromkeys(words))
    return different[0] if len(different) == 1 else ", ".join(different[:-1]) + f", or {different[-1]}"


def _kind(kind: str, part: Mapping[str, Any]) -> str:
    word = WORDS.get(kind, kind)
    if kind in ("number", "integer"):
        return word + _limits(part)
    if kind == "array":
        least, most = part.get("minItems", 0), part.get("maxItems")
        items = part.get("items")
        word += f" of {most} items" if least == most and most is not None else ""
        return word + (
            f" of which each item is {wanted(items)}" if isinstance(items, Mapping) and items else ""
        )
    if kind == "object" and part.get("required"):
        return f"{word} with {', '.join(map(json.dumps, part['required']))}"
    return word


def _limits(part: Mapping[str, Any]) -> str:
    bounds = (
        ("minimum", "of at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "of at most"),
        ("exclusiveMaximum", "below"),
    )
    told = [f"{words} {part[name]:g}" for name, words in bounds if name in part]
    return f" {' and '.join(told)}" if told else ""

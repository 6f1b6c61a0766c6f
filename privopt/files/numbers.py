"""Floats in JSON: infinity is written "inf"; NaN is refused."""

from __future__ import annotations

import math
from typing import Any

from privopt.files.labels import short


def encode_float(value: float) -> float | str:
    """A float for JSON.

    Examples
    --------
    >>> encode_float(0.5), encode_float(float("-inf"))
    (0.5, '-inf')
    """
    if math.isnan(value):
        raise ValueError("NaN cannot be written to a file")
    return float(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def decode_float(value: Any) -> float:
    """The float that :func:`encode_float` wrote; anything else is a ValueError.

    Examples
    --------
    >>> decode_float("inf"), decode_float(1)
    (inf, 1.0)
    """
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or _is_nan(value):
        raise ValueError(f'expected a number or "inf", got {value!r}')
    try:
        return float(value)
    except OverflowError as cause:
        raise ValueError("an integer beyond the range of floats") from cause


def decode_table(value: Any, what: str) -> list[Any]:
    """Nested lists of plain numbers as they are; a boolean, a string, null or a mapping is a ValueError.

    Examples
    --------
    >>> decode_table([[1, 0.5]], "levels")
    [[1, 0.5]]
    >>> decode_table([[True, 0.5]], "levels")
    Traceback (most recent call last):
    ValueError: "levels" holds True: give numbers, not true, false, null or text
    """
    if not isinstance(value, list):  # refused like all else here
        raise ValueError(f'"{what}" must be a list of numbers or of rows, got {short(value)}')  # noqa: TRY004
    rest = value
    while rest:
        bad = next((v for v in rest if type(v) not in (int, float, list)), rest)
        if bad is not rest:
            raise ValueError(f'"{what}" holds {short(bad)}: give numbers, not true, false, null or text')
        rest = [v for row in rest if type(row) is list for v in row]
    return value


def _is_nan(value: float) -> bool:
    return isinstance(value, float) and math.isnan(value)

"""Floats in JSON: infinity is written "inf"; NaN is refused."""

from __future__ import annotations

import math
from typing import Any


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


def _is_nan(value: float) -> bool:
    return isinstance(value, float) and math.isnan(value)

"""Intervals of numbers: their edges, and the names that people read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidModel

Bins: TypeAlias = int | str | Sequence[float] | NDArray[Any]
"""A number of intervals of equal width, edges, or a rule such as "quantiles:8"."""

RULES = '"quantiles:8", "equal:8", "width:10", "minimum:100", a number of bins, or edges'


def edges_of(numbers: Floats, column: str, bins: Bins) -> Floats:
    """Increasing finite edges of the intervals that a rule makes of the numbers of a column.

    Parameters
    ----------
    numbers : float array
        The column, without missing values.
    column : str
        Its name, for messages.
    bins : int, str or sequence of float
        A number of intervals of equal width; their edges; or "quantiles:8" (as many rows in each as can be),
        "equal:8" (equal width), "width:10" (from multiples of the width), "minimum:100" (at least so many rows in each).

    Raises
    ------
    InvalidModel
        If there is no such rule, or the edges are not at least two increasing finite numbers.

    Examples
    --------
    >>> edges_of(np.array([17.0, 25.0, 44.0]), "age", "width:10").tolist()
    [10.0, 20.0, 30.0, 40.0, 49.0]
    >>> edges_of(np.array([1.0, 1.0, 2.0, 3.0, 9.0]), "age", "minimum:2").tolist()
    [1.0, 2.0, 9.0]
    """
    if isinstance(bins, str):
        return _checked(_by_rule(numbers, column, bins), column)
    if isinstance(bins, int):
        if isinstance(bins, bool) or bins < 1:
            raise InvalidModel(f"bins of column {column!r} are {bins}: give a number of at least 1, or edges")
        return _checked(_equal(numbers, column, bins), column)
    try:
        return _checked(np.asarray(bins, dtype=np.float64), column)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidModel):
            raise
        raise InvalidModel(f"bins of column {column!r} are {bins!r}: give {RULES}") from error


def _checked(edges: Floats, column: str) -> Floats:
    if edges.ndim != 1 or len(edges) < 2 or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise InvalidModel(
            f"bins of column {column!r} are {edges.tolist()}: give at least 2 finite increasing edges"
        )
    return edges


def _by_rule(numbers: Floats, column: str, rule: str) -> Floats:
    name, colon, text = rule.partition(":")
    if not colon:
        name, text = "edges", rule
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidModel(f"bins of column {column!r} are {rule!r}: give {RULES}") from error
    if name == "edges":
        if len(values) == 1 and values[0].is_integer():
            return edges_of(numbers, column, int(values[0]))
        return np.array(values)
    value = values[0]
    if len(values) > 1 or not 0 < value < math.inf or name not in _RULES:
        raise InvalidModel(f"bins of column {column!r} are {rule!r}: give {RULES}")
    if name != "width" and not value.is_integer():
        raise InvalidModel(f"bins of column {column!r} are {rule!r}: {name} takes a whole number")
    return _RULES[name](numbers, column, value)


def _equal(numbers: Floats, column: str, count: float) -> Floats:
    low, high = _range(numbers, column)
    return np.asarray(np.linspace(low, high, int(count) + 1), dtype=np.float64)


def _range(numbers: Floats, column: str) -> tuple[float, float]:
    low, high = float(numbers.min()), float(numbers.max())
    if not math.isfinite(high - low) or high == low:
        raise InvalidModel(
            f"column {column!r} has no range that bins could divide: its values are all one, or not finite"
        )
    return low, high


def _width(numbers: Floats, column: str, width: float) -> Floats:
    low, high = _range(numbers, column)
    first, last = math.floor(low / width), math.floor(high / width) + 1
    if last - first > len(numbers) + 1000:
        raise InvalidModel(f"bins of column {column!r} would be {last - first}: give a larger width")
    edges = np.array([width * i for i in range(first, last + 1)], dtype=np.float64)
    if whole(numbers) and width >= 2 and width.is_integer():
        edges[-1] -= 1  # so that the last interval reads as the others do: its end belongs to it
    return edges


def _quantiles(numbers: Floats, column: str, count: float) -> Floats:
    low, high = _range(numbers, column)
    inner = np.quantile(numbers, np.arange(1, int(count)) / count, method="higher")
    return np.array(sorted({low, high, *inner.tolist()}))


def _minimum(numbers: Floats, column: str, least: float) -> Floats:
    """Intervals from the smallest value up, closed as soon as they hold enough rows; what is left joins the last one."""
    _, high = _range(numbers, column)
    if len(numbers) < least:
        raise InvalidModel(f"column {column!r} has {len(numbers)} rows, fewer than the {least:g} of one bin")
    values, counts = np.unique(numbers, return_counts=True)
    left = len(numbers)
    starts, filled = [float(values[0])], 0
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        if filled >= least and left >= least and value < high:
            starts.append(value)
            filled = 0
        filled += count
        left -= count
    return np.array([*starts, high])


_RULES = {"quantiles": _quantiles, "equal": _equal, "width": _width, "minimum": _minimum}


def whole(numbers: Floats) -> bool:
    """Whether all numbers are whole."""
    return bool((numbers == np.floor(numbers)).all())


def interval_names(edges: Sequence[float], integers: bool) -> tuple[str, ...]:
    """Names of the intervals between edges; the last one is closed, the others do not hold their upper edge.

    Parameters
    ----------
    edges : sequence of float
        Increasing.
    integers : bool
        Whether only whole numbers are in them: the names then give the first and the last of each.

    Examples
    --------
    >>> interval_names([25, 35, 45], True), interval_names([0, 2.5, 5], False)
    (('25-34', '35-45'), ('0 to 2.5', '2.5 to 5'))
    """
    if integers:
        names = tuple(_of_integers(a, b, b == edges[-1]) for a, b in pairwise(edges))
        if all(names):
            return names
    texts = _texts(edges)
    return tuple(f"{a} to {b}" for a, b in pairwise(texts))


def span(edges: Sequence[float], names: Sequence[object], first: int, last: int) -> str:
    """The name of the intervals from one to another, both included.

    Examples
    --------
    >>> span([25, 35, 45, 55], ("25-34", "35-44", "45-55"), 0, 1)
    '25-44'
    """
    if first == last:
        return str(names[first])
    integers = tuple(names) == interval_names(edges, True)
    if integers:
        joined = _of_integers(edges[first], edges[last + 1], last + 2 == len(edges))
        if joined and " to " not in str(names[first]):
            return joined
    texts = _texts(edges)
    return f"{texts[first]} to {texts[last + 1]}"


def _of_integers(low: float, high: float, closed: bool) -> str:
    """The whole numbers of an interval, or nothing if it holds none."""
    first, last = math.ceil(low), math.floor(high) if closed else math.ceil(high) - 1
    if first > last:
        return ""
    if first == last:
        return str(first)
    return f"{first}-{last}" if first >= 0 else f"{first} to {last}"


def _texts(edges: Sequence[float]) -> list[str]:
    """Edges with as few digits as tell them apart, but whole where they are short."""
    for digits in range(4, 17):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(float(edge)) for edge in edges]

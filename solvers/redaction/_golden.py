"""The least value of a function of one variable between two points."""

from __future__ import annotations

from collections.abc import Callable

_RATIO = (5**0.5 - 1) / 2


def golden_minimum(cost: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Where a function with one valley is least; golden-section search, one evaluation a step."""
    inner, outer = high - _RATIO * (high - low), low + _RATIO * (high - low)
    at_inner, at_outer = cost(inner), cost(outer)
    while high - low > tolerance:
        if at_inner <= at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - _RATIO * (high - low)
            at_inner = cost(inner)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + _RATIO * (high - low)
            at_outer = cost(outer)
    return inner if at_inner <= at_outer else outer

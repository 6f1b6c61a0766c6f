"""Seconds that a piece of work takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LONG, VERY_LONG = 0.5, 5.0
"""Seconds above which work runs only once after its warm-up, and above which its warm-up is the reading."""
SHORTEST = 2e-3
"""Seconds that one reading of the clock should span; shorter work is looped."""
_REPETITIONS, _MOST_LOOPS = 7, 1000


def clock(work: Callable[[], T]) -> tuple[T, float]:
    """The result of some work, and its seconds: the median of several repetitions after a warm-up.

    Long work is read once, and very long work has no warm-up: do a small one of its kind before, so that
    no reading pays for imports.

    Examples
    --------
    >>> result, seconds = clock(lambda: sum(range(100)))
    >>> result, 0 < seconds < 0.1
    (4950, True)
    """
    begun = time.perf_counter()
    result = work()
    first = time.perf_counter() - begun
    if first > LONG:
        return result, first if first > VERY_LONG else _reading(work, 1)
    loops = max(1, min(_MOST_LOOPS, int(SHORTEST / max(_reading(work, 1), 1e-9))))
    return result, statistics.median(_reading(work, loops) for _ in range(_REPETITIONS))


def _reading(work: Callable[[], object], loops: int) -> float:
    begun = time.perf_counter()
    for _ in range(loops):
        work()
    return (time.perf_counter() - begun) / loops

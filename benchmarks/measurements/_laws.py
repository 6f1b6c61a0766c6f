"""Laws tried on random instances; what is reported is how often each was violated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from privopt.benchmarks._measurements import Timing

Law = Callable[[np.random.Generator], bool]
"""Draws an instance and says whether the law holds on it."""


def tried(laws: Mapping[str, Law], count: int) -> Iterator[Timing]:
    """Every law on ``count`` instances of its own.

    Examples
    --------
    >>> (row,) = tried({"squares are not negative": lambda rng: rng.normal() ** 2 >= 0}, 5)
    >>> row.size, row.quality, row.holds
    (5, 0.0, True)
    """
    for place, (name, law) in enumerate(laws.items()):
        rng, begun = np.random.default_rng(place), time.perf_counter()
        violations = sum(not law(rng) for _ in range(count))
        seconds = time.perf_counter() - begun
        yield Timing(
            name, count, seconds, quality=float(violations), note="violations", holds=violations == 0
        )

"""The dynamic programme over subsets, compiled: the same additions in the same order as on arrays."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.solvers.local_information_privacy._merge_subsets import best_values

ARRAY_LIMIT = 17
"""Elements up to which arrays do (3^17 additions take under a second)."""

COMPILED_LIMIT = 19
"""Elements up to which the compiled form does; compiling takes some seconds itself."""


def limit() -> int:
    """How many elements are partitioned exactly here: 19 where the package numba is installed, else 17."""
    return COMPILED_LIMIT if find_spec("numba") else ARRAY_LIMIT


def predicted_seconds(n: int) -> float:
    """What a partition of n elements takes."""
    return 1e-3 + 6e-9 * 3.0**n if n <= ARRAY_LIMIT else 4.0 + 2e-9 * 3.0**n


def best_values_fast(value: Floats) -> Floats:
    """As :func:`best_values`, compiled where it pays."""
    return best_values(value) if len(value) <= 1 << ARRAY_LIMIT else np.asarray(compiled()(value))


@cache
def compiled() -> Any:
    """The compiled loop; takes the values of all subsets."""
    from numba import njit

    def loop(value: Any) -> Any:
        found = np.zeros(len(value))
        pivot = 1
        for subset in range(1, len(value)):
            if subset == 2 * pivot:
                pivot = subset
            inside = subset ^ pivot
            chosen, top = inside, -np.inf
            while True:
                top = max(top, value[pivot | chosen] + found[inside ^ chosen])
                if chosen == 0:
                    break
                chosen = (chosen - 1) & inside
            found[subset] = top
        return found

    return njit(loop)

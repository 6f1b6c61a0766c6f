"""Batches of a binary chain: value, proved gap and seconds, beside the plain programme where it fits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._sequence_plain import plain, value
from privopt.mechanisms._hamming_cases import Floats
from privopt.solvers.common.words.aggregate import solve_aggregated
from privopt.solvers.common.words.restricted import solve_words

EPSILON = 2.5
EXACT = 512
"""Up to as many words the optimum is sought; beyond, a good kernel with a bound."""


def binary_words(size: int) -> tuple[Floats, Floats]:
    """Law and mean Hamming cost of words of a sticky binary chain, start (.1, .9).

    Examples
    --------
    >>> law, cost = binary_words(2)
    >>> law.round(3).tolist(), cost[0].tolist()
    ([0.09, 0.01, 0.09, 0.81], [0.0, 0.5, 0.5, 1.0])
    """
    codes = np.arange(2**size)[:, None] >> np.arange(size)[::-1] & 1
    stay = (np.diff(codes, axis=1) == 0).sum(axis=1)
    law = np.where(codes[:, 0] == 1, 0.9, 0.1) * 0.9**stay * 0.1 ** (size - 1 - stay)
    cost = (codes[:, None, :] != codes[None, :, :]).mean(axis=2)
    return law, cost


def run(sizes: tuple[int, ...], largest_plain: int, limit: float) -> Iterator[Timing]:
    """One row a size: seconds of both, and the gap between our value and the proved bound, as a share."""
    for size in sizes:
        law, cost = binary_words(size)
        begun = time.perf_counter()
        solver = solve_words if len(law) <= EXACT else solve_aggregated
        found = solver(law, cost, EPSILON, limit)
        seconds = time.perf_counter() - begun
        case = f"words of {size} letters"
        if found is None:
            yield Timing(case, len(law), seconds, note=f"nothing within {limit:g} s", holds=False)
            continue
        note = f"proved gap as a share of the value {found.value:.10g}"
        if len(law) > largest_plain:
            yield Timing(
                case, len(law), seconds, quality=found.gap, note=note, holds=found.bound <= found.value
            )
            continue
        begun = time.perf_counter()
        theirs = plain(law, cost, EPSILON)
        their_seconds = time.perf_counter() - begun
        row = Timing.against(case, len(law), seconds, ("plain LP", their_seconds), found.gap, note)
        agrees = theirs is not None and found.value <= value(law, cost, theirs) + 1e-6
        yield replace(row, holds=agrees and found.bound <= found.value + 1e-12)
